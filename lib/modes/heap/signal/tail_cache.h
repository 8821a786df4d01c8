/* SPDX-License-Identifier: BSD-3-Clause */
/* The last stack that was walked with an unwind buffer, kept to shorten the next walk. When every
 * allocation is sampled, a stack mostly ends as the previous stack did.
 *
 * Frames are kept with the registers that rules read (rules.h), outermost first. When a walk
 * reaches a frame with exactly the registers of a kept frame, it needs no further look-up of rules.
 * It is enough to check that every kept frame's rule, applied to the memory as it is now, gives the
 * next kept frame. These checks don't wait for each other, unlike the steps of a walk. The result
 * is always the same as that of the full walk.
 *
 * Only stacks of plain frames are kept; a frame without a cached rule is left to the unwinder. One
 * thread at a time uses a tail cache. No lock; no module memory is read.
 */
#ifndef CP_TAIL_CACHE_H
#define CP_TAIL_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/signal/rules.h"
#include "sample/unwinder.h"

#define CP_TAIL_CACHE_DEPTH 512u

struct cp_stack_depot_entry;

struct cp_tail_cache {
	uint64_t epoch;	      /* if the epoch differs, the kept frames are dropped */
	uint32_t count;	      /* frames kept */
	uint32_t entry_depth; /* how many of the kept frames, from the outermost, form ENTRY's stack
			       */
	struct cp_stack_depot_entry *entry;		  /* NULL: unknown */
	struct cp_rule_frame frames[CP_TAIL_CACHE_DEPTH]; /* outermost first */
	uint32_t rules[CP_TAIL_CACHE_DEPTH];
	uint64_t hashes[CP_TAIL_CACHE_DEPTH]; /* of the stack up to this frame */
	uint64_t pcs[CP_TAIL_CACHE_DEPTH]; /* leaf first, the outermost at the end of the array */
	struct cp_rule_frame new_frames[CP_TAIL_CACHE_DEPTH]; /* of the current walk, leaf first */
	uint32_t new_rules[CP_TAIL_CACHE_DEPTH];
};

/* Walk from IN as cp_unwinder.walk does, and store the pcs in M->pcs. Returns the number of frames,
 * complete to the stack's start, or 0 if the walk isn't possible: then call the unwinder. MAX as in
 * cp_unwinder.walk. */
unsigned cp_tail_cache_walk(struct cp_tail_cache *m, const struct cp_unwind_input *in,
			    uint64_t epoch, unsigned max);

/* Return the pcs (leaf first) and the hash of the outermost DEPTH frames of the last walk. */
static inline const uint64_t *cp_tail_cache_pcs(const struct cp_tail_cache *m, unsigned depth)
{
	return m->pcs + CP_TAIL_CACHE_DEPTH - depth;
}

static inline uint64_t cp_tail_cache_hash(const struct cp_tail_cache *m, unsigned depth)
{
	return m->hashes[depth - 1];
}

/* Returns the same hash for any stack. */
uint64_t cp_tail_cache_hash_of(const uint64_t *pcs, unsigned depth);

#endif
