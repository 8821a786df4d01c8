/* SPDX-License-Identifier: BSD-3-Clause */
/* The data that every malloc and free reads: is this allocation sampled, may this address be a
 * sampled block? Each test takes a few instructions. Nearly all calls end here and are forwarded.
 *
 * How free recognizes a sampled block without touching memory of the program:
 *
 *   filter  interval >= 64 K: a table of counters, indexed by a hash of the address, of the sampled
 *           blocks. A count of 0 means that the address is not a sampled block.
 *   table   below 64 K: all addresses are looked up in the table of live blocks.
 *
 * Sampled blocks are the allocator's own answers to the program's own requests, so a sampled block
 * has the size, alignment and place that it would have without libcprof.
 *
 * Lock-free, async-signal-safe. A block is in the filter before the program has its address, and
 * until it is out of the table of live blocks.
 */
#ifndef CP_HEAP_HOT_H
#define CP_HEAP_HOT_H

#include "base/arch.h"
#include "sample/thread.h"

/* From this interval on, sampled blocks are in the filter. Below, they would fill it. */
#define CP_HEAP_FILTER_INTERVAL (UINT64_C(64) << 10)

enum cp_heap_state { CP_HEAP_UNKNOWN, CP_HEAP_OFF, CP_HEAP_ON };

/* NONE: the mode was never on, so no block is in the filter. */
enum cp_heap_look { CP_HEAP_LOOK_ALL, CP_HEAP_LOOK_FILTER, CP_HEAP_LOOK_NONE };

/* One cache line. All zero means that the allocator isn't known yet, so every call takes the slow
 * path. */
struct cp_heap_hot {
	uint32_t state; /* enum cp_heap_state */
	uint8_t look;	/* enum cp_heap_look: which addresses free looks up */
	uint8_t all;	/* on, and every allocation is sampled */
	uint8_t counts; /* on, with an interval: threads count down to their next sample */
	void *(*malloc)(size_t);
	void (*free)(void *);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	size_t (*usable_size)(void *); /* NULL if the allocator has no such function */
	uint8_t cxx;		       /* operator new and delete call malloc and free; see new.c */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct cp_heap_hot) == 64, "one line");
extern struct cp_heap_hot cp_heap_hot __attribute__((visibility("hidden")));

/* 64 KiB stay in the CPU's second cache, and at 512K a heap of 3 GiB has samples for a tenth of the
 * counters. */
#define CP_HEAP_FILTER_BITS 16

struct cp_heap_filter {
	uint8_t count[1 << CP_HEAP_FILTER_BITS];
} __attribute__((aligned(64)));
extern struct cp_heap_filter cp_heap_filter __attribute__((visibility("hidden")));

#define cp_likely(x) __builtin_expect(!!(x), 1)
#define cp_unlikely(x) __builtin_expect(!!(x), 0)

/* Is an allocation of SIZE sampled? Also returns true while the allocator is unknown: then call
 * begin. */
static inline __attribute__((always_inline)) bool cp_heap_takes(size_t size)
{
	uint64_t left;

	/* When all allocations are sampled, LEFT may be a remnant of another run and says nothing.
	 * When the mode is off, this test is the only jump that a call pays for. */
	if (cp_unlikely(!cp_heap_hot.counts))
		return cp_unlikely(cp_heap_hot.state != CP_HEAP_OFF);
	left = cp_self.heap.left;
	/* Don't subtract in place and restore: a handler in between would see the wrapped
	 * difference as a large value, and would not sample its own allocations. */
	if (cp_unlikely(cp_sub_uses_up(&left, size)))
		return true;
	cp_self.heap.left = left;
	return false;
}

/* Sets the bytes until the next sample, which are not bytes that were allocated. */
static inline void cp_heap_hot_set_left(struct cp_heap_self *h, uint64_t left)
{
	h->counted += left - h->left;
	h->left = left;
}

/* Returns how many bytes the thread of H has allocated while the mode was on, plus a constant. On
 * that thread. */
static inline uint64_t cp_heap_hot_allocated(const struct cp_heap_self *h)
{
	return h->counted - h->left + h->room_before - h->room;
}

static inline __attribute__((always_inline)) uint8_t *cp_heap_filter_cell(uintptr_t a)
{
	/* Fibonacci hashing: the upper bits depend on all address bits that differ. */
	uint64_t hash = (uint64_t)a * UINT64_C(0x9e3779b97f4a7c15);

	return &cp_heap_filter.count[hash >> (64 - CP_HEAP_FILTER_BITS)];
}

/* May ADDRESS be a sampled block, or a block that was allocated before the allocator was known? */
static inline __attribute__((always_inline)) bool cp_heap_looks(const void *address)
{
	/* Relaxed: the thread that frees a block got it from the thread that allocated it. */
	uint8_t look = cp_load_relaxed(&cp_heap_hot.look);

	if (cp_likely(look == CP_HEAP_LOOK_FILTER))
		return cp_unlikely(cp_load_relaxed(cp_heap_filter_cell((uintptr_t)address)));
	return look == CP_HEAP_LOOK_ALL;
}

/* Add a block that free must look up, and remove it again. Each block has its own pair of calls. If
 * remove is missing, free looks the address up in vain. */
void cp_heap_hot_filter_add(uintptr_t address);
void cp_heap_hot_filter_remove(uintptr_t address);

/* Set which addresses free looks up from here on. Call before the first block is sampled. NONE
 * becomes FILTER when a block is added to the filter. */
void cp_heap_hot_look(enum cp_heap_look look);

#endif
