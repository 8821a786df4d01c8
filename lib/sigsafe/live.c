/* Table of live blocks; see live.h. */
#include "sigsafe/live.h"

#include "sigsafe/atomic.h"
#include "sigsafe/sys.h"

#define WAYS 8u /* slots of a bucket: a cache line of addresses, one of blocks */
#define GENERATIONS 24u
#define FIRST_SLOTS ((size_t)1 << 12)
/* Small ones grow fast, so that there are few; large ones double, which bounds what is unused. */
#define FAST_SLOTS ((size_t)1 << 20)
#define MOST_SLOTS ((size_t)1 << 26) /* 1 GiB, and as much again in the smaller ones */

/* An address is 16-byte aligned (or at least 8: bit 0 is free). A claimed slot's word is odd. */
#define CLAIMED UINT64_C(1)

/* Addresses first: a look-up that finds nothing reads one cache line of each bucket. */
struct bucket {
	uint64_t address[WAYS]; /* 0 = empty */
	uint64_t block[WAYS];	/* id in the upper 24 bits, size below */
};

struct generation {
	uint64_t mask;	/* of buckets */
	uint64_t salt;	/* addresses that collide in one don't in the next */
	uint64_t count; /* slots */
	uint64_t pad[5];
	struct bucket buckets[]; /* on a cache line's boundary */
};

static struct generation *generations[GENERATIONS];
static uint32_t count; /* generations in use */
static size_t first_slots = FIRST_SLOTS;

void cp_live_configure(size_t slots)
{
	if (!cp_load_acquire(&count))
		cp_store_relaxed(&first_slots, slots);
}

static uint64_t pack(const struct cp_live_block *b)
{
	return (uint64_t)b->id << 40 | b->size;
}

static void unpack(uint64_t word, struct cp_live_block *b)
{
	b->id = (uint32_t)(word >> 40);
	b->size = word & (CP_LIVE_SIZE_MAX - 1);
}

/* Blocks so near to each other share their first bucket: a program's small blocks then take few
 * cache lines. As many as a bucket has slots, where glibc's smallest take 32 bytes. */
#define NEAR_BITS 8

/* Buckets that many of whose slots are taken are avoided, if the other one has more. */
#define CROWDED 6u

static inline uint64_t hash_of(uint64_t address, uint64_t salt)
{
	uint64_t h = (address ^ salt) * UINT64_C(0x9e3779b97f4a7c15);

	return (h ^ h >> 32) * UINT64_C(0xd6e8feb86659fd93) >> 32;
}

/* The two buckets of ADDRESS in G; they may be the same. */
static inline void buckets_of(struct generation *g, uint64_t address, struct bucket *b[2])
{
	b[0] = &g->buckets[hash_of(address >> NEAR_BITS, g->salt) & g->mask];
	b[1] = &g->buckets[hash_of(address, g->salt) & g->mask];
}

struct place {
	struct bucket *bucket; /* NULL: nowhere */
	unsigned slot;
};

/* A bit for each slot of B that holds WORD: an address, or 0 for those that are empty. Without a
 * branch, since any of them may be it. */
static inline __attribute__((always_inline)) unsigned slots_with(const struct bucket *b,
								 uint64_t word)
{
	unsigned found = 0;

#pragma GCC unroll 8
	for (unsigned i = 0; i < WAYS; i++)
		/* Acquire: pairs with the release in put_in; the block behind it is whole. */
		found |= (unsigned)(cp_load_acquire(&b->address[i]) == word) << i;
	return found;
}

static inline bool find_in(struct bucket *b, uint64_t address, struct place *at)
{
	unsigned found = slots_with(b, address);

	if (!found)
		return false;
	*at = (struct place){ b, (unsigned)__builtin_ctz(found) };
	return true;
}

static inline bool find(uint64_t address, struct place *at)
{
	struct bucket *b[2];

	for (uint32_t n = cp_load_acquire(&count); n-- > 0;) {
		buckets_of(generations[n], address, b);
		if (find_in(b[0], address, at) || find_in(b[1], address, at))
			return true;
	}
	return false;
}

/* The block is the caller's, who alone empties the slot: a store will do. */
bool cp_live_remove(uint64_t address, struct cp_live_block *b)
{
	struct place at;

	if (!find(address, &at))
		return false;
	unpack(cp_load_relaxed(&at.bucket->block[at.slot]), b);
	/* Release: who takes the slot writes its block after we have read ours. */
	cp_store_release(&at.bucket->address[at.slot], 0);
	return true;
}

bool cp_live_peek(uint64_t address, struct cp_live_block *b)
{
	struct place at;

	if (!find(address, &at))
		return false;
	unpack(cp_load_relaxed(&at.bucket->block[at.slot]), b);
	return true;
}

static inline bool put_in(struct bucket *b, unsigned empty, uint64_t address, uint64_t word)
{
	for (; empty; empty &= empty - 1) {
		unsigned i = (unsigned)__builtin_ctz(empty);
		uint64_t none = 0;

		/* Acquire: pairs with the release in remove. */
		if (!cp_cas_acqrel(&b->address[i], &none, address | CLAIMED))
			continue;
		cp_store_relaxed(&b->block[i], word);
		/* Release: who finds the address finds its block. */
		cp_store_release(&b->address[i], address);
		return true;
	}
	return false;
}

/* Of WAYS bits. */
static inline unsigned how_many(unsigned bits)
{
	unsigned n = 0;

	for (; bits; bits &= bits - 1)
		n++;
	return n;
}

/* Near its neighbours; where it is crowded, in the emptier bucket: that fills a generation to more
 * than two thirds. */
static bool put(struct generation *g, uint64_t address, uint64_t word)
{
	struct bucket *b[2];
	unsigned empty[2], room, first;

	buckets_of(g, address, b);
	empty[0] = slots_with(b[0], 0);
	room = how_many(empty[0]);
	if (room > WAYS - CROWDED && put_in(b[0], empty[0], address, word))
		return true;
	empty[1] = slots_with(b[1], 0);
	first = how_many(empty[1]) > room;
	return put_in(b[first], empty[first], address, word) ||
	       put_in(b[!first], empty[!first], address, word);
}

static size_t bytes_of(size_t slots)
{
	return sizeof(struct generation) + slots / WAYS * sizeof(struct bucket);
}

/* One generation more than the SEEN ones. false: there can't be. */
static bool grow(uint32_t seen)
{
	size_t slots = seen ? generations[seen - 1]->count : cp_load_relaxed(&first_slots);
	struct generation *g, *none = NULL;

	if (seen)
		slots *= slots < FAST_SLOTS ? 4 : 2;
	if (seen == GENERATIONS || slots > MOST_SLOTS)
		return false;
	if (!cp_load_acquire(&generations[seen])) {
		g = cp_sys_map(bytes_of(slots));
		if (!g)
			return false;
		g->mask = slots / WAYS - 1;
		g->salt = seen * UINT64_C(0xa0761d6478bd642f);
		g->count = slots;
		/* Another thread may be faster. */
		if (!cp_cas_acqrel(&generations[seen], &none, g))
			cp_sys_unmap(g, bytes_of(slots));
	}
	/* Release: whoever counts it finds it set up. */
	cp_cas_acqrel(&count, &seen, seen + 1);
	return true;
}

static bool put_anywhere(uint64_t address, uint64_t word)
{
	for (;;) {
		uint32_t seen = cp_load_acquire(&count);

		for (uint32_t n = seen; n-- > 0;)
			if (put(generations[n], address, word))
				return true;
		if (!grow(seen))
			return false;
	}
}

bool cp_live_insert(uint64_t address, const struct cp_live_block *b, struct cp_live_block *old)
{
	if (!cp_live_remove(address, old))
		old->id = 0;
	return b->size < CP_LIVE_SIZE_MAX && put_anywhere(address, pack(b));
}

uint64_t cp_live_mapped(void)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < cp_load_acquire(&count); i++)
		n += bytes_of(generations[i]->count);
	return n;
}

void cp_live_each(void (*visit)(uint64_t address, const struct cp_live_block *b, void *arg),
		  void *arg)
{
	for (uint32_t n = cp_load_acquire(&count); n-- > 0;)
		for (uint64_t i = 0; i < generations[n]->count; i++) {
			const struct bucket *bucket = &generations[n]->buckets[i / WAYS];
			uint64_t address = cp_load_acquire(&bucket->address[i % WAYS]);
			struct cp_live_block b;

			if (!address || address & CLAIMED)
				continue;
			unpack(cp_load_relaxed(&bucket->block[i % WAYS]), &b);
			visit(address, &b, arg);
		}
}
