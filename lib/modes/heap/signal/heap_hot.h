/* SPDX-License-Identifier: BSD-3-Clause */
/* The data that every malloc and free reads: is this allocation sampled, may this address be a
 * sampled block? Each test takes a few instructions. Nearly all calls end here and are forwarded.
 *
 * How free recognizes a sampled block without touching memory:
 *
 *   tag     interval >= 64 K: sampled blocks are aligned to 2 KiB, so one test excludes most
 *           addresses. The remaining addresses are looked up in a filter: a table of counters,
 *           indexed by a hash of the address, of the sampled blocks. A count of 0 means that the
 *           address is not a sampled block. With glibc only the smallest sizes have a tag:
 *           cp_allocator_tags.
 *   odd     while there are sampled blocks that could not be aligned: only those bits are tested
 *           that are 0 in all of these blocks, too (glibc puts large blocks 16 bytes after a
 *           page's start)
 *   table   below 64 K: blocks keep the alignment of the allocator; all are looked up
 *
 * Lock-free, async-signal-safe. A block is in the filter before the program has its address, and
 * until it is out of the table of live blocks.
 */
#ifndef CP_HEAP_HOT_H
#define CP_HEAP_HOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arch.h"
#include "base/atomic.h"
#include "sample/thread.h"

/* The tag: an alignment of this many bytes. Few other blocks have it, and little memory is wasted,
 * because allocators give a block of the next power of two. */
#define CP_HEAP_TAG_BITS 11
#define CP_HEAP_TAG_ALIGN ((uintptr_t)1 << CP_HEAP_TAG_BITS)
/* Below this size, glibc's per-thread cache would hand out a freed, aligned chunk again for small
 * requests. */
#define CP_HEAP_TAG_MIN ((size_t)1040)
/* From this size on, aligning a block costs more than remembering that it isn't aligned: clearing
 * or copying the block by hand would touch pages that the allocator gets from the kernel. */
#define CP_HEAP_LARGE ((size_t)128 << 10)
#define CP_HEAP_TAG_INTERVAL (UINT64_C(64) << 10)

enum cp_heap_state { CP_HEAP_UNKNOWN, CP_HEAP_OFF, CP_HEAP_ON };

/* Changed as one word, so that no thread restores a mask that excludes another thread's block. */
union cp_heap_look {
	uint64_t word;
	struct {
		uint16_t mask;	   /* free looks when (address & mask) == 0: BASE & ~ODD_BITS */
		uint16_t base;	   /* the mask while no block is odd */
		uint16_t odd_bits; /* bits that were set in some odd block since there last were
				      none */
		uint16_t odd; /* number of odd blocks; at the maximum the number is unknown, and
				 stays so */
	};
};

/* One cache line. All zero means that the allocator isn't known yet, so every call takes the slow
 * path. */
struct cp_heap_hot {
	uint32_t state;	  /* enum cp_heap_state */
	uint8_t filtered; /* free looks up only addresses that are in the filter */
	uint8_t tags;	  /* samples are allocated with a tag */
	uint8_t all;	  /* on, and every allocation is sampled */
	uint8_t counts; /* on, but not every allocation is sampled: threads count down to their next
			   sample */
	union cp_heap_look look;
	void *(*malloc)(size_t);
	void (*free)(void *);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	size_t (*usable_size)(void *); /* NULL if the allocator has no such function */
	uint8_t cxx; /* operator new and delete are malloc and free: lib/modes/heap/hooks/new.c */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct cp_heap_hot) == 64, "one line");
extern struct cp_heap_hot cp_heap_hot __attribute__((visibility("hidden")));

/* While there are odd blocks, every address may be looked up. 64 KiB stay in the CPU's second
 * cache, and at 512K a heap of 3 GiB has samples for a tenth of the counters. */
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

/* Has a sampled block at ADDRESS no tag? Then it is as large as its allocator made it. */
static inline bool cp_heap_hot_is_odd(uintptr_t address)
{
	return address & (CP_HEAP_TAG_ALIGN - 1);
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
	uintptr_t a = (uintptr_t)address;

	/* Relaxed: the thread that frees a block got it from the thread that allocated it. */
	if (cp_likely(cp_has_any_bit(&cp_heap_hot.look.mask, (uint16_t)a)))
		return false;
	return !cp_heap_hot.filtered || cp_unlikely(cp_load_relaxed(cp_heap_filter_cell(a)));
}

/* Add a block that free must look up, tagged or not, and remove it again. Each block has its own
 * pair of calls. If remove is missing, free looks the address up in vain. */
void cp_heap_hot_filter_add(uintptr_t address);
void cp_heap_hot_filter_remove(uintptr_t address);

/* Set what free looks up from here on: with TAGS, addresses in the filter; else all addresses. Call
 * before the first block is sampled. */
void cp_heap_hot_look(bool all, bool tags);
/* Look up as little as possible: nothing is sampled any more. */
void cp_heap_hot_rest(void);

static inline bool cp_heap_hot_tags(void)
{
	return cp_heap_hot.tags;
}
/* Returns true if tags were ever in use, so that blocks may be larger than the program believes. */
bool cp_heap_hot_tagged(void);

#endif
