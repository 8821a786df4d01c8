/* The event half of the heap source: what runs inside malloc and free.
 *
 * The interposed functions (preload/malloc.c, new.c, jemalloc.c) ask cp_heap_takes and
 * cp_heap_looks (heap_hot.h); nearly all calls end there and are forwarded. A sampled allocation is
 *
 *     begin → the allocator's own function → commit   (nobody else knows its address before)
 *
 * and a free of a sampled block is cp_heap_event_free → the allocator's own. Lock-free; no
 * allocation but our own pages; may be entered again by a signal handler that allocates.
 */
#ifndef CP_HEAP_EVENT_H
#define CP_HEAP_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sigsafe/atomic.h"
#include "sigsafe/heap_hot.h"
#include "sigsafe/live.h"
#include "sigsafe/thread.h"

/* The sampler's state and bounds; set by the control half, totals by all. */
struct cp_heap_totals {
	uint64_t interval; /* mean bytes between samples; 1 = every allocation */
	uint64_t seed;
	uint64_t threads;	   /* random states handed out */
	uint32_t first_epoch;	   /* of the depot, that belongs to this run */
	uint64_t allocated, freed; /* estimated bytes since the start, in batches */
	uint64_t peak;		   /* the most that was in use when it was last looked */
	uint64_t next_allocated, next_freed, next_in_use; /* a dump is due; UINT64_MAX = never */
	uint64_t allocated_step, freed_step, in_use_step;
	void (*dump)(void); /* asks for a dump, in the event's context */
};
extern struct cp_heap_totals cp_heap_totals;

/* A thread adds to the shared totals in batches of this many bytes; they serve the peak and the
 * dumps by amount, which need no more precision. */
#define CP_HEAP_BATCH (UINT64_C(32) << 10)
/* Of frequent samples one in so many is timed. */
#define CP_HEAP_TIMED 64u

struct cp_heap_sample {
	uint64_t interval;
	size_t size;
	uintptr_t caller;	    /* return address of the interposed function */
	const struct cp_call *call; /* that, and the caller's registers; NULL: not known */
};

/* The decision, and the draw of the next interval. false: don't sample. */
bool cp_heap_event_begin(struct cp_heap_sample *s, size_t size, void *caller);
/* Record P, which the allocator gave for S: the stack of the caller, the counts, the table. P
 * may be NULL: then there was no allocation. Returns P. */
void *cp_heap_event_commit(const struct cp_heap_sample *s, void *p);

/* What the program may be told of the size of P, which has USABLE bytes. A sampled block may be
 * much larger than others of its kind: were that seen, the program would treat just those otherwise
 * (redis trims strings with room to spare). */
size_t cp_heap_event_usable(const void *p, size_t usable);
/* Of one that has room for it, of SIZE bytes. */
static inline size_t cp_heap_event_told(size_t size)
{
	return (size + 15) & ~(size_t)15;
}

/* Before P goes back to the allocator. true: it was a sampled block. */
bool cp_heap_event_free(void *p);
/* The same; false: it is as large as the program says. (Where free looks and there are tags, one
 * that could not be kept looks like any other.) */
bool cp_heap_event_free_sized(void *p);

/* The same in two steps, for calls that may fail: take P out of the table, then either count it
 * as freed or put it back. */
bool cp_heap_event_untrack(void *p, struct cp_live_block *b);
void cp_heap_event_untracked_freed(const struct cp_live_block *b);
void cp_heap_event_retrack(void *p, const struct cp_live_block *b);

/* The entry of the calling thread's stack as that of a mapping; NULL: no memory, or the heap mode
 * is off. */
struct cp_depot_entry *cp_heap_event_mapping(void *caller);

/* What the calling thread allocates in between is ours, and not sampled. Nests. */
static inline void cp_heap_own_begin(void)
{
	cp_self.heap.guard++;
}

static inline void cp_heap_own_end(void)
{
	cp_self.heap.guard--;
}

/* For heap_exact.h: P of SIZE bytes, asked for at CALLER, as one sample; the same with the
 * registers in IN, where the thread isn't paused; and what is left of a free, when the block at
 * address A is out of the table. */
struct cp_unwind_input;
struct cp_depot_entry;
void *cp_heap_event_commit_all(void *p, size_t size, void *caller);
void cp_heap_event_record(void *p, size_t size, const struct cp_call *call,
			  struct cp_unwind_input *in);
void cp_heap_event_taken(uintptr_t a, struct cp_depot_entry *e, uint64_t size);

/* Add the calling thread's batch to the totals: at its end. */
void cp_heap_event_flush(void);
/* Leave it out. */
void cp_heap_event_forget(void);
/* Add to the batch. */
static inline void cp_heap_event_sum_up(uint64_t allocated, uint64_t freed)
{
	struct cp_heap_self *h = &cp_self.heap;

	h->allocated += allocated;
	h->freed += freed;
	if (cp_unlikely(h->allocated + h->freed >= CP_HEAP_BATCH))
		cp_heap_event_flush();
}

#endif
