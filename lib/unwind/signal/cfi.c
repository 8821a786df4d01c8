/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the module of an address, and steps from a frame to its caller; see unwind_signal.h. */
#include "unwind/signal/unwind_signal.h"

struct cp_cfi_finder cp_cfi_finder;

static bool find_in(struct cp_cfi_snapshot *const *at, uint64_t pc, struct cp_cfi_module *m)
{
	/* Pairs with the release in cfi_modules.c: the snapshot's contents are complete. */
	const struct cp_cfi_snapshot *s = cp_load_acquire(at);
	size_t low = 0, high = s ? s->count : 0;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (pc < s->modules[mid].start)
			high = mid;
		else
			low = mid + 1;
	}
	if (!low || pc >= s->modules[low - 1].end)
		return false;
	*m = s->modules[low - 1];
	return true;
}

/* Use libcprof's own table for a module whose linker made none. The module may be another one by
 * now. */
static void find_built(uint64_t pc, struct cp_cfi_module *m)
{
	struct cp_cfi_module ours;

	if (find_in(&cp_cfi_finder.snapshot, pc, &ours) && ours.start == m->start &&
	    ours.end == m->end)
		*m = ours;
}

bool cp_cfi_module_stays(uint64_t pc)
{
	struct cp_cfi_module m;

	return cp_cfi_lasting(pc) || find_in(&cp_cfi_finder.kept, pc, &m);
}

bool cp_cfi_module_find(uint64_t pc, struct cp_cfi_module *m)
{
	struct cp_cfi_dlfo found;

	if (!cp_cfi_finder.find) {
		if (find_in(&cp_cfi_finder.snapshot, pc, m))
			return true;
		cp_cfi_module_missed();
		return false;
	}
	if (cp_cfi_finder.find((void *)(uintptr_t)pc, &found))
		return false;
	m->start = (uint64_t)(uintptr_t)found.map_start;
	m->end = (uint64_t)(uintptr_t)found.map_end;
	m->hdr = (uint64_t)(uintptr_t)found.eh_frame;
	m->tables = m->start;
	m->tables_end = m->end;
	m->built = NULL;
	m->entries = m->usual_cie = 0;
	if (m->hdr - m->start >= m->end - m->start) {
		m->tables = cp_cfi_finder.main_tables;
		m->tables_end = cp_cfi_finder.main_tables_end;
		if (m->hdr - m->tables >= m->tables_end - m->tables)
			m->hdr = 0;
	}
	if (cp_load_relaxed(&cp_cfi_finder.snapshot))
		find_built(pc, m);
	return true;
}

/* Applies a row to a frame: the registers become the caller's. */

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

/* Is the frame record at sp, so that the frame pointer equals sp? Compilers put it there where
 * calls don't push. */
static bool has_record_at_sp(const struct step *s)
{
	uint32_t fp = s->row->rules[cp_cfi_column(CP_REG_FP)];

	return !CP_CFI_CALL_PUSHES && CP_CFI_KIND(fp) == CP_CFI_OFFSET &&
	       CP_CFI_VALUE(fp) == -s->row->cfa_offset;
}

static enum cp_cfi_result find_cfa(struct step *s)
{
	uint32_t rule = s->row->cfa;
	uint64_t reg = (uint64_t)CP_CFI_VALUE(rule);

	if (CP_CFI_KIND(rule) == CP_CFI_VAL_EXPR)
		return expression(s, rule, NULL, &s->cfa);
	if (reg == CP_REG_SP && !is_known(s->f, reg) && has_record_at_sp(s))
		reg = CP_REG_FP;
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
