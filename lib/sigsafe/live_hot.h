/* The table of live blocks (live.h) where it is asked most: a new block whose place is free, and a
 * block that is in its place. All else is done by live.c, whose layout this is.
 *
 * A block's place is a slot of its first bucket. Blocks that are 32 bytes or more apart, within 128
 * bytes, have each a place of its own, so mostly one word tells.
 */
#ifndef CP_LIVE_HOT_H
#define CP_LIVE_HOT_H

#include <stdbool.h>
#include <stdint.h>

#include "sigsafe/atomic.h"
#include "sigsafe/live.h"

#define CP_LIVE_WAYS 4u /* slots of a bucket, which is a cache line */

/* An address is 16-byte aligned (or at least 8: bit 0 is free). A claimed slot's word is odd. */
#define CP_LIVE_CLAIMED UINT64_C(1)

struct cp_live_bucket {
	uint64_t address[CP_LIVE_WAYS]; /* 0 = empty */
	uint64_t block[CP_LIVE_WAYS];	/* id in the upper 24 bits, size below */
};

struct cp_live_generation {
	uint64_t shift;	    /* of a hash, to get the number of a bucket */
	uint64_t salt;	    /* addresses that collide in one don't in the next */
	uint8_t *elsewhere; /* for each bucket: addresses that belong there and are in another */
	uint64_t count;	    /* slots */
	uint64_t number;    /* 0 = the first one */
	uint64_t pad[3];
	struct cp_live_bucket buckets[]; /* on a cache line's boundary */
};

/* The newest generation; NULL: there is none yet. Acquire: it is set up. */
extern struct cp_live_generation *cp_live_newest __attribute__((visibility("hidden")));
/* It isn't the only one, or ELSEWHERE has told of some: stays so. */
extern uint32_t cp_live_mixed __attribute__((visibility("hidden")));

/* Blocks so near to each other share their first bucket: a program's small blocks then take few
 * cache lines. As many as a bucket has slots, where glibc's smallest take 32 bytes. */
#define CP_LIVE_NEAR_BITS 7

/* Where a block is looked for first. The blocks of a page of memory have buckets side by side, so
 * that the table has no more pages in use than the program; pages come to lie evenly apart
 * (Fibonacci's hashing): hardly two in one place before there is one in each. */
#define CP_LIVE_PAGE_BITS 12
#define CP_LIVE_OF_PAGE ((UINT64_C(1) << (CP_LIVE_PAGE_BITS - CP_LIVE_NEAR_BITS)) - 1)

static inline uint64_t cp_live_first(const struct cp_live_generation *g, uint64_t address)
{
	uint64_t page = address >> CP_LIVE_PAGE_BITS ^ g->salt;

	return page * UINT64_C(0x9e3779b97f4a7c15) >> g->shift ^
	       (address >> CP_LIVE_NEAR_BITS & CP_LIVE_OF_PAGE);
}

static inline unsigned cp_live_slot(uint64_t address)
{
	return address >> (CP_LIVE_NEAR_BITS - 2) & (CP_LIVE_WAYS - 1);
}

static inline uint64_t cp_live_pack(uint64_t size, uint32_t id)
{
	return (uint64_t)id << 40 | size;
}

static inline uint32_t cp_live_id(uint64_t word)
{
	return (uint32_t)(word >> 40);
}

static inline uint64_t cp_live_size(uint64_t word)
{
	return word & (CP_LIVE_SIZE_MAX - 1);
}

/* The block is the caller's, who alone empties the slot: a store will do. */
static inline uint64_t cp_live_take_out(struct cp_live_bucket *from, unsigned slot)
{
	uint64_t word = cp_load_relaxed(&from->block[slot]);

	/* Release: who takes the slot writes its block after we have read ours. */
	cp_store_release(&from->address[slot], 0);
	return word;
}

/* false: it isn't empty any more. */
static inline bool cp_live_put_in(struct cp_live_bucket *b, unsigned slot, uint64_t address,
				  uint64_t word)
{
	uint64_t none = 0;

	/* Acquire: pairs with the release in take_out. */
	if (!cp_cas_acqrel(&b->address[slot], &none, address | CP_LIVE_CLAIMED))
		return false;
	cp_store_relaxed(&b->block[slot], word);
	/* Release: who finds the address finds its block. */
	cp_store_release(&b->address[slot], address);
	return true;
}

/* false: ADDRESS isn't in its place: ask cp_live_remove. Else it is taken out, *WORD was its word.
 */
static inline bool cp_live_take(uint64_t address, uint64_t *word)
{
	struct cp_live_generation *g = cp_load_acquire(&cp_live_newest);
	struct cp_live_bucket *b;
	unsigned slot = cp_live_slot(address);

	/* NULL is freed, too, and would be found in an empty slot. */
	if (__builtin_expect(!g || !address, 0))
		return false;
	b = &g->buckets[cp_live_first(g, address)];
	/* Acquire: pairs with the release in put_in; the block behind it is whole. */
	if (__builtin_expect(cp_load_acquire(&b->address[slot]) != address, 0))
		return false;
	*word = cp_live_take_out(b, slot);
	return true;
}

/* The bucket of ADDRESS in the newest generation; there is one. */
static inline struct cp_live_bucket *cp_live_bucket(uint64_t address)
{
	struct cp_live_generation *g = cp_load_acquire(&cp_live_newest);
	struct cp_live_bucket *b = &g->buckets[cp_live_first(g, address)];

	/* The one pointer is all that need be kept. */
	__asm__("" : "+r"(b));
	return b;
}

/* May ADDRESS be in another one? */
static inline bool cp_live_may_be_elsewhere(uint64_t address)
{
	const struct cp_live_generation *g = cp_load_acquire(&cp_live_newest);

	return cp_load_relaxed(&cp_live_mixed) &&
	       (cp_load_relaxed(&g->elsewhere[cp_live_first(g, address)]) | g->number);
}

/* Put ADDRESS, whose bucket is B, and which is in no other one, in its place. false: nothing was
 * done, ask cp_live_insert: the place is taken, or the address is there. */
static inline bool cp_live_put(struct cp_live_bucket *b, uint64_t address, uint64_t word)
{
	/* Hardly ever so, unlike where slots_with is asked (live.c). */
#pragma GCC unroll 4
	for (unsigned i = 0; i < CP_LIVE_WAYS; i++)
		if (__builtin_expect(cp_load_relaxed(&b->address[i]) == address, 0))
			return false;
	return cp_live_put_in(b, cp_live_slot(address), address, word);
}

#endif
