/* SPDX-License-Identifier: BSD-3-Clause */
/* A cache of stack walks. When every allocation is sampled, most allocations come from a stack that
 * allocated a moment ago, and the walk needn't be made again.
 *
 * The result of a walk depends on the registers at its start, on the rules of its program counters,
 * and on the stack words that these rules read. So a walk is kept as the list of those words. As
 * long as every word has the same value, the stack is the same. Words on which nothing depends
 * (saved registers that no rule counts from) aren't listed, so one or two words per frame remain.
 *
 * The cache is filled from a walk of tail_cache.h, and only with stacks of plain frames within the
 * thread's own stack. One thread at a time uses a cache. The caller must make sure that no module
 * went away meanwhile.
 */
#ifndef CP_STACK_CACHE_H
#define CP_STACK_CACHE_H

#include <stdint.h>

#include "modes/heap/signal/tail_cache.h"
#include "unwind/signal/rules.h"
#include "sample/stackmem.h"
#include "sample/unwinder.h"

#define CP_STACK_CACHE_WORDS 1019u /* 16 KiB in all, of which short stacks touch one page */
#define CP_REPLAYS 16u

struct cp_stack_cache {
	struct cp_stack_depot_entry *entry; /* result of the walk; NULL: this place is empty */
	struct cp_rule_frame from;
	uint64_t low, high; /* the words lie in [low, high) */
	uint16_t count;
	uint16_t needed; /* registers of FROM, besides pc and sp, that the walk depends on */
	uint32_t vain;	 /* how often a walk was kept here and did not match later */
	struct cp_rule_word
		words[CP_STACK_CACHE_WORDS + 1]; /* COUNT words, and one that never matches */
};
_Static_assert(sizeof(struct cp_stack_cache) <= 16384, "as large as is said");

/* Returns the place in R[CP_REPLAYS] for a stack that begins with SP and CALLER. Return addresses
 * may be any number; stack pointers are multiples of 16. */
static inline struct cp_stack_cache *cp_stack_cache_at(struct cp_stack_cache *r, uint64_t sp,
						       uint64_t caller)
{
	return &r[(sp / 16 + caller) % CP_REPLAYS];
}

CP_STACKMEM_RAW static inline bool cp_stack_cache_holds(const struct cp_stack_cache *r)
{
	const struct cp_rule_word *w = r->words;

	while (*(const cp_stackmem_word *)w->at == w->value)
		w++;
	return w == r->words + r->count;
}

static inline bool cp_stack_cache_begins_so(const struct cp_stack_cache *r,
					    const struct cp_regs *regs)
{
	return r->from.sp == regs->r[CP_REG_SP] && r->from.pc == regs->r[CP_REG_PC];
}

/* Would the walk from REGS repeat the walk that R holds? R must have an entry and must have been
 * filled by a thread with the same stack. */
static inline bool cp_stack_cache_is_of(const struct cp_stack_cache *r, const struct cp_regs *regs)
{
	return cp_stack_cache_begins_so(r, regs) && cp_rule_has_needed(&r->from, regs, r->needed) &&
	       cp_stack_cache_holds(r);
}

/* Returns the entry if the walk from IN would lead to it again; else NULL. */
static inline struct cp_stack_depot_entry *cp_stack_cache_find(struct cp_stack_cache *r,
							       const struct cp_unwind_input *in)
{
	if (!r->entry || r->low < in->stack_low || r->high > in->stack_high ||
	    !cp_stack_cache_is_of(r, &in->regs))
		return NULL;
	r->vain = 0;
	return r->entry;
}

/* The same if only a call is known: the walk begins at the caller. */
static inline bool cp_stack_cache_is_of_call(const struct cp_stack_cache *r,
					     const struct cp_call *call)
{
	return r->from.sp == call->sp && r->from.pc == call->pc &&
	       cp_rule_has_needed_of(&r->from, call, r->needed) && cp_stack_cache_holds(r);
}

static inline struct cp_stack_depot_entry *
cp_stack_cache_find_call(struct cp_stack_cache *r, const struct cp_unwind_input *in,
			 const struct cp_call *call)
{
	if (!r->entry || r->low < in->stack_low || r->high > in->stack_high ||
	    !cp_stack_cache_is_of_call(r, call))
		return NULL;
	r->vain = 0;
	return r->entry;
}

/* Keep M's last walk, which started from IN and led to E, if it is likely to be repeated. */
void cp_stack_cache_keep(struct cp_stack_cache *r, const struct cp_tail_cache *m,
			 const struct cp_unwind_input *in, struct cp_stack_depot_entry *e);
/* Keep the outermost DEPTH frames of M's last walk, which begin with CALL's frame. */
void cp_stack_cache_keep_call(struct cp_stack_cache *r, const struct cp_tail_cache *m,
			      const struct cp_unwind_input *in, const struct cp_call *call,
			      unsigned depth, struct cp_stack_depot_entry *e);

#endif
