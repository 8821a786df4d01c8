/* What every malloc and free reads, and nothing else: is this allocation sampled, may this
 * address be a sampled block? A few instructions each; nearly all calls end here and are forwarded.
 *
 * How free knows a sampled block without touching memory:
 *
 *   tag     interval >= 64 K: sampled blocks are aligned to 2 KiB, so most addresses need one test.
 *           Those that look like one are asked of a filter: a table of counters, by a hash of the
 *           address, of how many such blocks there are. What it says no to isn't one.
 *   odd     while there are sampled blocks that could not be aligned: only those bits are tested
 *           that are 0 in all of them, too (glibc maps large blocks 16 bytes behind a page's start)
 *   table   below 64 K: blocks are as the allocator gave them; all are looked up
 *
 * Lock-free, async-signal-safe. A block is in the filter before the program has its address, and
 * until it is out of the table of live blocks.
 */
#ifndef CP_HEAP_HOT_H
#define CP_HEAP_HOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sigsafe/arch.h"
#include "sigsafe/atomic.h"
#include "sigsafe/thread.h"

/* The tag: this many bytes. Few other blocks are aligned so, and little is wasted: allocators give
 * a block of the next power of two. */
#define CP_HEAP_TAG_BITS 11
#define CP_HEAP_TAG_ALIGN ((uintptr_t)1 << CP_HEAP_TAG_BITS)
/* Below this size a freed chunk would come back from glibc's per-thread cache for small requests,
 * aligned as it is. */
#define CP_HEAP_TAG_MIN ((size_t)1040)
/* From here on it is dearer to align a block than to remember that it isn't: clearing or
 * copying it by hand would touch pages that the allocator gets from the kernel. */
#define CP_HEAP_LARGE ((size_t)128 << 10)
#define CP_HEAP_TAG_INTERVAL (UINT64_C(64) << 10)

enum cp_heap_state { CP_HEAP_UNKNOWN, CP_HEAP_OFF, CP_HEAP_ON };

/* Changed as one word: nobody puts back a mask that another thread's block doesn't pass. */
union cp_heap_look {
	uint64_t word;
	struct {
		uint16_t mask;	   /* free looks when (address & mask) == 0: BASE & ~ODD_BITS */
		uint16_t base;	   /* the mask where no block is odd */
		uint16_t odd_bits; /* that some odd block has had since there were none */
		uint16_t odd;	   /* how many there are; the most: nobody knows, stays so */
	};
};

/* One cache line. All zero: the allocator isn't known yet, so everything takes the slow way. */
struct cp_heap_hot {
	uint32_t state;	  /* enum cp_heap_state */
	uint8_t filtered; /* free looks only at what the filter has, too */
	uint8_t tags;	  /* sampled blocks are asked for with a tag */
	uint8_t all;	  /* on, and every allocation is sampled */
	uint8_t counts;	  /* on, and not every one: threads count down to their next samples */
	union cp_heap_look look;
	void *(*malloc)(size_t);
	void (*free)(void *);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	size_t (*usable_size)(void *); /* 0, where the allocator has none */
	uint8_t cxx; /* operator new and delete are malloc and free: preload/new.c */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct cp_heap_hot) == 64, "one line");
extern struct cp_heap_hot cp_heap_hot __attribute__((visibility("hidden")));

/* Those that aren't aligned are few and large, but every address may be asked for: a small table,
 * that stays in the cache. */
#define CP_HEAP_FILTER_TAGGED_BITS 13
#define CP_HEAP_FILTER_ODD_BITS 10

struct cp_heap_filter {
	uint8_t tagged[1 << CP_HEAP_FILTER_TAGGED_BITS];
	uint8_t odd[1 << CP_HEAP_FILTER_ODD_BITS];
} __attribute__((aligned(64)));
extern struct cp_heap_filter cp_heap_filter __attribute__((visibility("hidden")));

#define cp_likely(x) __builtin_expect(!!(x), 1)
#define cp_unlikely(x) __builtin_expect(!!(x), 0)

/* Is an allocation of SIZE sampled? true also when nothing is known yet: ask begin. */
static inline __attribute__((always_inline)) bool cp_heap_takes(size_t size)
{
	uint64_t left;

	/* Where all are, what a thread has left may be of another run, and says nothing. Off, it is
	 * a jump more; so there is none for who pays for more than that. */
	if (cp_unlikely(!cp_heap_hot.counts))
		return cp_unlikely(cp_heap_hot.state != CP_HEAP_OFF);
	left = cp_self.heap.left;
	/* Not subtracted in its place and put back: a handler in between would take the difference
	 * for large, and its own allocations not for samples. */
	if (cp_unlikely(cp_sub_uses_up(&left, size)))
		return true;
	cp_self.heap.left = left;
	return false;
}

static inline __attribute__((always_inline)) uint8_t *cp_heap_filter_cell(uintptr_t a)
{
	/* Fibonacci's: the upper bits depend on all that differ. */
	uint64_t hash = (uint64_t)a * UINT64_C(0x9e3779b97f4a7c15);

	return a & (CP_HEAP_TAG_ALIGN - 1)
		       ? &cp_heap_filter.odd[hash >> (64 - CP_HEAP_FILTER_ODD_BITS)]
		       : &cp_heap_filter.tagged[hash >> (64 - CP_HEAP_FILTER_TAGGED_BITS)];
}

/* May ADDRESS be a sampled block, or one that was allocated before the allocator was known? */
static inline __attribute__((always_inline)) bool cp_heap_looks(const void *address)
{
	uintptr_t a = (uintptr_t)address;

	/* Relaxed: who frees a block got it from who allocated it. */
	if (cp_likely(cp_has_any_bit(&cp_heap_hot.look.mask, (uint16_t)a)))
		return false;
	return !cp_heap_hot.filtered || cp_unlikely(cp_load_relaxed(cp_heap_filter_cell(a)));
}

/* A block that free has to look at, with the tag or without, and the end of it. Each block has its
 * own pair of calls; without the second one, free looks at it in vain. */
void cp_heap_filter_add(uintptr_t address);
void cp_heap_filter_remove(uintptr_t address);

/* What free looks at from here on: with TAGS, at blocks in the filter; else at all. Before the
 * first block is sampled. */
void cp_heap_hot_look(bool all, bool tags);
/* At as little as possible: no more is sampled. */
void cp_heap_hot_rest(void);

static inline bool cp_heap_hot_tags(void)
{
	return cp_heap_hot.tags;
}
/* They were at some time, so blocks may be larger than the program believes. */
bool cp_heap_hot_tagged(void);

#endif
