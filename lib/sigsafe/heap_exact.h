/* The short way of an allocation where every one is a sample (CPROF_HEAP_INTERVAL=1), and of its
 * free: nearly all come from a stack that one came from a moment ago, on a thread that has a buffer
 * of its own, and have a free place in the table. What isn't so goes the long way (heap_event.c),
 * which counts the same.
 *
 *     is_on → the allocator's own function → commit
 *
 * Called by preload/; as heap_event.h says.
 */
#ifndef CP_HEAP_EXACT_H
#define CP_HEAP_EXACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sigsafe/depot.h"
#include "sigsafe/heap_event.h"
#include "sigsafe/heap_hot.h"
#include "sigsafe/heap_stack.h"
#include "sigsafe/live_hot.h"
#include "sigsafe/poisson.h"
#include "sigsafe/thread.h"

/* Is every allocation of the calling thread one sample, and none under way? */
static inline __attribute__((always_inline)) bool cp_heap_exact_is_on(void)
{
	return cp_heap_hot.all && cp_self.heap.own && !cp_self.heap.not_now;
}

/* Record P of SIZE bytes, which the allocator gave to who called at CALLER; P may be NULL. Returns
 * P. Where is_on said so before. */
void *cp_heap_exact_commit(void *p, size_t size, void *caller);

/* Something changed that OWN relies on (thread.h); it is looked at anew. */
static inline void cp_heap_exact_leave(void)
{
	cp_self.heap.own = NULL;
}

/* Before P goes back to the allocator. false: nothing was done, ask cp_heap_event_free. */
static inline __attribute__((always_inline)) bool cp_heap_exact_free(void *p)
{
	uint64_t word = cp_live_take((uintptr_t)p), size;
	struct cp_depot_entry *e;

	if (cp_unlikely(!word))
		return false;
	size = cp_live_size(word);
	e = cp_depot_at(cp_live_id(word));
	if (cp_unlikely(e->interval != 1 || !cp_heap_stack_is_own(e) || !cp_heap_hot.all ||
			cp_load_relaxed(&e->epoch) <
				cp_load_relaxed(&cp_heap_totals.first_epoch))) {
		cp_heap_event_taken((uintptr_t)p, e, size);
		return true;
	}
	cp_depot_freed_own(e, CP_POISSON_ONE, size);
	cp_heap_event_sum_up(0, size);
	return true;
}

#endif
