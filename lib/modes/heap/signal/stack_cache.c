/* SPDX-License-Identifier: BSD-3-Clause */
/* A cache of stack walks; see stack_cache.h. */
#include "modes/heap/signal/stack_cache.h"

/* A place that was filled in vain this often is filled more rarely. */
#define PATIENCE 4u
#define SELDOM 16u

static bool is_worth_it(struct cp_stack_cache *r, const struct cp_rule_frame *from)
{
	if (r->from.sp != from->sp || r->from.pc != from->pc) {
		r->vain = 0;
		return false;
	}
	return r->vain++ < PATIENCE || r->vain % SELDOM == 0;
}

/* List the words of the outermost DEPTH frames. Returns false if they aren't all within STACK, or
 * are too many. */
static bool list_words(struct cp_stack_cache *r, const struct cp_tail_cache *m, unsigned depth,
		       const struct cp_stackmem *stack)
{
	static const struct cp_rule_frame end;
	static const cp_stackmem_word never;
	unsigned needed = 0, n = 0;

	r->low = UINT64_MAX;
	r->high = 0;
	/* From the outermost frame inwards: then the registers that a frame must pass on are known
	 * at its turn. */
	for (uint32_t i = 0; i < depth; i++) {
		unsigned more;

		if (cp_rule_is_outermost(m->rules[i]))
			continue;
		if (n + CP_RULE_WORDS > CP_STACK_CACHE_WORDS)
			return false;
		more = cp_rule_words(m->rules[i], &m->frames[i], i ? &m->frames[i - 1] : &end,
				     &needed, r->words + n);
		if (!more)
			return false;
		for (; more; more--, n++) {
			uint64_t at = r->words[n].at;

			if (at - stack->direct_low >= stack->direct_size ||
			    !cp_rule_word_take(&r->words[n]))
				return false;
			r->low = at < r->low ? at : r->low;
			r->high = at + sizeof(uint64_t) > r->high ? at + sizeof(uint64_t) : r->high;
		}
	}
	r->words[n] = (struct cp_rule_word){ (uintptr_t)&never, 1 };
	r->count = (uint16_t)n;
	r->needed = (uint16_t)needed;
	return n != 0;
}

static void keep_stack(struct cp_stack_cache *r, const struct cp_tail_cache *m,
		       const struct cp_rule_frame *from, unsigned depth,
		       const struct cp_unwind_input *in, struct cp_stack_depot_entry *e)
{
	struct cp_stackmem stack;
	bool worth = is_worth_it(r, from);

	r->entry = NULL;
	r->from = *from;
	if (!worth)
		return;
	cp_stackmem_init(&stack, from->sp, in->stack_low, in->stack_high);
	if (list_words(r, m, depth, &stack))
		r->entry = e;
}

void cp_stack_cache_keep(struct cp_stack_cache *r, const struct cp_tail_cache *m,
			 const struct cp_unwind_input *in, struct cp_stack_depot_entry *e)
{
	struct cp_rule_frame from;

	cp_rule_load(&from, &in->regs, ~UINT64_C(0));
	keep_stack(r, m, &from, m->count, in, e);
}

void cp_stack_cache_keep_call(struct cp_stack_cache *r, const struct cp_tail_cache *m,
			      const struct cp_unwind_input *in, const struct cp_call *call,
			      unsigned depth, struct cp_stack_depot_entry *e)
{
	const struct cp_rule_frame *from = &m->frames[depth - 1];

	/* Otherwise it is unknown where libcprof's own frames end. */
	if (from->sp == call->sp && from->pc == call->pc)
		keep_stack(r, m, from, depth, in, e);
}
