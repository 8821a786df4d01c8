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

#include "sigsafe/arch.h"
#include "sigsafe/depot.h"
#include "sigsafe/gate.h"
#include "sigsafe/heap_event.h"
#include "sigsafe/heap_hot.h"
#include "sigsafe/live_hot.h"
#include "sigsafe/poisson.h"
#include "sigsafe/replay.h"
#include "sigsafe/scratch.h"
#include "sigsafe/thread.h"

/* Is every allocation of the calling thread one sample, and none under way? */
static inline __attribute__((always_inline)) bool cp_heap_exact_is_on(void)
{
	return cp_heap_hot.all && cp_self.heap.own && !cp_self.heap.not_now;
}

/* What is left of commit where it isn't the short way. */
void *cp_heap_exact_rest(void *p, size_t size, uint64_t pc, uint64_t sp, uint64_t fp);

/* The entry of the stack that CALL was made on, if a walk from there would be the one that was kept
 * last, and nothing has come between; NULL: it must be looked for. */
static inline __attribute__((always_inline)) struct cp_depot_entry *
cp_heap_exact_find(struct cp_scratch *own, const struct cp_call *call)
{
	struct cp_replay *r = cp_replay_at(own->replays, call->sp, call->pc);
	struct cp_depot_entry *e;

	/* While a module goes, what is kept may be of that one. */
	if (cp_unlikely(!cp_load_relaxed(&r->entry) || !cp_gate_is_open() ||
			!cp_replay_is_of_call(r, call)))
		return NULL;
	r->vain = 0;
	e = cp_load_relaxed(&r->entry);
	if (!e)
		__builtin_unreachable(); /* as it was just seen */
	return cp_likely(cp_depot_is_current(e)) ? e : NULL;
}

/* Record P of SIZE bytes, which the allocator gave to who made CALL; P may be NULL. Returns P.
 * Where is_on said so before. */
static inline __attribute__((always_inline)) void *cp_heap_exact_commit(void *p, size_t size,
									struct cp_call call)
{
	struct cp_heap_self *h = &cp_self.heap;
	/* A handler may have changed what it stands for since it was asked, and may do so again. */
	struct cp_scratch *own = cp_load_relaxed(&h->own);
	struct cp_live_bucket *b;
	struct cp_depot_entry *e;
	uint64_t room;

	if (cp_unlikely(!p || !own))
		return cp_heap_exact_rest(p, size, call.pc, call.sp, call.fp);
	b = cp_live_bucket((uintptr_t)p);
	__builtin_prefetch(b, 1);
	/* BUSY, and that alone: a handler's own allocations may replace what is compared here. */
	h->not_now = 1;
	cp_signal_fence();
	e = cp_heap_exact_find(own, &call);
	cp_signal_fence();
	h->not_now = 0;
	/* Read once: it is not to become less than nothing where a handler allocates meanwhile.
	 * What there is room for is less than CP_LIVE_SIZE_MAX. */
	room = h->room;
	if (cp_unlikely(!e || cp_sub_uses_up(&room, size) ||
			cp_live_may_be_elsewhere((uintptr_t)p) ||
			!cp_live_put(b, (uintptr_t)p, cp_live_pack(size, e->id))))
		return cp_heap_exact_rest(p, size, call.pc, call.sp, call.fp);
	cp_depot_add_own(&e->allocated, CP_POISSON_ONE, size);
	h->room = room;
	return p;
}

/* Something changed that OWN relies on (thread.h); it is looked at anew. */
static inline void cp_heap_exact_leave(void)
{
	cp_self.heap.own = NULL;
}

/* Before P goes back to the allocator. false: it isn't counted. *WORD is the table's, which P is
 * taken out of: for free_rest; or 0: ask cp_heap_event_free. */
static inline __attribute__((always_inline)) bool cp_heap_exact_free(void *p, uint64_t *word)
{
	struct cp_heap_self *h = &cp_self.heap;
	struct cp_depot_entry *e;
	uint64_t size, freed;

	*word = 0;
	if (cp_unlikely(!cp_live_take((uintptr_t)p, word)))
		return false;
	size = cp_live_size(*word);
	e = cp_depot_at(cp_live_id(*word));
	freed = h->freed + size;
	if (cp_unlikely(e->exact != h->shard || !cp_depot_is_current(e) || freed >= CP_HEAP_BATCH))
		return false;
	cp_depot_add_own(&e->freed, CP_POISSON_ONE, size);
	h->freed = freed;
	return true;
}

static inline void cp_heap_exact_free_rest(void *p, uint64_t word)
{
	cp_heap_event_taken((uintptr_t)p, cp_depot_at(cp_live_id(word)), cp_live_size(word));
}

#endif
