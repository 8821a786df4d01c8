/* SPDX-License-Identifier: BSD-3-Clause */
/* Walks that share their end with the previous walk; see stack_cache.h. */
#include "modes/heap/signal/stack_cache.h"

static uint64_t mix_hash(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0x9fb21c651e98df25);
	return h ^ h >> 32;
}

uint64_t cp_tail_cache_hash_of(const uint64_t *pcs, unsigned depth)
{
	uint64_t h = 0;

	for (unsigned i = depth; i-- > 0;)
		h = mix_hash(h, pcs[i]);
	return h;
}

/* Does the kept frame I still lead to the next frame, or to the stack's start? */
static inline bool leads_on(const struct cp_tail_cache *m, unsigned i, struct cp_stackmem *stack)
{
	struct cp_rule_frame q = m->frames[i];

	if (cp_rule_is_outermost(m->rules[i]))
		return i == 0;
	if (!cp_rule_step(m->rules[i], &q, stack))
		return false;
	return i ? cp_rule_is_same(&q, &m->frames[i - 1]) : !q.pc;
}

/* Check the frames from TOP - 1 to the outermost. Returns 0 if all are valid; else how many frames,
 * from the outermost, are not disproved. */
static unsigned check_frames(const struct cp_tail_cache *m, unsigned top, struct cp_stackmem *stack)
{
	for (unsigned i = top; i-- > 0;)
		if (!leads_on(m, i, stack))
			return i ? i : 1;
	return 0;
}

/* The outermost KEPT frames stay, and the NEW frames of the walk follow. The same stack with other
 * registers is the same entry. */
static unsigned keep_frames(struct cp_tail_cache *m, unsigned kept, unsigned new)
{
	unsigned n = kept + new;
	bool same = n == m->count;

	/* Nothing is valid until everything is written: a handler may jump out in the middle, and
	 * the buffer may belong to another thread one day. */
	m->count = 0;
	cp_signal_fence();
	if (n > CP_TAIL_CACHE_DEPTH)
		return 0;
	for (unsigned i = new; i-- > 0;) {
		unsigned at = n - 1 - i;
		/* The leaf's pc is exact; the others are return addresses minus one. */
		uint64_t pc = m->new_frames[i].pc - (i > 0);

		m->frames[at] = m->new_frames[i];
		m->rules[at] = m->new_rules[i];
		if (same && m->pcs[CP_TAIL_CACHE_DEPTH - 1 - at] == pc)
			continue;
		same = false;
		m->pcs[CP_TAIL_CACHE_DEPTH - 1 - at] = pc;
		m->hashes[at] = mix_hash(at ? m->hashes[at - 1] : 0, pc);
	}
	if (!same && kept < m->entry_depth)
		m->entry = NULL;
	cp_signal_fence();
	return m->count = n;
}

/* Returns the number of kept frames that begin with Q's registers, if they are still valid. *TOP:
 * no later match can be above this frame. */
static unsigned join_kept(const struct cp_tail_cache *m, const struct cp_rule_frame *q,
			  unsigned *top, struct cp_stackmem *stack)
{
	unsigned left;

	while (*top && m->frames[*top - 1].sp < q->sp)
		--*top;
	if (!*top || !cp_rule_is_same(&m->frames[*top - 1], q))
		return 0;
	left = check_frames(m, *top, stack);
	if (!left)
		return *top;
	*top = left - 1;
	return 0;
}

static unsigned walk_to_kept(struct cp_tail_cache *m, const struct cp_unwind_input *in,
			     unsigned max)
{
	/* The leaf's rule was looked up by its exact pc, so the leaf can't match a caller's frame.
	 */
	unsigned n = 0, top = m->count ? m->count - 1 : 0, kept;
	uint64_t at = in->regs.r[CP_REG_PC];
	struct cp_stackmem stack;
	struct cp_rule_frame q;

	cp_stackmem_init(&stack, in->regs.r[CP_REG_SP], in->stack_low, in->stack_high);
	stack.room = in->room;
	cp_rule_load(&q, &in->regs, ~UINT64_C(0));
	while (!(at >> CP_CFI_PC_BITS) && n < max && n < CP_TAIL_CACHE_DEPTH) {
		uint32_t rule = cp_rules_find(at);

		if (!rule)
			break;
		m->new_frames[n] = q;
		m->new_rules[n++] = rule;
		if (cp_rule_is_outermost(rule))
			return keep_frames(m, 0, n);
		if (!cp_rule_step(rule, &q, &stack))
			break;
		if (!q.pc)
			return keep_frames(m, 0, n);
		kept = join_kept(m, &q, &top, &stack);
		if (kept)
			return kept + n <= max ? keep_frames(m, kept, n) : 0;
		at = q.pc - 1;
	}
	return 0;
}

unsigned cp_tail_cache_walk(struct cp_tail_cache *m, const struct cp_unwind_input *in,
			    uint64_t epoch, unsigned max)
{
	unsigned n;

	if (m->epoch != epoch) {
		m->epoch = epoch;
		m->count = 0;
		m->entry = NULL;
	}
	n = walk_to_kept(m, in, max);
	if (!n) {
		m->count = 0;
		m->entry = NULL;
	}
	return n;
}
