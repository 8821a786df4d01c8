/* Walks that needn't be made again: where all is sampled, most allocations come from where one came
 * from a moment ago.
 *
 * What a walk finds depends on the registers that it begins with, on the rules of its program
 * counters, and on the stack words that these read. So a walk is kept as the list of those words,
 * and as long as each holds what it held, the stack is the same. Words that nothing follows from
 * (registers saved that no rule counts from) aren't listed: a word or two a frame remain.
 *
 * Filled from a walk of memo.h; only stacks of plain frames within the thread's own stack. Used by
 * one thread at a time. Who uses it sees to it that no module went away meanwhile.
 */
#ifndef CP_REPLAY_H
#define CP_REPLAY_H

#include <stdint.h>

#include "sigsafe/memo.h"
#include "sigsafe/rules.h"
#include "sigsafe/stackmem.h"
#include "sigsafe/unwind.h"

#define CP_REPLAY_WORDS 123u /* 2 KiB in all */
#define CP_REPLAYS 16u

struct cp_replay {
	struct cp_depot_entry *entry; /* where the walk led to; NULL: nothing is kept */
	struct cp_rule_frame from;
	uint64_t low, high; /* the words lie in [low, high) */
	uint16_t count;
	uint16_t needed; /* registers of FROM that it depends on, besides pc and sp */
	uint32_t vain;	 /* times that it was kept and didn't hold later */
	struct cp_rule_word words[CP_REPLAY_WORDS + 1]; /* COUNT, and one that never holds */
};
_Static_assert(sizeof(struct cp_replay) <= 2048, "as large as is said");

/* The one of R[CP_REPLAYS] for a stack that begins so: return addresses are of any bytes, stacks of
 * multiples of 16. */
static inline struct cp_replay *cp_replay_at(struct cp_replay *r, uint64_t sp, uint64_t caller)
{
	return &r[(sp / 16 + caller) % CP_REPLAYS];
}

CP_STACKMEM_RAW static inline bool cp_replay_holds(const struct cp_replay *r)
{
	const struct cp_rule_word *w = r->words;

	while (*(const cp_stackmem_word *)w->at == w->value)
		w++;
	return w == r->words + r->count;
}

static inline bool cp_replay_begins_so(const struct cp_replay *r, const struct cp_regs *regs)
{
	return r->from.sp == regs->r[CP_REG_SP] && r->from.pc == regs->r[CP_REG_PC];
}

/* Would the walk from REGS be the one that R was kept of? R has an entry, and was kept by a thread
 * with this one's stack. */
static inline bool cp_replay_is_of(const struct cp_replay *r, const struct cp_regs *regs)
{
	return cp_replay_begins_so(r, regs) && cp_rule_has_needed(&r->from, regs, r->needed) &&
	       cp_replay_holds(r);
}

/* The entry, if the walk from IN would lead to it again; else NULL. */
static inline struct cp_depot_entry *cp_replay_find(struct cp_replay *r,
						    const struct cp_unwind_input *in)
{
	if (!r->entry || r->low < in->stack_low || r->high > in->stack_high ||
	    !cp_replay_is_of(r, &in->regs))
		return NULL;
	r->vain = 0;
	return r->entry;
}

/* The same where all that is known is a call: the walk from the caller on. */
static inline bool cp_replay_is_of_call(const struct cp_replay *r, const struct cp_call *call)
{
	return r->from.sp == call->sp && r->from.pc == call->pc &&
	       cp_rule_has_needed_of(&r->from, call, r->needed) && cp_replay_holds(r);
}

static inline struct cp_depot_entry *cp_replay_find_call(struct cp_replay *r,
							 const struct cp_unwind_input *in,
							 const struct cp_call *call)
{
	if (!r->entry || r->low < in->stack_low || r->high > in->stack_high ||
	    !cp_replay_is_of_call(r, call))
		return NULL;
	r->vain = 0;
	return r->entry;
}

/* M's last walk was from IN and led to E. Kept when it is likely to come again. */
void cp_replay_keep(struct cp_replay *r, const struct cp_memo *m, const struct cp_unwind_input *in,
		    struct cp_depot_entry *e);
/* The DEPTH frames of it that are outermost, which begin with CALL's. */
void cp_replay_keep_call(struct cp_replay *r, const struct cp_memo *m,
			 const struct cp_unwind_input *in, const struct cp_call *call,
			 unsigned depth, struct cp_depot_entry *e);

#endif
