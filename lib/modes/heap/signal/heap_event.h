/* SPDX-License-Identifier: BSD-3-Clause */
/* The event half of the heap source: the code that runs inside malloc and free.
 *
 * The interposed functions (lib/modes/heap/hooks/malloc.c, new.c, jemalloc.c) ask cp_heap_takes and
 * cp_heap_looks (heap_hot.h). Nearly all calls end there and are forwarded. A sampled allocation is
 *
 *   begin → the allocator's own function → commit   (no other thread knows the address before)
 *
 * A free of a sampled block is cp_heap_event_free → the allocator's own function. The code is
 * lock-free, allocates only its own pages, and may be entered again by a signal handler that
 * allocates.
 */
#ifndef CP_HEAP_EVENT_H
#define CP_HEAP_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "modes/heap/signal/heap_hot.h"
#include "modes/heap/signal/live.h"
#include "sample/thread.h"

/* The sampler's state and limits. The control half sets them; all threads add to the totals. */
struct cp_heap_totals {
	uint64_t interval; /* mean bytes between samples; 1 = every allocation */
	uint64_t seed;
	uint64_t threads;	   /* random states handed out */
	uint32_t first_epoch;	   /* the first epoch of the depot that belongs to this run */
	bool births;		   /* each live block has the time of its allocation */
	bool lifetimes;		   /* as lifetimes.h has it, and each free is recorded */
	uint64_t allocated, freed; /* estimated bytes since the start, in batches */
	uint64_t peak;		   /* the most that was in use at any check */
	uint64_t next_allocated, next_freed,
		next_in_use; /* a dump is due at these amounts; UINT64_MAX = never */
	uint64_t allocated_step, freed_step, in_use_step;
	void (*dump)(void); /* writes a dump; called inside malloc or free */
	uint64_t dumps;	    /* number of calls of DUMP */
	uint64_t watch_at;  /* WATCH is called while so much is in use; UINT64_MAX = never */
	void (*watch)(void);
};
extern struct cp_heap_totals cp_heap_totals;

/* A thread adds to the shared totals in batches of this many bytes. The peak and the dumps by
 * amount use the totals and need no more precision. */
#define CP_HEAP_BATCH (UINT64_C(32) << 10)
/* When samples are frequent, one in this many is timed. */
#define CP_HEAP_TIMED 64u

struct cp_heap_sample {
	uint64_t interval;
	size_t size;
	uintptr_t caller;	    /* return address of the interposed function */
	const struct cp_call *call; /* return address and registers of the caller; NULL: unknown */
};

/* Decide whether to sample an allocation, and draw the next interval. Returns false if it isn't
 * sampled. */
bool cp_heap_event_begin(struct cp_heap_sample *s, size_t size, void *caller);
/* Record P, which the allocator returned for S: the caller's stack, the counts, the table. P may be
 * NULL, which means that the allocation failed. Returns P. */
void *cp_heap_event_commit(const struct cp_heap_sample *s, void *p);

/* Record P of SIZE bytes, asked for at CALLER, which the allocator itself sampled with INTERVAL. */
void cp_heap_event_commit_other(void *p, size_t size, uint64_t interval, void *caller);

/* Call before P goes back to the allocator. Returns true if P was a sampled block. */
bool cp_heap_event_free(void *p);

/* The same in two steps, for calls that may fail: take P out of the table, then either count P as
 * freed or put it back. */
bool cp_heap_event_untrack(void *p, struct cp_live_block *b);
void cp_heap_event_untracked_freed(const struct cp_live_block *b);
void cp_heap_event_retrack(void *p, const struct cp_live_block *b);

/* Returns the depot entry of the calling thread's stack, as that of a mapping. Returns NULL if
 * there is no memory or the heap mode is off. */
struct cp_stack_depot_entry *cp_heap_event_mapping(void *caller);

/* Parts of a sample and of a free, for heap_exact.h. cp_heap_event_commit_all records P of SIZE
 * bytes, asked for at CALLER, as one sample. cp_heap_event_record does the same with the registers
 * in IN; the thread must not be paused. cp_heap_event_removed finishes a free after the block at
 * address A was taken out of the table. */
struct cp_unwind_input;
struct cp_stack_depot_entry;
void *cp_heap_event_commit_all(void *p, size_t size, void *caller);
void cp_heap_event_record(void *p, size_t size, const struct cp_call *call,
			  struct cp_unwind_input *in);
void cp_heap_event_removed(uintptr_t a, struct cp_stack_depot_entry *e, uint64_t size);

/* Add the calling thread's batch to the totals. Call when the thread ends. */
void cp_heap_event_flush(void);
/* Drop the calling thread's batch. */
void cp_heap_event_forget(void);
/* Add to the calling thread's batch. */
static inline void cp_heap_event_sum_up(uint64_t allocated, uint64_t freed)
{
	struct cp_heap_self *h = &cp_self.heap;

	h->allocated += allocated;
	h->freed += freed;
	if (cp_unlikely(h->allocated + h->freed >= CP_HEAP_BATCH))
		cp_heap_event_flush();
}

#endif
