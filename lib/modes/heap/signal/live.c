/* SPDX-License-Identifier: BSD-3-Clause */
/* Table of live blocks; see live_hot.h. */

#include "base/base.h"
#include "modes/heap/signal/live_hot.h"
#include "base/sys.h"

#define WAYS CP_LIVE_WAYS
#define GENERATIONS 24u
#define FIRST_SLOTS ((size_t)1 << 12)
/* Small generations grow fast, so that there are few. Large generations double, which limits the
 * unused memory. */
#define FAST_SLOTS ((size_t)1 << 20)
#define MOST_SLOTS ((size_t)1 << 26) /* 1 GiB, and as much again in the smaller generations */

static struct cp_live_generation *generations[GENERATIONS];
static struct cp_live_generation *newest;
struct cp_live_generation *cp_live_newest;
uint32_t cp_live_mixed;
static bool keeps_births;
static bool has_births; /* births were kept in some run, so a slot may have an old one */
static size_t first_slots = FIRST_SLOTS;

static struct cp_live_generation *generation(uint32_t number)
{
	return cp_load_acquire(&generations[number]);
}

static uint32_t in_use(void)
{
	const struct cp_live_generation *g = cp_load_acquire(&newest);

	return g ? (uint32_t)g->number + 1 : 0;
}

/* The hash of an address gives bucket 0, and the lower bits of the address one of these. */
#define FULL_BUCKETS (CP_LIVE_OF_PAGE + 1)

/* A generation without a free slot and without a block. */
static struct cp_live_generation *full_generation(void)
{
	static uint16_t elsewhere[FULL_BUCKETS];
	static union {
		struct cp_live_generation g;
		char bytes[sizeof(struct cp_live_generation) +
			   FULL_BUCKETS * sizeof(struct cp_live_bucket)];
	} full __attribute__((aligned(64)));
	struct cp_live_generation *g = &full.g;

	if (g->elsewhere)
		return g;
	for (unsigned i = 0; i < FULL_BUCKETS * WAYS; i++)
		g->buckets[i / WAYS].address[i % WAYS] = CP_LIVE_CLAIMED;
	g->shift = 63;
	g->elsewhere = elsewhere;
	return g;
}

void cp_live_keep_births(bool keep)
{
	struct cp_live_generation *g;

	cp_store_relaxed(&keeps_births, keep);
	if (keep) {
		cp_store_relaxed(&has_births, true);
		cp_store_release(&cp_live_newest, full_generation());
		return;
	}
	do {
		g = cp_load_acquire(&newest);
		cp_store_release(&cp_live_newest, g);
	} while (g != cp_load_acquire(&newest));
}

void cp_live_configure(size_t slots)
{
	if (!in_use())
		cp_store_relaxed(&first_slots, slots);
}

static void unpack_block(uint64_t word, struct cp_live_block *b)
{
	b->id = cp_live_id(word);
	b->size = cp_live_size(word);
}

/* A bucket with this many used slots is avoided if the other bucket has more free slots. */
#define CROWDED 3u

static inline uint64_t second_of(const struct cp_live_generation *g, uint64_t address)
{
	uint64_t h = (address ^ g->salt) * UINT64_C(0xd6e8feb86659fd93);

	return (h ^ h >> 32) * UINT64_C(0x9e3779b97f4a7c15) >> g->shift;
}

/* The buckets of an address besides its first: the second one, the neighbours of both, and those
 * half and a quarter of the generation away from the second. Some may be the same. Blocks of 16
 * bytes fill their own part of the table, however empty the rest is. */
#define OTHERS 5u

static void others_of(struct cp_live_generation *g, uint64_t first, uint64_t address,
		      struct cp_live_bucket *other[OTHERS])
{
	uint64_t second = second_of(g, address);

	other[0] = &g->buckets[second];
	other[1] = &g->buckets[first ^ 1];
	other[2] = &g->buckets[second ^ 1];
	other[3] = &g->buckets[second ^ g->count / WAYS / 2];
	other[4] = &g->buckets[second ^ g->count / WAYS / 4];
}

struct place {
	struct cp_live_generation *in;
	struct cp_live_bucket *bucket;
	unsigned slot;
	uint16_t *
		elsewhere; /* the counters of ADDRESS if it is not in its first bucket; else NULL */
};

/* Returns one bit per slot of B that holds WORD: an address, or 0 for empty slots. Without a
 * branch, because any slot may match. */
static inline __attribute__((always_inline)) unsigned slots_with(const struct cp_live_bucket *b,
								 uint64_t word)
{
	unsigned found = 0;

#pragma GCC unroll 4
	for (unsigned i = 0; i < WAYS; i++)
		/* Acquire: pairs with the release in put_in; the block's word is complete. */
		found |= (unsigned)(cp_load_acquire(&b->address[i]) == word) << i;
	return found;
}

static __attribute__((noinline)) bool find_elsewhere(struct cp_live_generation *g, uint64_t first,
						     uint64_t address, struct place *at)
{
	struct cp_live_bucket *other[OTHERS];
	unsigned found;

	others_of(g, first, address, other);
	for (unsigned i = 0; i < OTHERS; i++)
		__builtin_prefetch(other[i], 1);
	for (unsigned i = 0; i < OTHERS; i++) {
		found = slots_with(other[i], address);
		if (!found)
			continue;
		*at = (struct place){ g, other[i], (unsigned)__builtin_ctz(found),
				      &g->elsewhere[first] };
		return true;
	}
	return false;
}

static inline bool find_in(struct cp_live_generation *g, uint64_t address, struct place *at)
{
	uint64_t first = cp_live_first(g, address);
	unsigned found = slots_with(&g->buckets[first], address);

	if (found) {
		*at = (struct place){ g, &g->buckets[first], (unsigned)__builtin_ctz(found), NULL };
		return true;
	}
	return cp_live_has_elsewhere(g, first, address) && find_elsewhere(g, first, address, at);
}

static inline bool find_block(uint64_t address, struct place *at)
{
	for (uint32_t n = in_use(); n-- > 0;)
		if (find_in(generation(n), address, at))
			return true;
	return false;
}

/* Add BY, 1 or -1, to the count of ADDRESS. The OTHERS have room for twenty addresses, hardly
 * ever fifteen of a kind. A count that reached the most is no longer known, and stays there. */
static void change_elsewhere(uint16_t *elsewhere, uint64_t address, int by)
{
	uint16_t seen = cp_load_relaxed(elsewhere);
	unsigned kind = cp_live_kind(address);

	while ((seen >> kind & CP_LIVE_KIND_MOST) != CP_LIVE_KIND_MOST &&
	       !cp_cas_acqrel(elsewhere, &seen, (uint16_t)(seen + by * (1 << kind))))
		;
}

static uint64_t *birth_of(struct cp_live_generation *g, const struct cp_live_bucket *b,
			  unsigned slot)
{
	return &g->born[(size_t)(b - g->buckets) * WAYS + slot];
}

static inline void take_out(const struct place *at, struct cp_live_block *b)
{
	b->born = cp_load_relaxed(&has_births)
			  ? cp_load_relaxed(birth_of(at->in, at->bucket, at->slot))
			  : 0;
	unpack_block(cp_live_take_out(at->bucket, at->slot), b);
}

/* Fetch everything that a look-up may read at once, because cache misses one after the other take
 * longer. */
void cp_live_prefetch(uint64_t address)
{
	for (uint32_t n = in_use(); n-- > 0;) {
		const struct cp_live_generation *g = generation(n);
		uint64_t first = cp_live_first(g, address);

		__builtin_prefetch(&g->buckets[first], 1);
		__builtin_prefetch(&g->elsewhere[first]);
	}
}

static __attribute__((noinline)) bool remove_anywhere(uint64_t address, struct cp_live_block *b)
{
	struct place at;

	cp_live_prefetch(address);
	if (!find_block(address, &at))
		return false;
	take_out(&at, b);
	if (at.elsewhere)
		change_elsewhere(at.elsewhere, address, -1);
	return true;
}

bool cp_live_remove(uint64_t address, struct cp_live_block *b)
{
	uint64_t word;

	if (__builtin_expect(!cp_live_take(address, &word), 0))
		return address && remove_anywhere(address, b);
	unpack_block(word, b);
	b->born = 0;
	return true;
}

void cp_live_touch(const struct cp_live_bucket *b)
{
	for (uint32_t n = in_use(); n-- > 0;) {
		struct cp_live_generation *g = generation(n);

		if (b >= g->buckets && b < g->buckets + g->count / WAYS)
			cp_store_relaxed(&g->touched[(size_t)(b - g->buckets) / CP_LIVE_GROUP], 1);
	}
}

/* The same as cp_live_put_in, with the block's birth. */
static bool put_slot(struct cp_live_generation *g, struct cp_live_bucket *b, unsigned slot,
		     uint64_t address, const struct cp_live_block *block)
{
	uint64_t none = 0;

	/* Acquire: pairs with the release in take_out. */
	if (!cp_cas_acqrel(&b->address[slot], &none, address | CP_LIVE_CLAIMED))
		return false;
	if (!cp_load_relaxed(&b->block[slot]))
		cp_live_touch(b);
	cp_store_relaxed(&b->block[slot], cp_live_pack(block->size, block->id));
	if (cp_load_relaxed(&has_births))
		cp_store_relaxed(birth_of(g, b, slot),
				 cp_load_relaxed(&keeps_births) ? block->born : 0);
	/* Release: a thread that finds the address also finds its block. */
	cp_store_release(&b->address[slot], address);
	return true;
}

static bool put_in(struct cp_live_generation *g, struct cp_live_bucket *b, unsigned empty,
		   uint64_t address, const struct cp_live_block *block)
{
	for (; empty; empty &= empty - 1)
		if (put_slot(g, b, (unsigned)__builtin_ctz(empty), address, block))
			return true;
	return false;
}

/* Returns how many of the lowest CP_LIVE_WAYS bits of BITS are set. */
static inline unsigned how_many(unsigned bits)
{
	return (unsigned)(UINT64_C(0x4332322132212110) >> 4 * bits) & 15;
}

static bool put_elsewhere(struct cp_live_generation *g, uint64_t first, uint64_t address,
			  const struct cp_live_block *block)
{
	struct cp_live_bucket *b = &g->buckets[first], *other[OTHERS];
	unsigned room = how_many(slots_with(b, 0));

	others_of(g, first, address, other);
	if (room >= how_many(slots_with(other[0], 0)) &&
	    put_in(g, b, slots_with(b, 0), address, block))
		return true;
	/* Count first, so that a look-up knows. Relaxed, like the count: a thread that looks the
	 * address up got it from this thread. */
	cp_store_relaxed(&cp_live_mixed, 1);
	change_elsewhere(&g->elsewhere[first], address, 1);
	for (unsigned i = 0; i < OTHERS; i++)
		if (other[i] != b && put_in(g, other[i], slots_with(other[i], 0), address, block))
			return true;
	change_elsewhere(&g->elsewhere[first], address, -1);
	return put_in(g, b, slots_with(b, 0), address, block);
}

/* Put the address near its neighbours. If its bucket is crowded, use the emptier of the two
 * buckets, or the buckets next to them. This fills a generation to more than a half. */
static inline bool put_block(struct cp_live_generation *g, uint64_t address,
			     const struct cp_live_block *block)
{
	uint64_t first = cp_live_first(g, address);
	unsigned empty = slots_with(&g->buckets[first], 0);

	if (how_many(empty) > WAYS - CROWDED &&
	    put_in(g, &g->buckets[first], empty, address, block))
		return true;
	return put_elsewhere(g, first, address, block);
}

/* A generation is the end of a page, so that its buckets begin the next one. */
#define BEFORE_BUCKETS CP_PAGES_SIZE
#define BEFORE_GENERATION (BEFORE_BUCKETS - sizeof(struct cp_live_generation))

static size_t births_of(size_t slots)
{
	return slots * sizeof(uint64_t);
}

static size_t bytes_of(size_t slots)
{
	return BEFORE_BUCKETS + slots / WAYS * (sizeof(struct cp_live_bucket) + sizeof(uint16_t)) +
	       births_of(slots) + slots / WAYS / CP_LIVE_GROUP + 1;
}

static struct cp_live_generation *map_generation(size_t slots)
{
	char *pages = cp_sys_map(bytes_of(slots));

	if (!pages)
		return NULL;
	/* Its touched pages are far apart, so huge pages would waste memory; and where all pages
	 * are touched, they save no time. */
	cp_sys3(SYS_madvise, pages, bytes_of(slots), MADV_NOHUGEPAGE);
	return (struct cp_live_generation *)(void *)(pages + BEFORE_GENERATION);
}

static void unmap_generation(struct cp_live_generation *g, size_t slots)
{
	cp_sys_unmap((char *)g - BEFORE_GENERATION, bytes_of(slots));
}

/* Add one generation to the SEEN ones. Returns false if that is impossible. */
static bool add_generation(uint32_t seen)
{
	struct cp_live_generation *before = seen ? generation(seen - 1) : NULL, *g, *none = NULL,
				  *fast;
	size_t slots = before ? before->count : cp_load_relaxed(&first_slots);

	if (before)
		slots *= slots < FAST_SLOTS ? 4 : 2;
	if (seen == GENERATIONS || slots > MOST_SLOTS)
		return false;
	if (!generation(seen)) {
		g = map_generation(slots);
		/* A large first table may be more than the program may lock. */
		if (!g && !before && slots > FIRST_SLOTS) {
			slots = FIRST_SLOTS;
			g = map_generation(slots);
		}
		if (!g)
			return false;
		g->shift = 64 - (unsigned)__builtin_ctzl(slots / WAYS);
		g->born = (uint64_t *)(void *)&g->buckets[slots / WAYS];
		g->elsewhere = (uint16_t *)(void *)&g->born[slots];
		g->touched = (uint8_t *)&g->elsewhere[slots / WAYS];
		g->salt = seen * UINT64_C(0xa0761d6478bd642f);
		g->count = slots;
		g->number = seen;
		/* Another thread may have been faster. */
		if (!cp_cas_acqrel(&generations[seen], &none, g))
			unmap_generation(g, slots);
	}
	if (seen)
		cp_store_relaxed(&cp_live_mixed, 1);
	/* Release: a thread that sees the generation sees its contents, and that it isn't the first
	 * one. */
	fast = before;
	cp_cas_acqrel(&newest, &before, generation(seen));
	/* Fails on purpose while births are kept: cp_live_newest is the full generation then. */
	cp_cas_acqrel(&cp_live_newest, &fast, generation(seen));
	return true;
}

static bool put_anywhere(uint64_t address, const struct cp_live_block *block)
{
	for (;;) {
		uint32_t seen = in_use();

		for (uint32_t n = seen; n-- > 0;)
			if (put_block(generation(n), address, block))
				return true;
		if (!add_generation(seen))
			return false;
	}
}

static __attribute__((noinline)) bool
insert_anywhere(uint64_t address, const struct cp_live_block *b, struct cp_live_block *old)
{
	if (!remove_anywhere(address, old))
		old->id = 0;
	return b->size < CP_LIVE_SIZE_MAX && put_anywhere(address, b);
}

/* May ADDRESS be in one of the first N generations? */
static __attribute__((noinline)) bool may_be_before(uint32_t n, uint64_t address)
{
	unsigned there = 0;

	for (uint32_t i = n; i-- > 0;) {
		const struct cp_live_generation *g = generation(i);
		uint64_t first = cp_live_first(g, address);

		there |= slots_with(&g->buckets[first], address) |
			 cp_live_has_elsewhere(g, first, address);
	}
	return there;
}

/* Nearly all addresses are new, and find a place in their first bucket of the newest generation. */
bool cp_live_insert(uint64_t address, const struct cp_live_block *b, struct cp_live_block *old)
{
	uint32_t n = in_use();
	struct cp_live_bucket *bucket;
	struct cp_live_generation *g;
	unsigned empty;
	uint64_t first;

	if (!n || b->size >= CP_LIVE_SIZE_MAX || (n > 1 && may_be_before(n - 1, address)))
		return insert_anywhere(address, b, old);
	g = generation(n - 1);
	first = cp_live_first(g, address);
	bucket = &g->buckets[first];
	old->id = 0;
	if (cp_load_relaxed(&g->elsewhere[first]) || slots_with(bucket, address))
		return insert_anywhere(address, b, old);
	empty = slots_with(bucket, 0);
	if (empty >> cp_live_slot(address) & 1 &&
	    put_slot(g, bucket, cp_live_slot(address), address, b))
		return true;
	return put_block(g, address, b) || put_anywhere(address, b);
}

uint64_t cp_live_mapped(void)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < in_use(); i++)
		n += bytes_of(generation(i)->count) -
		     (cp_load_relaxed(&has_births) ? 0 : births_of(generation(i)->count));
	return n;
}

static void each_of(struct cp_live_generation *g, const struct cp_live_bucket *bucket,
		    void (*visit)(uint64_t address, const struct cp_live_block *b, void *arg),
		    void *arg)
{
	for (unsigned i = 0; i < WAYS; i++) {
		uint64_t address = cp_load_acquire(&bucket->address[i]);
		struct cp_live_block b;

		if (!address || address & CP_LIVE_CLAIMED)
			continue;
		unpack_block(cp_load_relaxed(&bucket->block[i]), &b);
		b.born = cp_load_relaxed(&has_births) ? cp_load_relaxed(birth_of(g, bucket, i)) : 0;
		visit(address, &b, arg);
	}
}

void cp_live_each(void (*visit)(uint64_t address, const struct cp_live_block *b, void *arg),
		  void *arg)
{
	for (uint32_t n = in_use(); n-- > 0;) {
		struct cp_live_generation *g = generation(n);

		/* Most pages of a young table were never written. */
		for (uint64_t i = 0; i < g->count / WAYS; i++)
			if (cp_load_relaxed(&g->touched[i / CP_LIVE_GROUP]))
				each_of(g, &g->buckets[i], visit, arg);
	}
}
