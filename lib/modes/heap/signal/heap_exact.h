/* SPDX-License-Identifier: BSD-3-Clause */
/* The fast path of an allocation, and of its free, when every allocation is a sample
 * (CPROF_HEAP_INTERVAL=1). Nearly all allocations come from a stack that allocated a moment ago, on
 * a thread that has its own buffer, and find a free place in the table. All other allocations take
 * the slow path (heap_event.c), which counts in the same way.
 *
 *   is_on → the allocator's own function → commit
 *
 * Called by lib/modes/heap/hooks; the rules of heap_signal.h apply.
 */
#ifndef CP_HEAP_EXACT_H
#define CP_HEAP_EXACT_H

#include "modes/heap/signal/live_hot.h"

/* Is every allocation of the calling thread sampled, and is no sample under way? */
static inline __attribute__((always_inline)) bool cp_heap_exact_is_on(void)
{
	return cp_heap_hot.all && cp_self.heap.own && !cp_self.heap.not_now;
}

/* Finishes commit when the fast path can't be taken. */
void *cp_heap_exact_rest(void *p, size_t size, uint64_t pc, uint64_t sp, uint64_t fp);

/* Returns the depot entry of the stack that CALL was made on, if a walk from there would repeat the
 * cached walk and the entry is current. Returns NULL if the entry must be looked up. */
static inline __attribute__((always_inline)) struct cp_stack_depot_entry *
cp_heap_exact_find(struct cp_unwind_buffer *own, const struct cp_call *call)
{
	struct cp_stack_cache *r = cp_stack_cache_at(own->replays, call->sp, call->pc);
	struct cp_stack_depot_entry *e;

	/* While a module is going away, the cached walk may lead through that module. */
	if (cp_unlikely(!cp_load_relaxed(&r->entry) || !cp_gate_is_open() ||
			!cp_stack_cache_is_of_call(r, call)))
		return NULL;
	r->vain = 0;
	e = cp_load_relaxed(&r->entry);
	if (!e)
		__builtin_unreachable(); /* checked above */
	return cp_likely(cp_stack_depot_is_current(e)) ? e : NULL;
}

/* Record P of SIZE bytes, which the allocator gave to the function that made CALL. P may be NULL.
 * Call only after is_on returned true. Returns P. */
static inline __attribute__((always_inline)) void *cp_heap_exact_commit(void *p, size_t size,
									struct cp_call call)
{
	struct cp_heap_self *h = &cp_self.heap;
	/* A handler may have changed OWN since is_on, and may change it again. */
	struct cp_unwind_buffer *own = cp_load_relaxed(&h->own);
	struct cp_live_bucket *b;
	struct cp_stack_depot_entry *e;
	uint64_t room;

	if (cp_unlikely(!p || !own))
		return cp_heap_exact_rest(p, size, call.pc, call.sp, call.fp);
	b = cp_live_bucket((uintptr_t)p);
	__builtin_prefetch(b, 1);
	if (cp_unlikely(cp_live_is_in_parts()))
		cp_live_prefetch((uintptr_t)p);
	/* Set BUSY only (the other fields of NOT_NOW are 0): allocations of a handler may
	 * replace the entries that are compared here. */
	h->not_now = 1;
	cp_signal_fence();
	e = cp_heap_exact_find(own, &call);
	cp_signal_fence();
	h->not_now = 0;
	/* Read ROOM once: it must not wrap below zero if a handler allocates meanwhile. ROOM is
	 * less than CP_LIVE_SIZE_MAX. */
	room = h->room;
	if (cp_unlikely(!e || cp_sub_uses_up(&room, size) || cp_live_needs_insert((uintptr_t)p) ||
			!cp_live_put(b, (uintptr_t)p, cp_live_pack(size, e->id))))
		return cp_heap_exact_rest(p, size, call.pc, call.sp, call.fp);
	cp_stack_depot_add_own(&e->allocated, CP_POISSON_ONE, size);
	h->room = room;
	return p;
}

/* Check the conditions anew, because one that OWN relies on (thread.h) has changed. */
static inline void cp_heap_exact_leave(void)
{
	cp_self.heap.own = NULL;
}

/* Call before P goes back to the allocator. Returns true if the free is counted. On false, *WORD is
 * the table's word of P, which was taken out of the table: call free_rest. If *WORD is 0, call
 * cp_heap_event_free instead. */
static inline __attribute__((always_inline)) bool cp_heap_exact_free(void *p, uint64_t *word)
{
	struct cp_heap_self *h = &cp_self.heap;
	struct cp_stack_depot_entry *e;
	uint64_t size, freed;

	*word = 0;
	/* Fetch at once what the table and then the allocator will read. */
	if (cp_unlikely(cp_live_is_in_parts())) {
		__builtin_prefetch((const char *)p - 1);
		cp_live_prefetch((uintptr_t)p);
	}
	if (cp_unlikely(!cp_live_take((uintptr_t)p, word)))
		return false;
	size = cp_live_size(*word);
	e = cp_stack_depot_at(cp_live_id(*word));
	freed = h->freed + size;
	if (cp_unlikely(e->exact != h->shard || !cp_stack_depot_is_current(e) ||
			freed >= CP_HEAP_BATCH))
		return false;
	cp_stack_depot_add_own(&e->freed, CP_POISSON_ONE, size);
	h->freed = freed;
	return true;
}

static inline void cp_heap_exact_free_rest(void *p, uint64_t word)
{
	cp_heap_event_removed((uintptr_t)p, cp_stack_depot_at(cp_live_id(word)),
			      cp_live_size(word));
}

#endif
