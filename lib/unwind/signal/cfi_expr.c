/* SPDX-License-Identifier: BSD-3-Clause */
/* Evaluates DWARF expressions in call frame information; see unwind_signal.h.
 *
 * The stack and the number of operations are bounded, so no input makes it run on. Memory is read
 * only through cp_stackmem.
 */
#include "unwind/signal/unwind_signal.h"

#define STACK 16
#define OPERATIONS 256

struct eval {
	struct cp_cfi_cursor c;
	struct cp_cfi_frame *f;
	const uint8_t *begin;
	unsigned depth;
	enum cp_cfi_result result; /* CP_CFI_STEPPED until an error */
	uint64_t stack[STACK];
};

static void push(struct eval *e, uint64_t v)
{
	if (e->depth == STACK)
		e->result = CP_CFI_LOST;
	else
		e->stack[e->depth++] = v;
}

static uint64_t pop(struct eval *e)
{
	if (e->depth)
		return e->stack[--e->depth];
	e->result = CP_CFI_LOST;
	return 0;
}

/* Push the entry N below the top. */
static void pick(struct eval *e, unsigned n)
{
	if (n < e->depth)
		push(e, e->stack[e->depth - 1 - n]);
	else
		e->result = CP_CFI_LOST;
}

static void push_register(struct eval *e, uint64_t reg, int64_t offset)
{
	if (reg >= CP_REGS)
		e->result = CP_CFI_LOST;
	else if (!(e->f->known >> reg & 1))
		e->result = CP_CFI_UNKNOWN;
	else
		push(e, e->f->regs.r[reg] + (uint64_t)offset);
}

static void deref(struct eval *e, unsigned size)
{
	uint64_t addr = pop(e), v = 0;

	if (!size || size > 8 || !cp_stackmem_read(&e->f->stack, addr, &v))
		e->result = CP_CFI_LOST;
	push(e, size == 8 ? v : v & ((UINT64_C(1) << 8 * (size & 7)) - 1));
}

static void jump(struct eval *e, int16_t by)
{
	if (by < e->begin - e->c.p || by > e->c.end - e->c.p)
		e->result = CP_CFI_LOST;
	else
		e->c.p += by;
}

static uint64_t divide_signed(struct eval *e, int64_t a, int64_t b)
{
	if (b == 0)
		e->result = CP_CFI_LOST;
	return b == 0 ? 0 : b == -1 ? -(uint64_t)a : (uint64_t)(a / b);
}

static uint64_t modulo(struct eval *e, uint64_t a, uint64_t b)
{
	if (b == 0)
		e->result = CP_CFI_LOST;
	return b ? a % b : 0;
}

static uint64_t shift(uint8_t op, uint64_t a, uint64_t n)
{
	if (n >= 64)
		return op == 0x26 && (int64_t)a < 0 ? UINT64_MAX : 0;
	return op == 0x24 ? a << n : op == 0x25 ? a >> n : (uint64_t)((int64_t)a >> n);
}

static bool compare_signed(uint8_t op, int64_t a, int64_t b)
{
	switch (op) {
	case 0x29: return a == b;
	case 0x2a: return a >= b;
	case 0x2b: return a > b;
	case 0x2c: return a <= b;
	case 0x2d: return a < b;
	default: return a != b;
	}
}

/* Operations on the two topmost entries. */
static bool binary(struct eval *e, uint8_t op)
{
	uint64_t b, a;

	if (op != 0x1a && op != 0x27 &&
	    (op < 0x1b || op > 0x2e || op == 0x1f || op == 0x20 || op == 0x23 || op == 0x28))
		return false;
	b = pop(e);
	a = pop(e);
	switch (op) {
	case 0x1a: push(e, a & b); break;
	case 0x1b: push(e, divide_signed(e, (int64_t)a, (int64_t)b)); break;
	case 0x1c: push(e, a - b); break;
	case 0x1d: push(e, modulo(e, a, b)); break;
	case 0x1e: push(e, a * b); break;
	case 0x21: push(e, a | b); break;
	case 0x22: push(e, a + b); break;
	case 0x24:
	case 0x25:
	case 0x26: push(e, shift(op, a, b)); break;
	case 0x27: push(e, a ^ b); break;
	default: push(e, compare_signed(op, (int64_t)a, (int64_t)b));
	}
	return true;
}

/* Operations that push a constant that follows them in the expression. */
static bool constant(struct eval *e, uint8_t op)
{
	struct cp_cfi_cursor *c = &e->c;

	switch (op) {
	case 0x03:
	case 0x0e:
	case 0x0f: push(e, cp_cfi_u64(c)); break;
	case 0x08: push(e, cp_cfi_u8(c)); break;
	case 0x09: push(e, (uint64_t)(int8_t)cp_cfi_u8(c)); break;
	case 0x0a: push(e, cp_cfi_u16(c)); break;
	case 0x0b: push(e, (uint64_t)(int16_t)cp_cfi_u16(c)); break;
	case 0x0c: push(e, cp_cfi_u32(c)); break;
	case 0x0d: push(e, (uint64_t)(int32_t)cp_cfi_u32(c)); break;
	case 0x10: push(e, cp_cfi_uleb(c)); break;
	case 0x11: push(e, (uint64_t)cp_cfi_sleb(c)); break;
	default: return false;
	}
	return true;
}

static void swap(struct eval *e)
{
	uint64_t b = pop(e), a = pop(e);

	push(e, b);
	push(e, a);
}

static void rotate(struct eval *e)
{
	uint64_t c = pop(e), b = pop(e), a = pop(e);

	push(e, c);
	push(e, a);
	push(e, b);
}

static void other(struct eval *e, uint8_t op)
{
	uint64_t v;

	switch (op) {
	case 0x06: deref(e, 8); break;
	case 0x12: pick(e, 0); break;
	case 0x13: pop(e); break;
	case 0x14: pick(e, 1); break;
	case 0x15: pick(e, cp_cfi_u8(&e->c)); break;
	case 0x16: swap(e); break;
	case 0x17: rotate(e); break;
	case 0x19:
		v = pop(e);
		push(e, (int64_t)v < 0 ? -v : v);
		break;
	case 0x1f: push(e, -pop(e)); break;
	case 0x20: push(e, ~pop(e)); break;
	case 0x23: push(e, pop(e) + cp_cfi_uleb(&e->c)); break;
	case 0x28:
		v = cp_cfi_u16(&e->c);
		if (pop(e))
			jump(e, (int16_t)v);
		break;
	case 0x2f:
		v = cp_cfi_u16(&e->c);
		jump(e, (int16_t)v);
		break;
	case 0x94: deref(e, cp_cfi_u8(&e->c)); break;
	case 0x96: break; /* nop */
	default: e->result = CP_CFI_LOST;
	}
}

static void operate(struct eval *e, uint8_t op)
{
	uint64_t reg;

	if (op >= 0x30 && op <= 0x4f) { /* lit0 to lit31 */
		push(e, op - 0x30u);
	} else if (op >= 0x70 && op <= 0x8f) { /* breg0 to breg31 */
		push_register(e, op - 0x70u, cp_cfi_sleb(&e->c));
	} else if (op == 0x92) { /* bregx */
		reg = cp_cfi_uleb(&e->c);
		push_register(e, reg, cp_cfi_sleb(&e->c));
	} else if (!constant(e, op) && !binary(e, op)) {
		other(e, op);
	}
}

enum cp_cfi_result cp_cfi_expr(struct cp_cfi_cursor expr, struct cp_cfi_frame *f,
			       const uint64_t *first, uint64_t *result)
{
	struct eval e; /* not zeroed: stack[] is written before it is read */
	uint64_t size = cp_cfi_uleb(&expr), v;

	if (!cp_cfi_has(&expr, size))
		return CP_CFI_LOST;
	e.c = expr;
	e.c.end = e.c.p + size;
	e.begin = e.c.p;
	e.f = f;
	e.depth = 0;
	e.result = CP_CFI_STEPPED;
	if (first)
		push(&e, *first);
	for (unsigned n = 0; e.c.p < e.c.end && e.result == CP_CFI_STEPPED; n++) {
		if (n == OPERATIONS)
			return CP_CFI_LOST;
		operate(&e, *e.c.p++);
	}
	v = e.result == CP_CFI_STEPPED ? pop(&e) : 0;
	if (e.result == CP_CFI_STEPPED && e.c.bad)
		return CP_CFI_LOST;
	if (e.result == CP_CFI_STEPPED)
		*result = v;
	return e.result;
}
