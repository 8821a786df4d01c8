/* The last stack that was walked with a scratch buffer, to shorten the next walk: where all is
 * sampled, one stack mostly ends as the one before did.
 *
 * Frames are kept with the registers that rules read (rules.h), outermost first. A walk that comes
 * to a frame with the very registers of a kept one need not look up any rule from there: it is
 * enough that every kept frame's rule, applied to the memory as it is now, gives the next kept
 * frame. These checks don't wait for each other, as the steps of a walk do. The result is always
 * what the walk itself would have given.
 *
 * Stacks of plain frames only: whatever has no rule in the cache is left to the unwinder. Used by
 * one thread at a time; no lock, no module memory is read.
 */
#ifndef CP_MEMO_H
#define CP_MEMO_H

#include <stdbool.h>
#include <stdint.h>

#include "sigsafe/rules.h"
#include "sigsafe/unwind.h"

#define CP_MEMO_DEPTH 512u

struct cp_depot_entry;

struct cp_memo {
	uint64_t epoch;		      /* another: all is forgotten */
	uint32_t count;		      /* frames kept */
	uint32_t entry_depth;	      /* how many of them, from the outermost, are ENTRY's stack */
	struct cp_depot_entry *entry; /* NULL: not known */
	struct cp_rule_frame frames[CP_MEMO_DEPTH]; /* outermost first */
	uint32_t rules[CP_MEMO_DEPTH];
	uint64_t hashes[CP_MEMO_DEPTH]; /* of the stack up to this frame */
	uint64_t pcs[CP_MEMO_DEPTH];	/* leaf first, the outermost at the very end */
	struct cp_rule_frame new_frames[CP_MEMO_DEPTH]; /* of the walk under way, leaf first */
	uint32_t new_rules[CP_MEMO_DEPTH];
};

/* Walk from IN as cp_unwinder.walk does, to M->pcs: how many frames, complete to the stack's start;
 * 0: not possible, ask the unwinder. MAX as there. */
unsigned cp_memo_walk(struct cp_memo *m, const struct cp_unwind_input *in, uint64_t epoch,
		      unsigned max);

/* The DEPTH frames of the last walk that are outermost: their pcs, leaf first, and their hash. */
static inline const uint64_t *cp_memo_pcs(const struct cp_memo *m, unsigned depth)
{
	return m->pcs + CP_MEMO_DEPTH - depth;
}

static inline uint64_t cp_memo_hash(const struct cp_memo *m, unsigned depth)
{
	return m->hashes[depth - 1];
}

/* The same hash of any stack. */
uint64_t cp_memo_hash_of(const uint64_t *pcs, unsigned depth);

#endif
