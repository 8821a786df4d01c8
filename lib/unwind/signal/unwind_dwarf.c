/* SPDX-License-Identifier: BSD-3-Clause */
/* CPROF_UNWIND=dwarf, the default: reads call frame information when a walk needs it.
 *
 * A frame is stepped by the rule cache (rules.h). A miss is looked up in the module's table: for
 * most code the rule is learnt directly (rules_learn.c). The rest is stepped by its row
 * (unwind_signal.h), which is cached if it fits. Nothing is built in advance, nothing is allocated,
 * no lock is taken. A walk's state is one struct on the handler's stack.
 */

#include "unwind/signal/rules.h"

/* Number of jumps to another stack, not counting signals, after which a walk counts as a loop. */
#define STACK_SWITCHES 8

struct walk {
	const struct cp_unwind_input *in;
	struct cp_cfi_frame f;
	struct cp_cfi_module *module; /* module of the pc that was looked up last */
	/* MODULE points here, unless the module is one that is never unloaded. */
	struct cp_cfi_module own;
	struct {
		uint64_t start;
		uint32_t size, hdr; /* SIZE and HDR are offsets from START */
	} before;    /* the previous module, if it is plain: stacks alternate between modules */
	uint64_t at; /* the address by which the frame is looked up and recorded */
	uint8_t switches;
	bool exact;   /* AT is the pc itself, not a return address minus 1 */
	bool careful; /* follow every register, and don't use the cache */
};

static void begin_walk(struct walk *w, const struct cp_unwind_input *in, bool careful)
{
	w->in = in;
	w->f.regs = in->regs;
	w->f.known = CP_CFI_ALL_KNOWN;
	w->f.jumped_from = w->f.read_to = 0;
	cp_stackmem_init(&w->f.stack, in->regs.r[CP_REG_SP], in->stack_low, in->stack_high);
	w->f.stack.room = in->room;
	if (in->copy) {
		w->f.known = UINT64_C(1) << CP_REG_PC | UINT64_C(1) << CP_REG_SP;
		cp_stackmem_init_copy(&w->f.stack, in->copy);
	}
	w->module = &w->own;
	w->own.start = w->own.end = w->own.tables = 0;
	w->before.size = 0;
	w->at = in->regs.r[CP_REG_PC];
	w->switches = 0;
	w->exact = true;
	w->careful = careful;
}

/* Is M a module whose tables are among its segments and made by the linker, and which is not huge?
 */
static bool is_plain(const struct cp_cfi_module *m)
{
	return m->start < m->end && m->tables == m->start && m->tables_end == m->end && m->hdr &&
	       !m->built && m->end - m->start <= UINT32_MAX;
}

static bool module_holds(const struct cp_cfi_module *m, uint64_t pc)
{
	return pc - m->start < m->end - m->start;
}

/* Find the module and store it in w->own. */
static __attribute__((noinline)) bool find_own_module(struct walk *w)
{
	uint64_t start = w->before.start, end = start + w->before.size;
	struct cp_cfi_module m = { .start = start,
				   .end = end,
				   .hdr = start + w->before.hdr,
				   .tables = start,
				   .tables_end = end };

	if (module_holds(&w->own, w->at))
		return true;
	if (!module_holds(&m, w->at) && !cp_cfi_module_find(w->at, &m))
		return false;
	if (is_plain(&w->own)) {
		w->before.start = w->own.start;
		w->before.size = (uint32_t)(w->own.end - w->own.start);
		w->before.hdr = (uint32_t)(w->own.hdr - w->own.start);
	}
	w->own = m;
	return true;
}

static inline bool find_module(struct walk *w)
{
	struct cp_cfi_module *lasting;

	if (__builtin_expect(module_holds(w->module, w->at), 1))
		return true;
	lasting = cp_cfi_lasting(w->at);
	if (__builtin_expect(lasting && lasting->hdr, 1)) {
		w->module = lasting;
		return true;
	}
	if (!find_own_module(w))
		return false;
	w->module = &w->own;
	return true;
}

/* Step by the rule that has just been cached, if the rule is enough: less work than the row. */
static __attribute__((noinline)) bool step_by_rule(struct walk *w, uint32_t rule)
{
	struct cp_rule_frame q;

	if (!rule || w->careful || (w->f.known & CP_RULE_KNOWN) != CP_RULE_KNOWN ||
	    cp_rule_is_outermost(rule))
		return false;
	cp_rule_load(&q, &w->f.regs, w->f.known);
	if (!cp_rule_step(rule, &q, &w->f.stack))
		return false;
	cp_rule_store(&q, &w->f.regs);
	w->f.known = CP_RULE_KNOWN;
	return true;
}

/* Can't the module go away, so that its tables may be read directly and its rules cached? */
static __attribute__((noinline)) bool may_keep(const struct walk *w)
{
	return w->in->stable_modules || cp_cfi_module_stays(w->at);
}

static bool is_outermost(const struct cp_cfi_fde *fde, const struct cp_cfi_row *row)
{
	return CP_CFI_KIND(row->rules[fde->ra_column]) == CP_CFI_UNDEFINED;
}

/* Step by call frame information. *FOUND false: the code has none. TABLES: room for a copy if the
 * module may go away; see unwind_signal.h. */
static enum cp_cfi_result step_by(struct walk *w, struct cp_cfi_copy *tables, bool *found,
				  bool *signal)
{
	bool copy = !w->in->stable_modules;
	struct cp_cfi_fde fde;
	struct cp_cfi_row row;
	enum cp_cfi_result r;

	*found = cp_cfi_table_find(w->module, w->at, tables, &fde);
	if (!*found)
		return CP_CFI_LOST;
	*signal = fde.signal;
	if (fde.signal && cp_cfi_guess_resume(&w->f, w->exact, copy) == CP_CFI_RESUMED)
		return CP_CFI_RESUMED;
	if (cp_cfi_row(&fde, w->at, &row))
		return CP_CFI_LOST;
	if (!is_outermost(&fde, &row) && cp_cfi_says_nothing(&fde) &&
	    cp_cfi_quirks_pushes(&w->f, &fde, copy) == CP_CFI_STEPPED)
		return CP_CFI_STEPPED;
	if (w->exact)
		cp_cfi_quirks_freed_early(&fde, w->at, &row, copy);
	if (!fde.signal && may_keep(w)) {
		uint32_t rule = cp_rule_of(&row);

		cp_rules_put(w->at, rule);
		if (is_outermost(&fde, &row))
			return CP_CFI_OUTERMOST;
		if (step_by_rule(w, rule))
			return CP_CFI_STEPPED;
	}
	r = cp_cfi_step(&w->f, &fde, &row);
	if (r == CP_CFI_UNKNOWN && w->in->copy && cp_cfi_base(&w->f, &fde, &row, copy))
		r = cp_cfi_step(&w->f, &fde, &row);
	return r;
}

/* A separate function, so that only a walk during a dlclose has this buffer on its stack. */
static __attribute__((noinline)) enum cp_cfi_result step_by_copy(struct walk *w, bool *found,
								 bool *signal)
{
	struct cp_cfi_copy tables;

	return step_by(w, &tables, found, signal);
}

static bool on_own_stack(const struct walk *w, uint64_t sp)
{
	return sp >= w->in->stack_low && sp < w->in->stack_high;
}

/* Is the caller's frame above? Only a signal or a switch of stacks may lead elsewhere. */
static bool moved_up(struct walk *w, uint64_t from, enum cp_cfi_result r)
{
	uint64_t sp = w->f.regs.r[CP_REG_SP];

	if (r == CP_CFI_RESUMED || sp > from)
		return true;
	/* sp may stay the same for a leaf that pushed nothing, on an architecture whose calls don't
	 * push, and inside longjmp. */
	if (sp == from)
		return w->exact;
	return !(on_own_stack(w, from) && on_own_stack(w, sp)) && w->switches++ < STACK_SWITCHES;
}

/* Can the frame be code? A return address outside every module is accepted only if it can be
 * generated code. */
static bool is_code(struct walk *w)
{
	return w->exact || find_module(w) || w->f.jumped_from == w->at + 1 ||
	       cp_cfi_guess_is_generated(&w->f, w->at + 1, !w->in->stable_modules);
}

/* Is the return address planted? A return address that does not follow a call was written by hand.
 * A coroutine starts like that, and has no caller. The address is the start of a function
 * (makecontext's __start_context), or code that ends the process if the coroutine returns
 * (boost.context's make_fcontext). */
static __attribute__((noinline)) bool is_planted(struct walk *w, bool copy)
{
	uint64_t pc = w->f.regs.r[CP_REG_PC];

	return find_module(w) && !cp_cfi_code_behind_call(pc, copy) &&
	       (cp_cfi_table_start_before(w->module, pc, copy) == pc ||
		cp_cfi_forward_never_returns(pc, copy));
}

/* Step one frame without the cache. *RECORDED is the frame that is left: a signal's trampoline was
 * not called from there, so its pc is exact. */
static inline enum cp_cfi_result step_slowly(struct walk *w, uint64_t *recorded)
{
	uint64_t sp = w->f.regs.r[CP_REG_SP], pc = w->f.regs.r[CP_REG_PC];
	bool found = false, signal = false, copy = !w->in->stable_modules, module = find_module(w);
	enum cp_cfi_result r = CP_CFI_LOST;

	if (module)
		r = may_keep(w) ? step_by(w, NULL, &found, &signal)
				: step_by_copy(w, &found, &signal);
	if (!found && (module || !w->exact)) {
		r = cp_cfi_guess_resume(&w->f, w->exact, copy);
		signal = r == CP_CFI_RESUMED;
	}
	if (!found && !signal && !w->exact && is_planted(w, copy)) {
		*recorded = pc;
		return CP_CFI_OUTERMOST;
	}
	if (!found && !signal && is_code(w))
		r = cp_cfi_guess(&w->f, w->exact, copy);
	if (signal)
		*recorded = pc;
	if (r != CP_CFI_STEPPED && r != CP_CFI_RESUMED)
		return r;
	return moved_up(w, sp, r) ? r : CP_CFI_LOST;
}

/* Does the walk end at the return address PC, and how? */
static inline bool walk_ended(uint64_t pc, bool full, enum cp_unwind_end *end)
{
	*end = pc == 0		      ? CP_UNWIND_COMPLETE
	       : pc >> CP_CFI_PC_BITS ? CP_UNWIND_INCOMPLETE
				      : CP_UNWIND_TRUNCATED;
	return *end != CP_UNWIND_TRUNCATED || full;
}

/* Which modules stay while a walk steps by the cache. ALL: the gate guarantees all modules. OWN:
 * the modules that the stack leads through; the gate wasn't asked. Their cached rules hold, but no
 * list of modules may be read, nor a built table, which other threads may release meanwhile.
 * LASTING: those that the program began with. Another module is going away, and a new one may be
 * loaded at its addresses, and run, before the cache is cleared. */
enum staying { ALL, OWN, LASTING };

/* Learn a rule that was not in the cache. */
static __attribute__((noinline)) uint32_t learn(struct walk *w, uint64_t at, bool exact)
{
	w->at = at;
	return find_module(w) ? cp_rules_learn(w->module, at, exact) : 0;
}

static __attribute__((noinline)) uint32_t learn_lasting(uint64_t at, bool exact)
{
	struct cp_cfi_module *m = cp_cfi_lasting(at);

	return m && m->hdr ? cp_rules_learn(m, at, exact) : 0;
}

/* Step as many frames as the cache has rules for. Returns true if the walk is over. */
static inline __attribute__((always_inline)) bool step_by_cache(struct walk *w, uint64_t *pcs,
								unsigned *count, unsigned max,
								enum cp_unwind_end *end,
								enum staying staying)
{
	unsigned n = *count;
	struct cp_rule_frame q;
	uint64_t key = cp_rules_key(w->at);
	bool over = false;

	cp_rule_load(&q, &w->f.regs, w->f.known);
	while (!((key - 1) >> CP_CFI_PC_BITS)) {
		uint32_t rule;

		if (staying == LASTING && !cp_cfi_module_stays(key - 1))
			break;
		if (!cp_rules_get(key, &rule)) {
			bool exact = w->exact && n == *count;

			rule = staying == OWN ? learn_lasting(key - 1, exact)
					      : learn(w, key - 1, exact);
			if (!rule)
				break;
		}
		over = cp_rule_is_outermost(rule);
		*end = CP_UNWIND_COMPLETE;
		if (over || !cp_rule_step(rule, &q, &w->f.stack))
			break;
		if (__builtin_expect((q.pc - 1) >> CP_CFI_PC_BITS || n == max, 0)) {
			over = walk_ended(q.pc, n == max, end);
			if (over)
				break;
		}
		key = q.pc;
		pcs[n++] = key - 1;
	}
	w->at = key - 1;
	if (n > *count) {
		cp_rule_store(&q, &w->f.regs);
		w->f.known = CP_RULE_KNOWN;
		w->exact = false;
		*count = n;
	}
	return over;
}

static __attribute__((noinline)) bool step_warily(struct walk *w, uint64_t *pcs, unsigned *count,
						  unsigned max, enum cp_unwind_end *end)
{
	return step_by_cache(w, pcs, count, max, end, LASTING);
}

static __attribute__((noinline)) bool step_quickly(struct walk *w, uint64_t *pcs, unsigned *count,
						   unsigned max, enum cp_unwind_end *end)
{
	if (!w->in->stable_modules)
		return step_warily(w, pcs, count, max, end);
	return step_by_cache(w, pcs, count, max, end, ALL);
}

static inline bool is_simple(const struct walk *w)
{
	return !w->careful && (w->f.known & CP_RULE_KNOWN) == CP_RULE_KNOWN;
}

/* Walk the rest of the frames; N are already known. Returns the total, or 0 if a register is needed
 * that the cache does not follow. The last known frame has no rule in the cache. */
static __attribute__((noinline)) unsigned frames(struct walk *w, uint64_t *pcs, unsigned n,
						 unsigned max, enum cp_unwind_end *end)
{
	uint64_t pc;

	for (;;) {
		enum cp_cfi_result r = step_slowly(w, &pcs[n - 1]);

		switch (r) {
		case CP_CFI_STEPPED:
		case CP_CFI_RESUMED:
			pc = w->f.regs.r[CP_REG_PC];
			w->exact = r == CP_CFI_RESUMED;
			/* A jump to 0 may have raised the signal: that is not the end of the stack.
			 */
			if (walk_ended(w->exact && !pc ? 1 : pc, n == max, end))
				return n;
			w->at = pcs[n++] = pc - !w->exact;
			break;
		case CP_CFI_OUTERMOST: *end = CP_UNWIND_COMPLETE; return n;
		default:
			*end = CP_UNWIND_INCOMPLETE;
			if (r == CP_CFI_UNKNOWN && !w->careful)
				return 0;
			return is_code(w) ? n : n - 1;
		}
		if (is_simple(w) && step_quickly(w, pcs, &n, max, end))
			return n;
	}
}

static __attribute__((noinline)) unsigned start_again(struct walk *w, uint64_t *pcs, unsigned max,
						      enum cp_unwind_end *end)
{
	begin_walk(w, w->in, true);
	pcs[0] = w->at;
	return frames(w, pcs, 1, max, end);
}

unsigned cp_unwind_dwarf_walk(const struct cp_unwind_input *in, uint64_t *pcs, unsigned max,
			      enum cp_unwind_end *end)
{
	struct walk w;
	unsigned n = 1;

	begin_walk(&w, in, false);
	pcs[0] = w.at;
	if (is_simple(&w) && step_quickly(&w, pcs, &n, max, end))
		return n;
	n = frames(&w, pcs, n, max, end);
	return n ? n : start_again(&w, pcs, max, end);
}

unsigned cp_unwind_dwarf_by_rules(const struct cp_unwind_input *in, uint64_t *pcs, unsigned max,
				  enum cp_unwind_end *end)
{
	struct walk w;
	unsigned n = 1;

	begin_walk(&w, in, false);
	pcs[0] = w.at;
	return step_by_cache(&w, pcs, &n, max, end, OWN) ? n : 0;
}
