/* SPDX-License-Identifier: BSD-3-Clause */
/* Applies a row to a frame: the registers become the caller's; see unwind_signal.h. */
#include "unwind/signal/unwind_signal.h"

struct step {
	struct cp_cfi_frame *f; /* the callee's registers */
	const struct cp_cfi_fde *fde;
	const struct cp_cfi_row *row;
	uint64_t cfa;
	struct cp_regs regs; /* the caller's registers, as far as known */
	uint64_t known;
};

static bool is_known(const struct cp_cfi_frame *f, uint64_t reg)
{
	return reg < CP_REGS && f->known >> reg & 1;
}

static enum cp_cfi_result expression(struct step *s, uint32_t rule, const uint64_t *first,
				     uint64_t *v)
{
	struct cp_cfi_cursor c = CP_CFI_IN_CIE(rule) ? s->fde->cie : s->fde->program;

	cp_cfi_skip(&c, (uint64_t)CP_CFI_VALUE(rule));
	return c.bad ? CP_CFI_LOST : cp_cfi_expr(c, s->f, first, v);
}

static enum cp_cfi_result find_cfa(struct step *s)
{
	uint32_t rule = s->row->cfa;
	uint64_t reg = (uint64_t)CP_CFI_VALUE(rule);

	if (CP_CFI_KIND(rule) == CP_CFI_VAL_EXPR)
		return expression(s, rule, NULL, &s->cfa);
	if (!is_known(s->f, reg))
		return CP_CFI_UNKNOWN;
	s->cfa = s->f->regs.r[reg] + (uint64_t)(int64_t)s->row->cfa_offset;
	return CP_CFI_STEPPED;
}

/* Get the caller's value from a rule that gives one. */
static enum cp_cfi_result value(struct step *s, uint32_t rule, uint64_t *v)
{
	uint64_t at = s->cfa + (uint64_t)(int64_t)CP_CFI_VALUE(rule);
	enum cp_cfi_result r;

	switch (CP_CFI_KIND(rule)) {
	case CP_CFI_VAL_OFFSET: *v = at; return CP_CFI_STEPPED;
	case CP_CFI_REGISTER:
		if (!is_known(s->f, (uint64_t)CP_CFI_VALUE(rule)))
			return CP_CFI_UNKNOWN;
		*v = s->f->regs.r[CP_CFI_VALUE(rule)];
		return CP_CFI_STEPPED;
	case CP_CFI_VAL_EXPR: return expression(s, rule, &s->cfa, v);
	case CP_CFI_EXPR:
		r = expression(s, rule, &s->cfa, &at);
		if (r != CP_CFI_STEPPED)
			return r;
	}
	return cp_stackmem_read(&s->f->stack, at, v) ? CP_CFI_STEPPED : CP_CFI_LOST;
}

/* A register without a rule keeps its value if the ABI says so, and across a signal. */
static void find_register(struct step *s, unsigned column)
{
	uint32_t rule = s->row->rules[column];
	unsigned reg = cp_cfi_register(column);
	uint64_t bit = UINT64_C(1) << reg;
	bool kept = s->fde->signal || CP_CFI_CALLEE_SAVED & bit;

	switch (CP_CFI_KIND(rule)) {
	case CP_CFI_UNDEFINED: s->known &= ~bit; break;
	case CP_CFI_UNSET:
		if (!kept)
			s->known &= ~bit;
		break;
	case CP_CFI_SAME: break;
	default:
		if (value(s, rule, &s->regs.r[reg]) == CP_CFI_STEPPED)
			s->known |= bit;
		else
			s->known &= ~bit;
	}
}

/* Find the registers that no column describes, and sp and pc, which follow from the others. */
static enum cp_cfi_result find_pc_and_sp(struct step *s)
{
	unsigned ra = cp_cfi_register(s->fde->ra_column), sp = cp_cfi_column(CP_REG_SP);
	uint32_t rule = s->row->rules[s->fde->ra_column];

	if (CP_CFI_KIND(rule) == CP_CFI_UNDEFINED)
		return CP_CFI_OUTERMOST;
	if (CP_CFI_KIND(rule) == CP_CFI_UNSET) {
		/* The return address is still in the link register. On an architecture whose calls
		 * push it, the table is broken. */
		if (CP_CFI_CALL_PUSHES || !is_known(s->f, ra))
			return CP_CFI_LOST;
		s->regs.r[CP_REG_PC] = s->f->regs.r[ra];
	} else if (!(s->known >> ra & 1)) {
		return CP_CFI_UNKNOWN;
	} else {
		s->regs.r[CP_REG_PC] = s->regs.r[ra];
	}
	s->regs.r[CP_REG_PC] = cp_cfi_strip(s->regs.r[CP_REG_PC]);
	if (CP_CFI_KIND(s->row->rules[sp]) == CP_CFI_UNSET)
		s->regs.r[CP_REG_SP] = s->cfa;
	else if (!(s->known >> CP_REG_SP & 1))
		return CP_CFI_UNKNOWN;
	s->known |= UINT64_C(1) << CP_REG_PC | UINT64_C(1) << CP_REG_SP;
	/* The call that led here overwrote the link register. */
	if (ra != CP_REG_PC && !s->fde->signal)
		s->known &= ~(UINT64_C(1) << ra);
	return s->fde->signal ? CP_CFI_RESUMED : CP_CFI_STEPPED;
}

enum cp_cfi_result cp_cfi_step(struct cp_cfi_frame *f, const struct cp_cfi_fde *fde,
			       const struct cp_cfi_row *row)
{
	struct step s = { .f = f, .fde = fde, .row = row, .regs = f->regs, .known = f->known };
	enum cp_cfi_result r;

	/* Tested first, because the frame may be outermost and have no CFA: _start has none. */
	if (CP_CFI_KIND(row->rules[fde->ra_column]) == CP_CFI_UNDEFINED)
		return CP_CFI_OUTERMOST;
	r = find_cfa(&s);
	if (r != CP_CFI_STEPPED)
		return r;
	for (unsigned reg = 0; reg < CP_REGS; reg++)
		if (cp_cfi_column(reg) == CP_CFI_COLUMNS)
			s.known &= ~(UINT64_C(1) << reg);
	for (unsigned column = 0; column < CP_CFI_COLUMNS; column++)
		find_register(&s, column);
	r = find_pc_and_sp(&s);
	if (r == CP_CFI_STEPPED || r == CP_CFI_RESUMED) {
		f->regs = s.regs;
		f->known = s.known;
	}
	return r;
}
