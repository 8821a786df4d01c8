/* The event half of the heap source: what runs inside malloc and free.
 *
 * The interposed functions (preload/malloc.c, new.c, jemalloc.c) ask cp_heap_takes and
 * cp_heap_looks, which are a few instructions; nearly all calls end there and are forwarded. A
 * sampled allocation is
 *
 *     begin → the allocator's own function → commit   (nobody else knows its address before)
 *
 * and a free of a sampled block is cp_heap_event_free → the allocator's own. Lock-free; no
 * allocation but our own pages; may be entered again by a signal handler that allocates.
 *
 * How free knows a sampled block without touching memory:
 *
 *   tag    interval >= 64 K: sampled blocks are aligned to 2 KiB, and those that can't be are in
 *          [low, high); free looks into the table for such addresses only
 *   table  below that: blocks are as the allocator gave them; free always looks
 */
#ifndef CP_HEAP_EVENT_H
#define CP_HEAP_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sigsafe/atomic.h"
#include "sigsafe/live.h"
#include "sigsafe/thread.h"

/* The tag: this many bytes. Few other blocks are aligned so, and little is wasted: allocators give
 * a block of the next power of two. */
#define CP_HEAP_TAG_ALIGN ((uintptr_t)2048)
/* Below this size a freed chunk would come back from glibc's per-thread cache for small requests,
 * aligned as it is. */
#define CP_HEAP_TAG_MIN ((size_t)1040)
/* From here on it is dearer to align a block than to remember that it isn't: clearing or
 * copying it by hand would touch pages that the allocator gets from the kernel. */
#define CP_HEAP_LARGE ((size_t)128 << 10)
#define CP_HEAP_TAG_INTERVAL (UINT64_C(64) << 10)

enum cp_heap_state { CP_HEAP_UNKNOWN, CP_HEAP_OFF, CP_HEAP_ON };

/* What every call reads: one cache line. All zero: the allocator isn't known yet, so everything
 * takes the slow way. */
struct cp_heap_hot {
	uint64_t state;	       /* enum cp_heap_state */
	uintptr_t mask, match; /* free looks when (address & mask) == match, ... */
	uintptr_t low, high;   /* ... or low <= address < high; only ever widened */
	void *(*malloc)(size_t);
	void (*free)(void *);
	void *(*calloc)(size_t, size_t);
} __attribute__((aligned(64)));
extern struct cp_heap_hot cp_heap_hot;

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

struct cp_heap_sample {
	uint64_t interval;
	size_t size;
	uintptr_t caller; /* return address of the interposed function */
};

#define cp_likely(x) __builtin_expect(!!(x), 1)
#define cp_unlikely(x) __builtin_expect(!!(x), 0)

/* Is an allocation of SIZE sampled? true also when nothing is known yet: ask begin. */
static inline __attribute__((always_inline)) bool cp_heap_takes(size_t size)
{
	uint64_t left;

	if (cp_likely(cp_heap_hot.state == CP_HEAP_OFF))
		return false;
	left = cp_self.heap.left;
	if (cp_unlikely(size >= left))
		return true;
	cp_self.heap.left = left - size;
	return false;
}

/* May ADDRESS be a sampled block, or one that was allocated before the allocator was known? */
static inline __attribute__((always_inline)) bool cp_heap_looks(const void *address)
{
	uintptr_t a = (uintptr_t)address;

	return cp_unlikely(((a & cp_heap_hot.mask) == cp_heap_hot.match) |
			   ((a >= cp_heap_hot.low) & (a < cp_heap_hot.high)));
}

/* The decision, and the draw of the next interval. false: don't sample. */
bool cp_heap_event_begin(struct cp_heap_sample *s, size_t size, void *caller);
/* Record P, which the allocator gave for S: the stack of the caller, the counts, the table. P
 * may be NULL: then there was no allocation. Returns P. */
void *cp_heap_event_commit(const struct cp_heap_sample *s, void *p);
/* Sampled blocks are asked for with an alignment that free knows. */
bool cp_heap_event_tags(void);

/* What the program may be told of the size of P, which has USABLE bytes. A sampled block may be
 * much larger than others of its kind: were that seen, the program would treat just those otherwise
 * (redis trims strings with room to spare). */
size_t cp_heap_event_usable(const void *p, size_t usable);

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

/* From here on, free looks at [LOW, HIGH), too. */
void cp_heap_event_widen(uintptr_t low, uintptr_t high);

/* What the calling thread allocates in between is ours, and not sampled. Nests. */
static inline void cp_heap_own_begin(void)
{
	cp_self.heap.guard++;
}

static inline void cp_heap_own_end(void)
{
	cp_self.heap.guard--;
}

/* Add the calling thread's batch to the totals: at its end. */
void cp_heap_event_flush(void);

#endif
