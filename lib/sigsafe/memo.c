/* Walks that share their end with the one before; see memo.h. */
#include "sigsafe/memo.h"

#include "sigsafe/atomic.h"
#include "sigsafe/stackmem.h"

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0x9fb21c651e98df25);
	return h ^ h >> 32;
}

uint64_t cp_memo_hash_of(const uint64_t *pcs, unsigned depth)
{
	uint64_t h = 0;

	for (unsigned i = depth; i-- > 0;)
		h = mix(h, pcs[i]);
	return h;
}

/* Does the kept frame number I still lead to the one after it, or to the stack's start? */
static inline bool leads_on(const struct cp_memo *m, unsigned i, struct cp_stackmem *stack)
{
	struct cp_rule_frame q = m->frames[i];

	if (cp_rule_is_outermost(m->rules[i]))
		return i == 0;
	if (!cp_rule_step(m->rules[i], &q, stack))
		return false;
	return i ? cp_rule_is_same(&q, &m->frames[i - 1]) : !q.pc;
}

/* From frame TOP - 1 to the outermost. 0: all of it holds; else how many, from the outermost, are
 * not disproved. */
static unsigned check(const struct cp_memo *m, unsigned top, struct cp_stackmem *stack)
{
	for (unsigned i = top; i-- > 0;)
		if (!leads_on(m, i, stack))
			return i ? i : 1;
	return 0;
}

/* The KEPT outermost frames stay, the NEW ones of the walk follow. The same stack, in other
 * registers, is the same entry. */
static unsigned keep(struct cp_memo *m, unsigned kept, unsigned new)
{
	unsigned n = kept + new;
	bool same = n == m->count;

	/* Nothing holds until all of it is written: a handler may jump out of the middle, and the
	 * buffer be another thread's one day. */
	m->count = 0;
	cp_signal_fence();
	if (n > CP_MEMO_DEPTH)
		return 0;
	for (unsigned i = new; i-- > 0;) {
		unsigned at = n - 1 - i;
		/* The leaf is exact, others are return addresses less one. */
		uint64_t pc = m->new_frames[i].pc - (i > 0);

		m->frames[at] = m->new_frames[i];
		m->rules[at] = m->new_rules[i];
		if (same && m->pcs[CP_MEMO_DEPTH - 1 - at] == pc)
			continue;
		same = false;
		m->pcs[CP_MEMO_DEPTH - 1 - at] = pc;
		m->hashes[at] = mix(at ? m->hashes[at - 1] : 0, pc);
	}
	if (!same && kept < m->entry_depth)
		m->entry = NULL;
	cp_signal_fence();
	return m->count = n;
}

/* The kept frames that begin with Q's registers, if they still hold; *TOP: no other can be above.
 */
static unsigned join(const struct cp_memo *m, const struct cp_rule_frame *q, unsigned *top,
		     struct cp_stackmem *stack)
{
	unsigned left;

	while (*top && m->frames[*top - 1].sp < q->sp)
		--*top;
	if (!*top || !cp_rule_is_same(&m->frames[*top - 1], q))
		return 0;
	left = check(m, *top, stack);
	if (!left)
		return *top;
	*top = left - 1;
	return 0;
}

static unsigned walk(struct cp_memo *m, const struct cp_unwind_input *in, unsigned max)
{
	/* The leaf's rule was looked up by its very pc: nobody's caller is one. */
	unsigned n = 0, top = m->count ? m->count - 1 : 0, kept;
	uint64_t at = in->regs.r[CP_REG_PC];
	struct cp_stackmem stack;
	struct cp_rule_frame q;

	cp_stackmem_init(&stack, in->regs.r[CP_REG_SP], in->stack_low, in->stack_high);
	stack.room = in->room;
	cp_rule_load(&q, &in->regs, ~UINT64_C(0));
	while (!(at >> CP_CFI_PC_BITS) && n < max && n < CP_MEMO_DEPTH) {
		uint32_t rule = cp_rules_find(at);

		if (!rule)
			break;
		m->new_frames[n] = q;
		m->new_rules[n++] = rule;
		if (cp_rule_is_outermost(rule))
			return keep(m, 0, n);
		if (!cp_rule_step(rule, &q, &stack))
			break;
		if (!q.pc)
			return keep(m, 0, n);
		kept = join(m, &q, &top, &stack);
		if (kept)
			return kept + n <= max ? keep(m, kept, n) : 0;
		at = q.pc - 1;
	}
	return 0;
}

unsigned cp_memo_walk(struct cp_memo *m, const struct cp_unwind_input *in, uint64_t epoch,
		      unsigned max)
{
	unsigned n;

	if (m->epoch != epoch) {
		m->epoch = epoch;
		m->count = 0;
		m->entry = NULL;
	}
	n = walk(m, in, max);
	if (!n) {
		m->count = 0;
		m->entry = NULL;
	}
	return n;
}
