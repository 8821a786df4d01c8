/* Table of live blocks; see live.h. */
#include "sigsafe/live.h"

#include "sigsafe/atomic.h"
#include "sigsafe/sys.h"

#define WAYS 4u /* slots of a bucket, which is a cache line */
#define GENERATIONS 24u
#define FIRST_SLOTS ((size_t)1 << 12)
/* Small ones grow fast, so that there are few; large ones double, which bounds what is unused. */
#define FAST_SLOTS ((size_t)1 << 20)
#define MOST_SLOTS ((size_t)1 << 26) /* 1 GiB, and as much again in the smaller ones */

/* An address is 16-byte aligned (or at least 8: bit 0 is free). A claimed slot's word is odd. */
#define CLAIMED UINT64_C(1)

struct bucket {
	uint64_t address[WAYS]; /* 0 = empty */
	uint64_t block[WAYS];	/* id in the upper 24 bits, size below */
};

struct generation {
	uint64_t shift;	    /* of a hash, to get the number of a bucket */
	uint64_t salt;	    /* addresses that collide in one don't in the next */
	uint64_t count;	    /* slots */
	uint8_t *elsewhere; /* for each bucket: addresses that belong there and are in another */
	uint64_t pad[4];
	struct bucket buckets[]; /* on a cache line's boundary */
};

#define FULL UINT8_MAX /* nobody knows how many: stays so */

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
#define NEAR_BITS 7

/* Buckets that many of whose slots are taken are avoided, if the other one has more. */
#define CROWDED 3u

/* Where a block's is looked for first. Neighbouring stretches of memory come to lie evenly apart
 * (Fibonacci's hashing): hardly two in one bucket before there is one in each. */
static inline uint64_t first_of(const struct generation *g, uint64_t address)
{
	return (address >> NEAR_BITS ^ g->salt) * UINT64_C(0x9e3779b97f4a7c15) >> g->shift;
}

static inline uint64_t second_of(const struct generation *g, uint64_t address)
{
	uint64_t h = (address ^ g->salt) * UINT64_C(0xd6e8feb86659fd93);

	return (h ^ h >> 32) * UINT64_C(0x9e3779b97f4a7c15) >> g->shift;
}

/* The buckets of an address, beside its first one: the second one, and the neighbours of both. Some
 * may be the same. */
#define OTHERS 3u

static void others_of(struct generation *g, uint64_t first, uint64_t address,
		      struct bucket *other[OTHERS])
{
	uint64_t second = second_of(g, address);

	other[0] = &g->buckets[second];
	other[1] = &g->buckets[first ^ 1];
	other[2] = &g->buckets[second ^ 1];
}

struct place {
	struct bucket *bucket;
	unsigned slot;
	uint8_t *elsewhere; /* counts it; NULL: it is in its first bucket */
};

/* A bit for each slot of B that holds WORD: an address, or 0 for those that are empty. Without a
 * branch, since any of them may be it. */
static inline __attribute__((always_inline)) unsigned slots_with(const struct bucket *b,
								 uint64_t word)
{
	unsigned found = 0;

#pragma GCC unroll 4
	for (unsigned i = 0; i < WAYS; i++)
		/* Acquire: pairs with the release in put_in; the block behind it is whole. */
		found |= (unsigned)(cp_load_acquire(&b->address[i]) == word) << i;
	return found;
}

/* The same: one of them, or WAYS. */
static inline __attribute__((always_inline)) unsigned slot_with(const struct bucket *b,
								uint64_t word)
{
	unsigned found = WAYS;

#pragma GCC unroll 4
	for (unsigned i = 0; i < WAYS; i++)
		found = cp_load_acquire(&b->address[i]) == word ? i : found;
	return found;
}

static __attribute__((noinline)) bool find_elsewhere(struct generation *g, uint64_t first,
						     uint64_t address, struct place *at)
{
	struct bucket *other[OTHERS];
	unsigned found;

	others_of(g, first, address, other);
	for (unsigned i = 0; i < OTHERS; i++) {
		found = slots_with(other[i], address);
		if (!found)
			continue;
		*at = (struct place){ other[i], (unsigned)__builtin_ctz(found),
				      &g->elsewhere[first] };
		return true;
	}
	return false;
}

static inline bool find_in(struct generation *g, uint64_t address, struct place *at)
{
	uint64_t first = first_of(g, address);
	unsigned found = slots_with(&g->buckets[first], address);

	if (found) {
		*at = (struct place){ &g->buckets[first], (unsigned)__builtin_ctz(found), NULL };
		return true;
	}
	/* Relaxed: who frees a block got it from who put it in, and so with what was counted. */
	return cp_load_relaxed(&g->elsewhere[first]) && find_elsewhere(g, first, address, at);
}

static inline bool find(uint64_t address, struct place *at)
{
	for (uint32_t n = cp_load_acquire(&count); n-- > 0;)
		if (find_in(generations[n], address, at))
			return true;
	return false;
}

static void change(uint8_t *elsewhere, int by)
{
	uint8_t seen = cp_load_relaxed(elsewhere);

	while (seen != FULL && !cp_cas_acqrel(elsewhere, &seen, (uint8_t)(seen + by)))
		;
}

/* The block is the caller's, who alone empties the slot: a store will do. */
static inline void take_out(struct bucket *from, unsigned slot, struct cp_live_block *b)
{
	unpack(cp_load_relaxed(&from->block[slot]), b);
	/* Release: who takes the slot writes its block after we have read ours. */
	cp_store_release(&from->address[slot], 0);
}

static __attribute__((noinline)) bool remove_anywhere(uint64_t address, struct cp_live_block *b)
{
	struct place at;

	if (!find(address, &at))
		return false;
	take_out(at.bucket, at.slot, b);
	if (at.elsewhere)
		change(at.elsewhere, -1);
	return true;
}

/* Nearly all are in their first bucket of the last generation; here is just that. */
bool cp_live_remove(uint64_t address, struct cp_live_block *b)
{
	uint32_t n = cp_load_acquire(&count);
	struct generation *g;
	struct bucket *first;
	unsigned slot;

	if (!n)
		return false;
	g = generations[n - 1];
	first = &g->buckets[first_of(g, address)];
	slot = slot_with(first, address);
	if (__builtin_expect(slot == WAYS, 0))
		return remove_anywhere(address, b);
	take_out(first, slot, b);
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

/* false: it isn't empty any more. */
static inline bool put_in_slot(struct bucket *b, unsigned slot, uint64_t address, uint64_t word)
{
	uint64_t none = 0;

	/* Acquire: pairs with the release in take_out. */
	if (!cp_cas_acqrel(&b->address[slot], &none, address | CLAIMED))
		return false;
	cp_store_relaxed(&b->block[slot], word);
	/* Release: who finds the address finds its block. */
	cp_store_release(&b->address[slot], address);
	return true;
}

static bool put_in(struct bucket *b, unsigned empty, uint64_t address, uint64_t word)
{
	for (; empty; empty &= empty - 1)
		if (put_in_slot(b, (unsigned)__builtin_ctz(empty), address, word))
			return true;
	return false;
}

/* Of WAYS bits. */
static inline unsigned how_many(unsigned bits)
{
	return (unsigned)(UINT64_C(0x4332322132212110) >> 4 * bits) & 15;
}

static bool put_elsewhere(struct generation *g, uint64_t first, uint64_t address, uint64_t word)
{
	struct bucket *b = &g->buckets[first], *other[OTHERS];
	unsigned room = how_many(slots_with(b, 0));

	others_of(g, first, address, other);
	if (room >= how_many(slots_with(other[0], 0)) && put_in(b, slots_with(b, 0), address, word))
		return true;
	/* Counted first: who looks for it must be told. */
	change(&g->elsewhere[first], 1);
	for (unsigned i = 0; i < OTHERS; i++)
		if (other[i] != b && put_in(other[i], slots_with(other[i], 0), address, word))
			return true;
	change(&g->elsewhere[first], -1);
	return put_in(b, slots_with(b, 0), address, word);
}

/* Near its neighbours; where it is crowded, in the emptier bucket, and beside these: that fills a
 * generation to a half and more. */
static inline bool put(struct generation *g, uint64_t address, uint64_t word)
{
	uint64_t first = first_of(g, address);
	unsigned empty = slots_with(&g->buckets[first], 0);

	if (how_many(empty) > WAYS - CROWDED && put_in(&g->buckets[first], empty, address, word))
		return true;
	return put_elsewhere(g, first, address, word);
}

static size_t bytes_of(size_t slots)
{
	return sizeof(struct generation) + slots / WAYS * (sizeof(struct bucket) + 1);
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
		g->shift = 64 - (unsigned)__builtin_ctzl(slots / WAYS);
		g->elsewhere = (uint8_t *)&g->buckets[slots / WAYS];
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

void cp_live_prefetch(uint64_t address)
{
	uint32_t n = cp_load_acquire(&count);

	if (n)
		__builtin_prefetch(
			&generations[n - 1]->buckets[first_of(generations[n - 1], address)], 1);
}

static __attribute__((noinline)) bool
insert_anywhere(uint64_t address, const struct cp_live_block *b, struct cp_live_block *old)
{
	if (!remove_anywhere(address, old))
		old->id = 0;
	return b->size < CP_LIVE_SIZE_MAX && put_anywhere(address, pack(b));
}

/* May ADDRESS be in one of the first N generations? */
static __attribute__((noinline)) bool may_be_before(uint32_t n, uint64_t address)
{
	unsigned there = 0;

	for (uint32_t i = n; i-- > 0;) {
		const struct generation *g = generations[i];
		uint64_t first = first_of(g, address);

		there |= slots_with(&g->buckets[first], address) |
			 cp_load_relaxed(&g->elsewhere[first]);
	}
	return there;
}

/* How many slots of B are empty, and one of them; 0 also if ADDRESS is there. */
static inline __attribute__((always_inline)) unsigned room_in(const struct bucket *b,
							      uint64_t address, unsigned *slot)
{
	unsigned room = 0, there = 0;

	*slot = 0;
#pragma GCC unroll 4
	for (unsigned i = 0; i < WAYS; i++) {
		uint64_t word = cp_load_acquire(&b->address[i]);

		room += !word;
		*slot = word ? *slot : i;
		there |= word == address;
	}
	return there ? 0 : room;
}

/* Nearly all are new, and find a place in their first bucket of the last generation. */
bool cp_live_insert(uint64_t address, const struct cp_live_block *b, struct cp_live_block *old)
{
	uint32_t n = cp_load_acquire(&count);
	struct generation *g;
	uint64_t first;
	unsigned slot;

	if (!n || b->size >= CP_LIVE_SIZE_MAX || (n > 1 && may_be_before(n - 1, address)))
		return insert_anywhere(address, b, old);
	g = generations[n - 1];
	first = first_of(g, address);
	old->id = 0;
	if (room_in(&g->buckets[first], address, &slot) > WAYS - CROWDED &&
	    !cp_load_relaxed(&g->elsewhere[first]) &&
	    put_in_slot(&g->buckets[first], slot, address, pack(b)))
		return true;
	return insert_anywhere(address, b, old);
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
