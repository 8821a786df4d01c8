/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads code without call frame information forward, from the pc to the return, which shows where
 * the return address is. For cfi_guess.c. Such code is mostly hand-written (video codecs,
 * cryptography).
 *
 * One path is read that the code may take: straight on at conditional jumps and after calls, to the
 * target of other jumps, and of those that jump over an instruction that ends the process. The
 * effect of each instruction on sp is known (cfi_insn.h), or the reading ends. So the position of
 * the return address is not a guess. The only assumption is that the code is left in the usual way,
 * which the caller checks by the instruction before the address.
 */

#include "unwind/signal/unwind_signal.h"
#include "unwind/guess/cfi_insn.h"

#if CP_CFI_CALL_PUSHES

/* Limit of instructions; the longest straight pieces, in codecs, have 1,500. */
#define INSNS_MAX 2048
#define JUMPS_MAX 16  /* limit of jumps; ends loops that have no end */
#define ENDS_WITHIN 8 /* number of instructions within which code that ends the process does so */
#define FRAME_MAX ((int64_t)1 << 20)
#define TARGETS_MAX 64 /* limit of jumps onward in a function whose end is sought */
/* Bytes read at once. A copy by the kernel costs a system call each time. */
#define WINDOW 64
#define WINDOW_COPIED 256
#define NOWHERE INT64_MAX
#define HALT 0xf4

_Static_assert(WINDOW >= 2 * CP_INSN_BYTES, "a window holds more than one instruction");

struct reading {
	struct cp_cfi_frame *f;
	struct cp_cfi_forward *to;
	uint64_t pc;
	int64_t sp;    /* relative to the frame's sp */
	int64_t fresh; /* words below this are written before the code returns: the code won't read
			  their present values */
	int64_t kept[CP_CFI_COLUMNS]; /* where the frame's own value of each column is saved */
	uint64_t back;		      /* the last place that jumps back, so far */
	bool loops;		      /* that jump ends a loop */
	bool copy;
	uint64_t window_at;
	size_t filled;				       /* bytes in the window; zeros follow them */
	uint8_t window[WINDOW_COPIED + CP_INSN_BYTES]; /* room for a complete last instruction */
};

/* Returns the window's bytes at pc, if there is an instruction that can be read. */
static const uint8_t *look_at_code(struct reading *r)
{
	if (r->pc - r->window_at < r->filled && r->filled - (r->pc - r->window_at) >= CP_INSN_BYTES)
		return r->window + (r->pc - r->window_at);
	r->window_at = r->pc;
	r->filled =
		cp_cfi_code_read_some(r->pc, r->window, r->copy ? WINDOW_COPIED : WINDOW, r->copy);
	memset(r->window + r->filled, 0, CP_INSN_BYTES);
	return r->filled ? r->window : NULL;
}

/* Returns the instruction at pc; size 0: it is unknown, or not readable as a whole. */
static struct cp_insn read_insn(struct reading *r)
{
	const uint8_t *p = look_at_code(r);
	struct cp_insn i = { .size = 0 };

	if (p)
		i = cp_cfi_insn_read(p);
	if (i.size > r->filled - (r->pc - r->window_at))
		i = (struct cp_insn){ .size = 0 };
	return i;
}

static bool is_here(const struct reading *r, int64_t at)
{
	return at >= r->fresh && at >= 0 && at < FRAME_MAX && at % 8 == 0;
}

static bool read_word(struct reading *r, int64_t at, uint64_t *value)
{
	return is_here(r, at) &&
	       cp_stackmem_read(&r->f->stack, r->f->regs.r[CP_REG_SP] + (uint64_t)at, value);
}

/* Note that REG's value is stored at AT. A callee-saved register that a function pushes holds the
 * caller's value, because the function has not used it before. */
static void writes(struct reading *r, unsigned reg, int64_t at)
{
	unsigned column = cp_cfi_column(reg);

	if (at + 8 > r->fresh)
		r->fresh = at + 8;
	for (unsigned c = 0; c < CP_CFI_COLUMNS; c++)
		if (r->kept[c] == at)
			r->kept[c] = NOWHERE;
	if (column < CP_CFI_COLUMNS && !(r->to->restored >> column & 1))
		r->kept[column] = at;
}

/* Note that REG is loaded from the stack. The value that REG gets last is its caller's: the word
 * there, or, if the code itself will have stored that word, REG's present value. */
static void restores(struct reading *r, unsigned reg, int64_t at)
{
	unsigned column = cp_cfi_column(reg);

	if (column >= CP_CFI_COLUMNS || reg == CP_REG_SP)
		return;
	r->to->restored &= (uint8_t) ~(1u << column);
	r->to->lost &= (uint8_t) ~(1u << column);
	if (at == r->kept[column])
		return;
	r->to->restored |= (uint8_t)(1u << column);
	if (!read_word(r, at, &r->to->values[column]))
		r->to->lost |= (uint8_t)(1u << column);
}

static bool move_to(struct reading *r, int64_t sp)
{
	r->sp = sp;
	return sp >= -FRAME_MAX && sp < FRAME_MAX;
}

static bool take_insn(struct reading *r, const struct cp_insn *i)
{
	uint64_t value;

	r->pc += i->size;
	switch (i->kind) {
	case CP_INSN_PLAIN: return true;
	/* Another function begins after a call that never returns. */
	case CP_INSN_CALLS: return !r->to->leaf;
	case CP_INSN_MOVES: return move_to(r, r->sp + i->by);
	case CP_INSN_PUSHES:
		r->sp += i->by;
		writes(r, i->reg, r->sp);
		return move_to(r, r->sp);
	case CP_INSN_POPS: restores(r, i->reg, r->sp); return move_to(r, r->sp + i->by);
	case CP_INSN_STORES: writes(r, i->reg, r->sp + i->by); return true;
	case CP_INSN_READS:
		if (i->reg != CP_REG_SP) {
			restores(r, i->reg, r->sp + i->by);
			return true;
		}
		if (!read_word(r, r->sp + i->by, &value))
			return false;
		return move_to(r, (int64_t)(value - r->f->regs.r[CP_REG_SP]));
	case CP_INSN_JUMPS: r->pc += (uint64_t)(int64_t)i->by; return true;
	default: return false;
	}
}

/* The code goes round in a loop if it jumps back from the same place, or from before it, again. In
 * the next round the first conditional jump out of the loop is taken. */
static void leave_loop(struct reading *r, struct cp_insn *i)
{
	uint64_t to = r->pc + i->size + (uint64_t)(int64_t)i->by;

	if (i->kind == CP_INSN_JUMPS && to <= r->pc) {
		if (r->pc > r->back)
			r->back = r->pc;
		else
			r->loops = true;
	} else if (i->kind == CP_INSN_PLAIN && i->by > 0 && r->loops && to > r->back) {
		i->kind = CP_INSN_JUMPS;
		r->loops = false;
	}
}

/* Is the instruction at pc one that ends the process: hlt, ud2? */
static bool is_trap(const struct reading *r)
{
	const uint8_t *code = r->window + (r->pc - r->window_at);

	return code[0] == HALT || (code[0] == 0x0f && code[1] == 0x0b);
}

/* Not inlined because of its window: few samples come here. */
__attribute__((noinline)) bool cp_cfi_forward_reads_on(struct cp_cfi_frame *f, bool copy,
						       struct cp_cfi_forward *to)
{
	struct reading r = { .f = f, .to = to, .pc = f->regs.r[CP_REG_PC], .copy = copy };
	unsigned jumps = 0;
	int32_t over = 0; /* how far the instruction before, a conditional jump, may go */

	to->restored = to->lost = 0;
	r.fresh = INT64_MIN / 2;
	for (unsigned c = 0; c < CP_CFI_COLUMNS; c++)
		r.kept[c] = NOWHERE;
	for (unsigned n = 0; n < INSNS_MAX && jumps <= JUMPS_MAX; n++) {
		struct cp_insn i = read_insn(&r);

		if (!i.size)
			return false;
		if (i.kind == CP_INSN_RETURNS) {
			to->sp = f->regs.r[CP_REG_SP] + (uint64_t)r.sp + sizeof(to->ra);
			return read_word(&r, r.sp, &to->ra);
		}
		jumps += i.kind == CP_INSN_JUMPS;
		if (over > 0 && is_trap(&r))
			i = (struct cp_insn){ .kind = CP_INSN_JUMPS, .by = over };
		over = i.kind == CP_INSN_PLAIN ? i.by : 0;
		leave_loop(&r, &i);
		if (!take_insn(&r, &i))
			return false;
	}
	return false;
}

/* Are there only filler instructions between the window's AT and a multiple of 16? */
static bool is_filled_up(struct reading *r)
{
	uint64_t end = (r->pc + 15) & ~UINT64_C(15);

	if (r->pc == end)
		return false;
	while (r->pc < end) {
		unsigned size = read_insn(r).size;

		if (!size || !cp_cfi_insn_fills(r->window + (r->pc - r->window_at)))
			return false;
		r->pc += size;
	}
	return r->pc == end;
}

/* Returns false if the function that begins at FROM has ended before PC: at an instruction that
 * leaves it, after which no code of it follows and over which it doesn't jump. */
bool cp_cfi_forward_reaches(uint64_t from, uint64_t pc, bool copy)
{
	struct reading r = { .pc = from, .copy = copy };
	uint64_t furthest = from;

	for (unsigned n = 0; n < INSNS_MAX && r.pc < pc; n++) {
		struct cp_insn i = read_insn(&r);
		uint64_t next = r.pc + i.size;

		if (!i.size)
			return false;
		if (i.kind == CP_INSN_PLAIN && i.by > 0 && next + (uint64_t)i.by > furthest)
			furthest = next + (uint64_t)i.by;
		r.pc = next;
		if ((i.kind == CP_INSN_RETURNS || i.kind == CP_INSN_JUMPS) && next > furthest &&
		    is_filled_up(&r))
			return false;
		r.pc = next;
	}
	return r.pc == pc;
}

bool cp_cfi_forward_never_returns(uint64_t pc, bool copy)
{
	struct reading r = { .pc = pc, .copy = copy };
	bool calls = false;

	for (unsigned n = 0; n < ENDS_WITHIN; n++) {
		struct cp_insn i = read_insn(&r);

		if (i.size && r.window[r.pc - r.window_at] == HALT)
			return calls;
		if (!i.size || (i.kind != CP_INSN_PLAIN && i.kind != CP_INSN_CALLS))
			return false;
		calls |= i.kind == CP_INSN_CALLS;
		r.pc += i.size;
	}
	return false;
}

/* After an instruction that leaves the function, code belongs to it only if it has jumped there. */
uint64_t cp_cfi_forward_extent(const uint8_t *code, uint64_t n)
{
	uint64_t targets[TARGETS_MAX], at = 0;
	unsigned count = 0;

	while (at < n && count < TARGETS_MAX) {
		struct cp_insn i = cp_cfi_insn_read(code + at);
		bool leaves = i.kind == CP_INSN_RETURNS || i.kind == CP_INSN_JUMPS;
		uint64_t next = at + i.size;

		if (!i.size || next > n)
			return at;
		if (i.kind == CP_INSN_PLAIN && i.by > 0)
			targets[count++] = next + (uint64_t)i.by;
		at = next;
		for (unsigned t = 0; leaves && t < count; t++)
			leaves = targets[t] != at;
		if (leaves || i.kind == CP_INSN_OTHER)
			return at;
	}
	return at;
}

void cp_cfi_forward_take_restored(struct cp_cfi_frame *f, const struct cp_cfi_forward *from)
{
	for (unsigned c = 0; c < CP_CFI_COLUMNS; c++) {
		unsigned reg = cp_cfi_register(c);

		if (!(from->restored >> c & 1))
			continue;
		f->known &= ~(UINT64_C(1) << reg);
		if (from->lost >> c & 1)
			continue;
		f->regs.r[reg] = from->values[c];
		f->known |= UINT64_C(1) << reg;
	}
}

#else

/* On this architecture the return address is in its register. */
bool cp_cfi_forward_reads_on(struct cp_cfi_frame *f, bool copy, struct cp_cfi_forward *to)
{
	return false;
}

void cp_cfi_forward_take_restored(struct cp_cfi_frame *f, const struct cp_cfi_forward *from)
{
}

bool cp_cfi_forward_reaches(uint64_t from, uint64_t pc, bool copy)
{
	return from <= pc;
}

bool cp_cfi_forward_never_returns(uint64_t pc, bool copy)
{
	return false;
}

uint64_t cp_cfi_forward_extent(const uint8_t *code, uint64_t n)
{
	return 0;
}

#endif
