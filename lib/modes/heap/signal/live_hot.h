/* SPDX-License-Identifier: BSD-3-Clause */
/* The fast path of the table of live blocks (live.h): a new block whose place is free, and a block
 * that is in its place. live.c does the rest; this file defines its layout.
 *
 * A block's place is a slot of its first bucket. Blocks within 128 bytes that are 32 bytes or more
 * apart each have their own place, so mostly one word decides.
 */
#ifndef CP_LIVE_HOT_H
#define CP_LIVE_HOT_H

#include "modes/heap/signal/heap_signal.h"

#define CP_LIVE_WAYS 4u /* slots of a bucket, which is a cache line */

/* An address is 16-byte aligned (or at least 8-byte: bit 0 is free). The word of a claimed slot is
 * odd. */
#define CP_LIVE_CLAIMED UINT64_C(1)

struct cp_live_bucket {
	uint64_t address[CP_LIVE_WAYS]; /* 0 = empty */
	uint64_t block[CP_LIVE_WAYS];	/* id in the upper 24 bits, size below */
};

/* Buckets that share a byte of TOUCHED: 4 KiB. */
#define CP_LIVE_GROUP 64u

struct cp_live_generation {
	uint64_t shift;	     /* shift that makes a bucket's number of a hash */
	uint64_t salt;	     /* makes addresses that collide in one generation differ in the next */
	uint16_t *elsewhere; /* per bucket: for each kind of address, the number of those that
				belong there but are in another bucket */
	uint64_t *born;	     /* per slot; its pages are touched only if births are kept */
	uint64_t count;	     /* slots */
	uint64_t number;     /* 0 = the first one */
	uint8_t *touched;    /* for each CP_LIVE_GROUP buckets: not 0 once a slot there was used */
	uint64_t pad;
	struct cp_live_bucket buckets[]; /* the buckets begin on a page boundary */
};

/* The generation of the fast path: the newest one or, while births are kept, an empty one whose
 * slots all count as taken. NULL: none yet. Load with acquire: its contents are then set up. */
extern struct cp_live_generation *cp_live_newest __attribute__((visibility("hidden")));
/* Set, for good, once there is a second generation or any count of ELSEWHERE is above 0. */
extern uint32_t cp_live_mixed __attribute__((visibility("hidden")));

/* Blocks this near to each other share their first bucket, so that a program's small blocks take
 * few cache lines. A bucket has one slot for each of glibc's smallest blocks, which take 32 bytes.
 */
#define CP_LIVE_NEAR_BITS 7

/* The bucket where a block is looked up first. The blocks of 8 KiB of memory have neighbouring
 * buckets, a page of the table, so that the table uses half as many pages as the program.
 * Fibonacci hashing spreads these pieces evenly: hardly any two share a place before every place
 * has one. */
#define CP_LIVE_PAGE_BITS 13
#define CP_LIVE_OF_PAGE ((UINT64_C(1) << (CP_LIVE_PAGE_BITS - CP_LIVE_NEAR_BITS)) - 1)

static inline uint64_t cp_live_first(const struct cp_live_generation *g, uint64_t address)
{
	uint64_t page = address >> CP_LIVE_PAGE_BITS ^ g->salt;

	return page * UINT64_C(0x9e3779b97f4a7c15) >> g->shift ^
	       (address >> CP_LIVE_NEAR_BITS & CP_LIVE_OF_PAGE);
}

/* There are four kinds of addresses, by their hash, and a count of four bits for each kind. With
 * one count for all addresses, nearly every look-up in a full generation would have to read the
 * other buckets, too. */
#define CP_LIVE_KIND_MOST 15u

/* Returns the position of ADDRESS's count in the bucket's word of counts, in bits. */
static inline unsigned cp_live_kind(uint64_t address)
{
	return (unsigned)(address * UINT64_C(0xd6e8feb86659fd93) >> 62) * 4;
}

/* May ADDRESS, whose first bucket in G is FIRST, be in another bucket of G? */
static inline bool cp_live_has_elsewhere(const struct cp_live_generation *g, uint64_t first,
					 uint64_t address)
{
	/* Relaxed: the thread that frees a block got its address from the thread that inserted it,
	 * and so sees the count, too. */
	return cp_load_relaxed(&g->elsewhere[first]) >> cp_live_kind(address) & CP_LIVE_KIND_MOST;
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

/* Empty a slot. The block belongs to the caller, and no other thread empties the slot, so a plain
 * store is enough. */
static inline uint64_t cp_live_take_out(struct cp_live_bucket *from, unsigned slot)
{
	uint64_t word = cp_load_relaxed(&from->block[slot]);

	/* Release: the thread that claims the slot next writes its block after this thread has read
	 * the old one. */
	cp_store_release(&from->address[slot], 0);
	return word;
}

/* A slot of B is used for the first time. */
void cp_live_touch(const struct cp_live_bucket *b);

/* Returns false if the slot isn't empty any more. */
static inline bool cp_live_put_in(struct cp_live_bucket *b, unsigned slot, uint64_t address,
				  uint64_t word)
{
	uint64_t none = 0;

	/* Acquire: pairs with the release in take_out. */
	if (!cp_cas_acqrel(&b->address[slot], &none, address | CP_LIVE_CLAIMED))
		return false;
	/* No block's word is 0, and a word stays when its block is removed. */
	if (__builtin_expect(!cp_load_relaxed(&b->block[slot]), 0))
		cp_live_touch(b);
	cp_store_relaxed(&b->block[slot], word);
	/* Release: a thread that finds the address also finds its block. */
	cp_store_release(&b->address[slot], address);
	return true;
}

/* Take ADDRESS out of the table and set *WORD to its word. Returns false if ADDRESS isn't in its
 * place: then call cp_live_remove. */
static inline bool cp_live_take(uint64_t address, uint64_t *word)
{
	struct cp_live_generation *g = cp_load_acquire(&cp_live_newest);
	struct cp_live_bucket *b;
	unsigned slot = cp_live_slot(address);

	/* The program may free NULL, which an empty slot would match. */
	if (__builtin_expect(!g || !address, 0))
		return false;
	b = &g->buckets[cp_live_first(g, address)];
	/* Acquire: pairs with the release in put_in; the block's word is complete. */
	if (__builtin_expect(cp_load_acquire(&b->address[slot]) != address, 0))
		return false;
	*word = cp_live_take_out(b, slot);
	return true;
}

/* Returns the bucket of ADDRESS in the newest generation, which must exist. */
static inline struct cp_live_bucket *cp_live_bucket(uint64_t address)
{
	struct cp_live_generation *g = cp_load_acquire(&cp_live_newest);
	struct cp_live_bucket *b = &g->buckets[cp_live_first(g, address)];

	/* Keep only this pointer in a register. */
	__asm__("" : "+r"(b));
	return b;
}

/* Is there more than one generation to look in? */
static inline bool cp_live_is_in_parts(void)
{
	const struct cp_live_generation *g = cp_load_acquire(&cp_live_newest);

	return g && g->number;
}

/* Must ADDRESS be put in by cp_live_insert? True if ADDRESS may already be in another bucket or
 * generation. If addresses of its bucket are elsewhere, the bucket is crowded, and cp_live_insert
 * may find a better one. */
static inline bool cp_live_needs_insert(uint64_t address)
{
	const struct cp_live_generation *g = cp_load_acquire(&cp_live_newest);

	return cp_load_relaxed(&cp_live_mixed) &&
	       (cp_load_relaxed(&g->elsewhere[cp_live_first(g, address)]) | g->number);
}

/* Put ADDRESS in its place. Its first bucket is B, and it is in no other bucket. Returns false,
 * with nothing done, if the place is taken or the address is already there: then call
 * cp_live_insert. */
static inline bool cp_live_put(struct cp_live_bucket *b, uint64_t address, uint64_t word)
{
	/* The address is hardly ever there, unlike where live.c calls slots_with. */
#pragma GCC unroll 4
	for (unsigned i = 0; i < CP_LIVE_WAYS; i++)
		if (__builtin_expect(cp_load_relaxed(&b->address[i]) == address, 0))
			return false;
	return cp_live_put_in(b, cp_live_slot(address), address, word);
}

#endif
