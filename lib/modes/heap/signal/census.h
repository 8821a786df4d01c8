/* SPDX-License-Identifier: BSD-3-Clause */
/* The page census (CPROF_HEAP_VIEWS=fragmentation): of one page in N, every block that begins or
 * ends on it is known, so what the blocks leave unused of the page is known, too.
 *
 * A page's hash is its number divided by N, plus a random number, modulo 1, in units of 2^-64; the
 * page is watched if its hash is below 1/N. So each page has the same chance, the watched ones lie
 * evenly, about N pages apart, and one comparison finds the watched pages and those before them. N
 * is no whole number, so that no pattern of so many pages is hit always, or never. A block is
 * tracked if its first or its last page is watched; pages between them have no room for others.
 *
 * add: called with a new block, before the program has its address. remove: called before the
 * allocator has the block back. So one thread at a time handles an address. Lock-free,
 * async-signal-safe, in own pages that are never given back. lib/modes/heap/hooks/heap_hooks.h has
 * the callers.
 */
#ifndef CP_CENSUS_H
#define CP_CENSUS_H

#include <stddef.h>

#include "base/arch.h"
#include "base/atomic.h"

/* Blocks begin at multiples of this. */
#define CP_CENSUS_GRAIN 8u

#define CP_CENSUS_FILTER_BITS 12

/* Read by every malloc and free while the census is on. All zero: no page is watched. */
struct cp_census {
	uint64_t factor; /* factor of the hash of a page's number */
	uint64_t after;	 /* the random number, plus BELOW */
	uint64_t twice;	 /* BELOW * 2 */
	/* Blocks that end on a watched page and begin more than a page before it: free finds these
	 * by the filter, which counts them by the hash of their first page. */
	uint64_t far;
	uint64_t below;	    /* pages whose hash is below are watched */
	uint64_t weight;    /* N, in units of 1/CP_CENSUS_ONE */
	uint64_t page_bits; /* a page has 2^page_bits bytes */
} __attribute__((aligned(64)));
extern struct cp_census cp_census __attribute__((visibility("hidden")));
extern uint8_t cp_census_filter[1 << CP_CENSUS_FILTER_BITS] __attribute__((visibility("hidden")));

#define CP_CENSUS_ONE_BITS 16
#define CP_CENSUS_ONE (UINT64_C(1) << CP_CENSUS_ONE_BITS)

/* Returns the size of a page, in bytes. */
static inline __attribute__((always_inline)) uint64_t cp_census_page_size(void)
{
	return UINT64_C(1) << cp_census.page_bits;
}

/* Returns the hash of ADDRESS's page, plus BELOW. */
static inline __attribute__((always_inline)) uint64_t cp_census_hash(uint64_t address)
{
	return (cp_arch_untag(address) >> cp_census.page_bits) * cp_census.factor + cp_census.after;
}

static inline uint8_t *cp_census_cell(uint64_t hash)
{
	return &cp_census_filter[hash >> 16 & ((1 << CP_CENSUS_FILTER_BITS) - 1)];
}

/* May a new block of SIZE bytes at P be one to track? Its page, or the next one, is watched; or the
 * block is large. cp_census_add looks closer. */
static inline __attribute__((always_inline)) bool cp_census_takes(const void *p, size_t size)
{
	return __builtin_expect(cp_census_hash((uintptr_t)p) < cp_census.twice, 0) ||
	       __builtin_expect(size > cp_census_page_size(), 0);
}

/* May P be a tracked block? */
static inline __attribute__((always_inline)) bool cp_census_looks(const void *p)
{
	uint64_t hash = cp_census_hash((uintptr_t)p);

	return __builtin_expect(hash < cp_census.twice, 0) ||
	       (__builtin_expect(cp_load_relaxed(&cp_census.far) != 0, 0) &&
		cp_load_relaxed(cp_census_cell(hash)));
}

/* A block: its size, and its depot entry; ID 0: the stack isn't known. */
struct cp_census_block {
	uint64_t size; /* bytes; larger sizes are cut to 2^40 - 1 */
	uint32_t id;
};

/* Is any part of a block of SIZE bytes at ADDRESS on a watched page? */
bool cp_census_is_on(uint64_t address, uint64_t size);
/* Track B at ADDRESS, if it is on a watched page. A block that is there already was freed without a
 * call of remove: it is counted as such, and replaced. */
void cp_census_add(uint64_t address, const struct cp_census_block *b);
/* Is a block of SIZE bytes or more at ADDRESS already tracked? */
bool cp_census_has(uint64_t address, uint64_t size);
/* Stop tracking the block at ADDRESS. Returns false if there is none; else sets *B. */
bool cp_census_remove(uint64_t address, struct cp_census_block *b);

/* A watched page. A word is 0, or ID << 40 | SIZE. */
struct cp_census_page {
	struct cp_census_page *next; /* next page in its bucket */
	uint64_t number;	     /* address >> page_bits */
	/* The block that begins before the page and ends on it; address 0: none. */
	uint64_t before, before_word;
	/* The blocks that begin on the page: one slot for each place where one may begin. */
	uint64_t blocks[];
};

static inline uint32_t cp_census_id(uint64_t word)
{
	return (uint32_t)(word >> 40);
}

static inline uint64_t cp_census_size(uint64_t word)
{
	return word & ((UINT64_C(1) << 40) - 1);
}

/* Call VISIT for each page that was ever watched; other threads may add and remove blocks
 * meanwhile. */
void cp_census_each(void (*visit)(const struct cp_census_page *page, void *arg), void *arg);

/* Watch one page in about ONE_IN (1: all; 2 to 65536) from now on, and forget all blocks. A page
 * has 2^PAGE_BITS bytes, in all runs of a process. Call while no hook tracks. SEED: random. end: no
 * page is watched any more. */
void cp_census_begin(uint32_t one_in, unsigned page_bits, uint64_t seed);
void cp_census_end(void);

/* Track P of SIZE bytes, if it is on a watched page, with the stack of the caller. P may be NULL.
 * Returns P. Called by the hooks after the allocator. */
void *cp_census_track(void *p, size_t size);
/* The same, unless the block is tracked already: its allocator may have called another hook. */
void *cp_census_track_new(void *p, size_t size);

/* Makes the hooks track, or no longer. Set by the preloaded library before the first run. */
extern void (*cp_census_switch)(bool on);

/* Events since begin that the counts lack. */
struct cp_census_lost {
	uint64_t memory; /* blocks that were not tracked for lack of memory */
	uint64_t unseen; /* blocks whose free was not seen */
};
struct cp_census_lost cp_census_lost(void);
/* Returns the bytes that the census maps. */
uint64_t cp_census_mapped(void);

#endif
