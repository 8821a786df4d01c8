/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs call frame instructions up to a pc; see unwind_signal.h.
 *
 * The opcodes are those of DWARF 5 section 7.24 and the GNU and Arm extensions
 * that compilers and assemblers emit.
 */
#include "unwind/signal/unwind_signal.h"

#include <errno.h>

/* Number of states that are remembered, 40 bytes of the handler's stack each. Compilers remember
 * one state at a time; hand-written code may nest. After restoring a deeper state the row is
 * unknown, until one of these is restored. */
#define NESTED 2

struct machine {
	const struct cp_cfi_fde *fde;
	struct cp_cfi_row *row;
	uint64_t from, loc,
		pc; /* the row that holds from FROM on ends at LOC, once LOC is above PC */
	bool in_cie, bad, lost;
	unsigned depth;			  /* may exceed NESTED */
	uint32_t initial[CP_CFI_COLUMNS]; /* the CIE's rules, which DW_CFA_restore restores */
	struct cp_cfi_row remembered[NESTED];
};

static void set_rule(struct machine *m, uint64_t reg, unsigned kind, int64_t value)
{
	unsigned column = cp_cfi_column(reg);

	if (column == CP_CFI_COLUMNS)
		return; /* vector registers etc., which unwinding doesn't need */
	if (value != (int64_t)((uint64_t)value << 36) >> 36)
		m->bad = true;
	m->row->rules[column] = CP_CFI_RULE(kind, m->in_cie, (uint64_t)value);
}

static int64_t factored(const struct machine *m, int64_t value)
{
	return (int64_t)((uint64_t)value * (uint64_t)m->fde->data_align);
}

static void set_offset(struct machine *m, uint64_t reg, struct cp_cfi_cursor *c)
{
	set_rule(m, reg, CP_CFI_OFFSET, factored(m, (int64_t)cp_cfi_uleb(c)));
}

static void set_cfa(struct machine *m, uint64_t reg, int64_t offset)
{
	if (reg >= CP_REGS || offset != (int32_t)offset)
		m->bad = true;
	m->row->cfa = CP_CFI_RULE(CP_CFI_REGISTER, 0, (uint32_t)reg);
	m->row->cfa_offset = (int32_t)offset;
}

/* Returns the position of the expression at the cursor, and moves the cursor past it. */
static int64_t expression(struct machine *m, struct cp_cfi_cursor *c)
{
	const uint8_t *base = m->in_cie ? m->fde->cie.p : m->fde->program.p;
	int64_t at = c->p - base;

	cp_cfi_skip(c, cp_cfi_uleb(c));
	return at;
}

static void set_cfa_expression(struct machine *m, struct cp_cfi_cursor *c)
{
	int64_t at = expression(m, c);

	if (at >> 27)
		m->bad = true;
	m->row->cfa = CP_CFI_RULE(CP_CFI_VAL_EXPR, m->in_cie, (uint64_t)at);
	m->row->cfa_offset = 0;
}

static void restore_rule(struct machine *m, uint64_t reg)
{
	unsigned column = cp_cfi_column(reg);

	if (column < CP_CFI_COLUMNS)
		m->row->rules[column] = m->initial[column];
}

static void remember_row(struct machine *m)
{
	if (m->depth < NESTED)
		m->remembered[m->depth] = *m->row;
	m->depth++;
}

static void recall(struct machine *m)
{
	if (m->depth == 0) {
		m->bad = true;
		return;
	}
	m->lost = --m->depth >= NESTED;
	if (!m->lost)
		*m->row = m->remembered[m->depth];
}

static void advance_row(struct machine *m, uint64_t to)
{
	m->from = m->loc;
	m->loc = to;
}

static void advance_by(struct machine *m, uint64_t delta)
{
	advance_row(m, m->loc + delta * m->fde->code_align);
}

static void move_cfa(struct machine *m, int64_t offset)
{
	if (CP_CFI_KIND(m->row->cfa) != CP_CFI_REGISTER)
		m->bad = true;
	set_cfa(m, (uint64_t)CP_CFI_VALUE(m->row->cfa), offset);
}

/* Run an instruction that changes the location or the CFA. Returns false if it is another
 * instruction. */
static bool run_frame(struct machine *m, struct cp_cfi_cursor *c, uint8_t op)
{
	uint64_t reg;

	switch (op) {
	case 0x00: break; /* nop: padding */
	case 0x01: advance_row(m, cp_cfi_pointer(c, m->fde->pointers)); break;
	case 0x02: advance_by(m, cp_cfi_u8(c)); break;
	case 0x03: advance_by(m, cp_cfi_u16(c)); break;
	case 0x04: advance_by(m, cp_cfi_u32(c)); break;
	case 0x0a: remember_row(m); break;
	case 0x0b: recall(m); break;
	case 0x0c: /* def_cfa */
		reg = cp_cfi_uleb(c);
		set_cfa(m, reg, (int64_t)cp_cfi_uleb(c));
		break;
	case 0x0d: set_cfa(m, cp_cfi_uleb(c), m->row->cfa_offset); break;
	case 0x0e: move_cfa(m, (int64_t)cp_cfi_uleb(c)); break;
	case 0x0f: set_cfa_expression(m, c); break;
	case 0x12: /* def_cfa_sf */
		reg = cp_cfi_uleb(c);
		set_cfa(m, reg, factored(m, cp_cfi_sleb(c)));
		break;
	case 0x13: move_cfa(m, factored(m, cp_cfi_sleb(c))); break;
	case 0x2d: break; /* negate_ra_state (aarch64): signatures are always stripped */
	case 0x2c: break; /* negate_ra_state_with_pc: the same */
	case 0x2e: cp_cfi_uleb(c); break; /* GNU_args_size: for exceptions only */
	default: return false;
	}
	return true;
}

/* Run an instruction that says where a register is. */
static void run_register(struct machine *m, struct cp_cfi_cursor *c, uint8_t op)
{
	uint64_t reg = cp_cfi_uleb(c);

	switch (op) {
	case 0x05: set_offset(m, reg, c); break;
	case 0x06: restore_rule(m, reg); break;
	case 0x07: set_rule(m, reg, CP_CFI_UNDEFINED, 0); break;
	case 0x08: set_rule(m, reg, CP_CFI_SAME, 0); break;
	case 0x09: set_rule(m, reg, CP_CFI_REGISTER, (int64_t)cp_cfi_uleb(c)); break;
	case 0x10: set_rule(m, reg, CP_CFI_EXPR, expression(m, c)); break;
	case 0x11: set_rule(m, reg, CP_CFI_OFFSET, factored(m, cp_cfi_sleb(c))); break;
	case 0x14: set_rule(m, reg, CP_CFI_VAL_OFFSET, factored(m, (int64_t)cp_cfi_uleb(c))); break;
	case 0x15: set_rule(m, reg, CP_CFI_VAL_OFFSET, factored(m, cp_cfi_sleb(c))); break;
	case 0x16: set_rule(m, reg, CP_CFI_VAL_EXPR, expression(m, c)); break;
	case 0x2f: set_rule(m, reg, CP_CFI_OFFSET, factored(m, (int64_t)-cp_cfi_uleb(c))); break;
	default: m->bad = true;
	}
}

static inline void run_one(struct machine *m, struct cp_cfi_cursor *c)
{
	uint8_t op = *c->p++;

	switch (op >> 6) {
	case 1: advance_by(m, op & 0x3f); break;
	case 2: set_offset(m, op & 0x3f, c); break;
	case 3: restore_rule(m, op & 0x3f); break;
	default:
		if (!run_frame(m, c, op))
			run_register(m, c, op);
	}
}

/* Run until the location passes pc, or to the end. */
static __attribute__((noinline)) void run(struct machine *m, const struct cp_cfi_cursor *program)
{
	struct cp_cfi_cursor c = *program;

	while (c.p < c.end && m->loc <= m->pc && !m->bad)
		run_one(m, &c);
	m->bad |= c.bad || (c.cut && m->loc <= m->pc);
}

/* On aarch64, glibc's _dl_runtime_resolve doesn't count the two words that the PLT has pushed, the
 * return address among them. The caller's sp is above both. FIRST: ROW is the function's first,
 * where the return address is still in its register, too. */
static void include_return_address(const struct cp_cfi_fde *fde, bool first, struct cp_cfi_row *row)
{
	uint32_t ra = row->rules[fde->ra_column];

	if (first && cp_cfi_is_behind_stub(fde->program.p, fde->program.end)) {
		row->cfa_offset += 16;
		return;
	}
	if (CP_CFI_KIND(ra) != CP_CFI_OFFSET || CP_CFI_VALUE(ra) != 8 || fde->signal)
		return;
	row->cfa_offset += 16;
	for (unsigned i = 0; i < CP_CFI_COLUMNS; i++)
		if (CP_CFI_KIND(row->rules[i]) == CP_CFI_OFFSET)
			row->rules[i] = CP_CFI_RULE(CP_CFI_OFFSET, CP_CFI_IN_CIE(row->rules[i]),
						    CP_CFI_VALUE(row->rules[i]) - 16);
}

int cp_cfi_row_and_span(const struct cp_cfi_fde *fde, uint64_t pc, struct cp_cfi_row *row,
			struct cp_cfi_span *span)
{
	struct machine m; /* not zeroed: remembered[] is written before it is read */

	memset(row, 0, sizeof(*row));
	m.fde = fde;
	m.row = row;
	m.from = m.loc = m.pc = pc;
	m.depth = 0;
	m.bad = m.lost = false;
	m.in_cie = true;
	memset(m.initial, 0, sizeof(m.initial));
	run(&m, &fde->cie);
	memcpy(m.initial, row->rules, sizeof(m.initial));
	m.from = m.loc = fde->start;
	m.in_cie = false;
	run(&m, &fde->program);
	if (m.bad || m.lost || !row->cfa)
		return -EINVAL;
	include_return_address(fde, m.loc > pc && m.from == fde->start, row);
	if (span)
		*span = (struct cp_cfi_span){ .from = m.loc > pc ? m.from : m.loc,
					      .to = m.loc > pc ? m.loc : UINT64_MAX };
	return 0;
}
