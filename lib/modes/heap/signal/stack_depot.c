/* SPDX-License-Identifier: BSD-3-Clause */
/* Append-only depot of stacks; see stack_depot.h. */
#include "modes/heap/signal/stack_depot.h"

#include <string.h>

#include "base/sys.h"

#define PER_CHUNK CP_STACK_DEPOT_PER_CHUNK
#define CHUNKS CP_STACK_DEPOT_CHUNKS
#define FOUND (UINT64_C(1) << 63)
#define ENTRY_BYTES sizeof(struct cp_stack_depot_entry)

/* Frames of a stack that are next to each other. Groups begin at the outermost frame. */
#define GROUP 6u
struct group {
	uint64_t pcs[GROUP]; /* outermost first; 0 = none */
	uint32_t callers;
	uint32_t callees;  /* root of a binary tree of groups, by the bits of their hashes */
	uint32_t other[2]; /* more callees of the same callers */
};
#define GROUP_CHUNKS (1u << 10) /* 512 MiB */

_Static_assert(sizeof(struct group) == 64, "a look at a group is one cache miss");

/* Buckets of the tables. Few stacks must not touch a page each of a large table, and many stacks
 * must not share the buckets of a small one. So an entry is added to the smallest table that has
 * more buckets than the depot has entries. */
#define TABLES 3u
static const uint32_t bucket_count[TABLES] = { 1u << 12, 1u << 16, 1u << 20 };

void *cp_stack_depot_chunks[CP_STACK_DEPOT_CHUNKS];
static void *group_chunks[GROUP_CHUNKS];
static uint32_t outermost; /* root of the tree of groups without callers */
struct cp_stack_depot_now cp_stack_depot_now = { { .word = 1 } }; /* begins with epoch 1 */

/* Ids that were handed out; 0 means no entry, no group. */
static uint32_t last_entry, last_group;
static uint32_t *buckets[TABLES]; /* id of each bucket's newest entry; NULL = no entry yet */
static uint32_t fresh;		  /* entries that the collector hasn't seen, newest first */
static uint32_t all; /* entries that the collector has seen, newest first, also linked by FRESH */
static uint32_t fresh_count; /* approximate number of entries in FRESH */
void (*cp_stack_depot_wake)(void);

/* Returns the next id, whose item of ITEM bytes is zeroed, or 0. */
static uint32_t take_id(uint32_t *last, void **chunks, unsigned chunk_count, size_t item)
{
	uint32_t seen = cp_load_relaxed(last), id;
	void **chunk, *none, *c;

	do {
		id = seen + 1;
		if (id / PER_CHUNK >= chunk_count)
			return 0;
		chunk = &chunks[id / PER_CHUNK];
		if (cp_load_acquire(chunk))
			continue;
		c = cp_sys_map(PER_CHUNK * item);
		if (!c)
			return 0;
		/* Another thread may have been faster. */
		none = NULL;
		if (!cp_cas_acqrel(chunk, &none, c))
			cp_sys_unmap(c, PER_CHUNK * item);
	} while (!cp_cas_acqrel(last, &seen, id));
	return id;
}

/* Relaxed: an id was got by an acquire that followed the chunk's publication. */
static struct group *group_at(uint32_t id)
{
	struct group *c = cp_load_relaxed(&group_chunks[id / PER_CHUNK]);

	return &c[id % PER_CHUNK];
}

static uint64_t mix_hash(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0x9fb21c651e98df25);
	return h ^ h >> 29;
}

/* Different groups may have the same hash: then they follow each other. */
static uint64_t hash_of_group(const uint64_t pcs[GROUP])
{
	uint64_t h = 0;

	for (unsigned i = 0; i < GROUP; i++)
		h = mix_hash(h, pcs[i]);
	return h;
}

static uint32_t make_group(uint32_t callers, const uint64_t pcs[GROUP])
{
	uint32_t id = take_id(&last_group, group_chunks, GROUP_CHUNKS, sizeof(struct group));

	if (!id)
		return 0;
	memcpy(group_at(id)->pcs, pcs, GROUP * sizeof(*pcs));
	group_at(id)->callers = callers;
	return id;
}

/* Returns the group of PCS that CALLERS called; CALLERS 0: the outermost one. Adds it if it is new.
 * Returns 0 if there is no memory. Groups are the same in all epochs. */
static uint32_t group_of(uint32_t callers, const uint64_t pcs[GROUP])
{
	uint32_t *at = callers ? &group_at(callers)->callees : &outermost, id, new = 0;

	for (uint64_t hash = hash_of_group(pcs);; hash >>= 1) {
		/* Acquire: pairs with the exchange. */
		id = cp_load_acquire(at);
		if (!id) {
			new = new ? new : make_group(callers, pcs);
			if (!new || cp_cas_acqrel(at, &id, new))
				return new;
		}
		if (!memcmp(group_at(id)->pcs, pcs, GROUP * sizeof(*pcs)))
			return id; /* a group that was made in vain stays unused */
		at = &group_at(id)->other[hash & 1];
	}
}

/* Returns the innermost group of a stack, or 0. */
static uint32_t innermost_of(const uint64_t *pcs, unsigned depth)
{
	uint32_t group = 0;

	while (depth) {
		uint64_t these[GROUP] = { 0 };

		for (unsigned i = 0; i < GROUP && depth; i++)
			these[i] = pcs[--depth];
		group = group_of(group, these);
		if (!group)
			return 0;
	}
	return group;
}

/* The innermost group isn't full. */
static unsigned frames_in(const struct cp_stack_depot_entry *e, uint32_t id)
{
	return id == e->frames && e->depth % GROUP ? e->depth % GROUP : GROUP;
}

void cp_stack_depot_pcs(const struct cp_stack_depot_entry *e, uint64_t *pcs, unsigned most)
{
	for (uint32_t id = e->frames; id; id = group_at(id)->callers)
		for (unsigned i = frames_in(e, id); i-- > 0 && most; most--)
			*pcs++ = group_at(id)->pcs[i];
}

static uint32_t *buckets_of(unsigned table)
{
	size_t size = bucket_count[table] * sizeof(uint32_t);
	uint32_t *b = cp_load_acquire(&buckets[table]), *none = NULL;

	if (b)
		return b;
	b = cp_sys_map(size);
	if (!b)
		return NULL;
	if (!cp_cas_acqrel(&buckets[table], &none, b)) {
		cp_sys_unmap(b, size);
		b = none;
	}
	return b;
}

static uint64_t hash_of(const struct cp_stack_depot_key *k)
{
	uint64_t h = mix_hash(k->hash, k->interval ^ (uint64_t)k->labels << 32);

	/* Never 0, which marks retired entries. */
	return mix_hash(h, k->depth << 16 | k->end << 8 | k->shard) | FOUND;
}

/* A million stacks have two with the same hash in one of ten million runs. */
static bool is(const struct cp_stack_depot_entry *e, const struct cp_stack_depot_key *k,
	       uint64_t hash)
{
	return cp_load_relaxed(&e->hash) == hash && e->depth == k->depth && e->end == k->end &&
	       e->shard == k->shard && e->labels == k->labels && e->interval == k->interval;
}

static struct cp_stack_depot_entry *make_entry(const struct cp_stack_depot_key *k, uint64_t hash,
					       uint32_t now)
{
	uint32_t frames = innermost_of(k->pcs, k->depth), id;
	struct cp_stack_depot_entry *e;

	id = frames || !k->depth ? take_id(&last_entry, cp_stack_depot_chunks, CHUNKS, ENTRY_BYTES)
				 : 0;
	if (!id)
		return NULL;
	e = cp_stack_depot_at(id);
	e->hash = hash;
	e->frames = frames;
	e->id = id;
	e->seen.epoch = now;
	e->depth = (uint16_t)k->depth;
	e->end = k->end;
	e->shard = k->shard;
	e->exact = k->interval == 1 ? k->shard : CP_STACK_DEPOT_NOT_EXACT;
	e->labels = k->labels;
	e->interval = k->interval;
	e->seen.peak_number = cp_load_relaxed(&cp_stack_depot_now.peak_number);
	return e;
}

static void announce(struct cp_stack_depot_entry *e)
{
	e->fresh = cp_load_relaxed(&fresh);
	while (!cp_cas_acqrel(&fresh, &e->fresh, e->id))
		;
	if (cp_add_relaxed(&fresh_count, 1) + 1 == CP_STACK_DEPOT_MANY && cp_stack_depot_wake)
		cp_stack_depot_wake();
}

/* Only entries that were added since OLD, the bucket's newest entry at the last look. */
static struct cp_stack_depot_entry *
find_in_bucket(uint32_t id, uint32_t old, const struct cp_stack_depot_key *k, uint64_t hash)
{
	struct cp_stack_depot_entry *e;

	for (; id && id != old; id = e->next) {
		e = cp_stack_depot_at(id);
		if (is(e, k, hash) && cp_stack_depot_is_found(e))
			return e;
	}
	return NULL;
}

static unsigned table_now(void)
{
	uint32_t n = cp_load_relaxed(&last_entry);
	unsigned table = 0;

	while (table + 1 < TABLES && n >= bucket_count[table])
		table++;
	return table;
}

static struct cp_stack_depot_entry *
find_in_smaller(unsigned table, const struct cp_stack_depot_key *k, uint64_t hash)
{
	struct cp_stack_depot_entry *e = NULL;

	while (table-- > 0 && !e) {
		const uint32_t *b = cp_load_acquire(&buckets[table]);

		e = b ? find_in_bucket(cp_load_acquire(&b[hash % bucket_count[table]]), 0, k, hash)
		      : NULL;
	}
	return e;
}

/* Two threads that add one stack while the table changes may each make an entry of it. Both count.
 */
struct cp_stack_depot_entry *cp_stack_depot_find(const struct cp_stack_depot_key *k)
{
	unsigned table = table_now();
	uint32_t now = cp_stack_depot_epoch(), *b = buckets_of(table), *head, first, old = 0;
	uint64_t hash = hash_of(k);
	struct cp_stack_depot_entry *e, *new = NULL;

	if (!b)
		return NULL;
	head = &b[hash % bucket_count[table]];
	/* Acquire: pairs with the exchange below; the entries that it leads to are complete. */
	first = cp_load_acquire(head);
	do {
		e = find_in_bucket(first, old, k, hash);
		if (!e && !new)
			e = find_in_smaller(table, k, hash);
		if (e)
			return e; /* an entry that was made in vain stays unused */
		old = first;
		new = new ? new : make_entry(k, hash, now);
		if (!new)
			return NULL;
		new->next = first;
	} while (!cp_cas_acqrel(head, &first, new->id));
	announce(new);
	return new;
}

/* The ranges [low, high) that were unloaded as each of the last epochs began. */
#define RETIRED_MOST 1024u
static struct retired {
	uint32_t epoch; /* the epoch; 0: the range is being written */
	uint64_t low, high;
} retired[RETIRED_MOST];
static uint32_t begun = 1; /* the newest epoch whose range is being written or has been written */

void cp_stack_depot_retire(uint64_t low, uint64_t high)
{
	uint32_t n = cp_add_seqcst(&begun, 1) + 1,
		 seen = cp_load_relaxed(&cp_stack_depot_now.epoch);
	struct retired *g = &retired[n % RETIRED_MOST];

	/* Acquire, so that the stores below come after it. */
	cp_exchange_acqrel(&g->epoch, 0);
	cp_store_relaxed(&g->low, low);
	cp_store_relaxed(&g->high, high);
	cp_store_release(&g->epoch, n);
	/* Epochs of other threads whose ranges aren't written yet are skipped: they count as having
	 * retired all entries. */
	while (seen < n && !cp_cas_acqrel(&cp_stack_depot_now.epoch, &seen, n))
		;
}

void cp_stack_depot_next_epoch(void)
{
	cp_stack_depot_retire(0, UINT64_MAX);
}

static bool leads_through(const struct cp_stack_depot_entry *e, uint64_t low, uint64_t high)
{
	bool any = false;

	for (uint32_t id = e->frames; id; id = group_at(id)->callers)
		for (unsigned i = 0; i < frames_in(e, id); i++)
			any |= group_at(id)->pcs[i] - low < high - low;
	return any;
}

/* Was E retired as epoch N began? Returns true also if that is no longer known. */
static bool was_retired(const struct cp_stack_depot_entry *e, uint32_t n)
{
	const struct retired *g = &retired[n % RETIRED_MOST];
	uint64_t low, high;

	if (cp_load_acquire(&g->epoch) != n)
		return true;
	/* Acquire, so that the epoch is read again after the bounds. */
	low = cp_load_acquire(&g->low);
	high = cp_load_acquire(&g->high);
	return cp_load_relaxed(&g->epoch) != n || leads_through(e, low, high);
}

bool cp_stack_depot_is_found_still(struct cp_stack_depot_entry *e)
{
	uint32_t now = cp_stack_depot_epoch(), since = cp_load_relaxed(&e->seen.epoch);
	bool still = cp_load_relaxed(&e->hash) && now - since < RETIRED_MOST;

	for (uint32_t n = since + 1; still && n <= now; n++)
		still = !was_retired(e, n);
	/* Another thread may have looked at more or fewer epochs, with the same result. */
	if (still)
		cp_store_relaxed(&e->seen.epoch, now);
	else
		cp_store_relaxed(&e->hash, 0);
	return still;
}

void cp_stack_depot_mark_peak(void)
{
	cp_add_seqcst(&cp_stack_depot_now.peak_number, 1);
}

struct cp_stack_depot_amount cp_stack_depot_in_use(const struct cp_stack_depot_entry *e)
{
	/* Read the freed counts first: freed memory was allocated before, so the difference isn't
	 * negative. Acquire: the reads keep this order. */
	uint64_t objects = cp_load_acquire(&e->freed.objects) +
			   cp_load_acquire(&e->freed_elsewhere.objects),
		 bytes = cp_load_acquire(&e->freed.bytes) +
			 cp_load_acquire(&e->freed_elsewhere.bytes);

	return (struct cp_stack_depot_amount){ cp_load_acquire(&e->allocated.objects) - objects,
					       cp_load_acquire(&e->allocated.bytes) - bytes };
}

/* Call before a change: save the amount in use, if this is the first change since the mark. Two
 * threads that change at the same time may put one block on the wrong side of the mark. */
void cp_stack_depot_keep_peak_now(struct cp_stack_depot_entry *e)
{
	uint32_t now = cp_load_relaxed(&cp_stack_depot_now.peak_number),
		 seen = cp_load_relaxed(&e->seen.peak_number);
	struct cp_stack_depot_amount use;

	use = cp_stack_depot_in_use(e);
	if (!cp_cas_acqrel(&e->seen.peak_number, &seen, now))
		return;
	cp_store_relaxed(&e->peak.objects, use.objects);
	cp_store_relaxed(&e->peak.bytes, use.bytes);
}

struct cp_stack_depot_amount cp_stack_depot_at_peak(const struct cp_stack_depot_entry *e)
{
	if (cp_load_acquire(&e->seen.peak_number) !=
	    cp_load_relaxed(&cp_stack_depot_now.peak_number))
		return cp_stack_depot_in_use(e);
	return (struct cp_stack_depot_amount){ cp_load_relaxed(&e->peak.objects),
					       cp_load_relaxed(&e->peak.bytes) };
}

static inline void add_amount(struct cp_stack_depot_amount *to, uint64_t objects, uint64_t bytes)
{
	cp_add_relaxed(&to->objects, objects);
	cp_add_relaxed(&to->bytes, bytes);
}

void cp_stack_depot_allocated(struct cp_stack_depot_entry *e, uint64_t objects, uint64_t bytes)
{
	cp_stack_depot_keep_peak(e);
	add_amount(&e->allocated, objects, bytes);
}

void cp_stack_depot_freed(struct cp_stack_depot_entry *e, uint64_t objects, uint64_t bytes)
{
	cp_stack_depot_keep_peak(e);
	add_amount(&e->freed_elsewhere, objects, bytes);
}

void cp_stack_depot_take_fresh(void)
{
	uint32_t id = cp_exchange_acqrel(&fresh, 0);

	cp_store_relaxed(&fresh_count, 0);
	while (id) {
		struct cp_stack_depot_entry *e = cp_stack_depot_at(id);

		id = e->fresh;
		e->fresh = all;
		all = e->id;
	}
}

void cp_stack_depot_fork_child(void)
{
	cp_store_relaxed(&fresh, 0);
	cp_store_relaxed(&fresh_count, 0);
	all = 0;
	memset(buckets, 0, sizeof(buckets));
}

bool cp_stack_depot_has_fresh(void)
{
	return cp_load_relaxed(&fresh) != 0;
}

uint32_t cp_stack_depot_each(uint32_t since,
			     void (*visit)(struct cp_stack_depot_entry *e, void *arg), void *arg)
{
	for (uint32_t id = all; id && id != since; id = cp_stack_depot_at(id)->fresh)
		visit(cp_stack_depot_at(id), arg);
	return all;
}

uint64_t cp_stack_depot_mapped(void)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < TABLES; i++)
		n += cp_load_relaxed(&buckets[i]) ? bucket_count[i] * sizeof(**buckets) : 0;
	n += (cp_load_relaxed(&last_entry) / PER_CHUNK + 1) * PER_CHUNK * ENTRY_BYTES;
	n += (cp_load_relaxed(&last_group) / PER_CHUNK + 1) * PER_CHUNK * sizeof(struct group);
	return cp_load_relaxed(&last_entry) ? n : 0;
}
