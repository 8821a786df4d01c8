/* Where every allocation is a sample; see heap_exact.h. */
#include "sigsafe/heap_exact.h"

#include "sigsafe/arch.h"
#include "sigsafe/depot.h"
#include "sigsafe/gate.h"
#include "sigsafe/heap_event.h"
#include "sigsafe/heap_stack.h"
#include "sigsafe/live_hot.h"
#include "sigsafe/poisson.h"
#include "sigsafe/replay.h"
#include "sigsafe/timing.h"

/* The entry of the stack that begins with REGS, where a walk from there would be the one that was
 * made last; NULL: it must be made. */
static inline struct cp_depot_entry *find(struct cp_scratch *own, const struct cp_regs *regs,
					  uintptr_t caller)
{
	struct cp_replay *r = cp_replay_at(own->replays, regs, caller);
	struct cp_depot_entry *e = r->entry;

	/* While a module goes, what is kept may be of that one. */
	if (cp_unlikely(!e || !cp_gate_is_open() || !cp_replay_is_of(r, regs)))
		return NULL;
	r->vain = 0;
	return cp_likely(cp_depot_is_found(e)) ? e : NULL;
}

/* In a frame of its own, for the registers' sake, or as part of its caller's. */
static inline void commit(struct cp_live_generation *g, struct cp_heap_self *h, uintptr_t a,
			  size_t size, void *caller)
{
	uint64_t first = cp_live_first(g, a);
	struct cp_depot_entry *e;
	struct cp_unwind_input in;

	__builtin_prefetch(&g->buckets[first], 1);
	cp_regs_here(&in.regs);
	/* A handler's own allocations may replace what is compared here. */
	h->busy = 1;
	cp_signal_fence();
	e = find(h->own, &in.regs, (uintptr_t)caller);
	cp_signal_fence();
	h->busy = 0;
	if (cp_unlikely(!e || size >= CP_LIVE_SIZE_MAX ||
			!cp_live_put(g, first, a, cp_live_pack(size, e->id)))) {
		cp_heap_event_record((void *)a, size, caller, &in);
		return;
	}
	cp_depot_allocated_own(e, CP_POISSON_ONE, size);
	cp_heap_event_sum_up(size, 0);
}

static __attribute__((noinline)) void *commit_timed(void *p, size_t size, void *caller)
{
	uint64_t began = cp_timing_begin();

	cp_self.heap.untimed = CP_HEAP_TIMED;
	cp_heap_exact_commit(p, size, caller);
	cp_timing_end(CP_MODE_HEAP, began);
	return p;
}

__attribute__((noinline, aligned(64))) void *cp_heap_exact_commit(void *p, size_t size,
								  void *caller)
{
	struct cp_live_generation *g = cp_load_acquire(&cp_live_newest);
	struct cp_heap_self *h = &cp_self.heap;

	if (cp_unlikely(!p))
		return NULL;
	/* A handler may have changed that since it was asked. */
	if (cp_unlikely(!h->own))
		return cp_heap_event_commit_all(p, size, caller);
	if (cp_unlikely(!h->untimed))
		return commit_timed(p, size, caller);
	h->untimed--;
	commit(g, h, (uintptr_t)p, size, caller);
	return p;
}
