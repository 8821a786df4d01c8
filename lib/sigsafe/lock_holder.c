/* Entries of unlocks that let waiters go; see lock_holder.h. */
#include "sigsafe/lock_holder.h"

#include <stddef.h>
#include <string.h>

#include "sigsafe/atomic.h"
#include "sigsafe/capture.h"
#include "sigsafe/lock_follow.h"
#include "sigsafe/lock_sample.h"
#include "sigsafe/sys.h"

/* Of a thread. The waiters of an unlock run some time after it, the last of many when all others
 * have had the lock; a thread unlocks this often in a multiple of that. */
#define PER_GROUP CP_LOCK_SAVED_UNLOCKS
#define GROUPS 4096u
/* Locks of one hash share a bucket: the newest of their unlocks. */
#define PER_BUCKET 60u
#define OPEN 1u
#define STACK 2u
#define READ 4u
#define TAKEN 8u
#define ADDING (UINT64_C(1) << 8)
#define ADDING_MASK (UINT64_C(0xffff) << 8)
#define GENERATION (UINT64_C(1) << 24)
#define GENERATION_MASK (~(GENERATION - 1))
/* A bucket names an entry by its generation, as in the state, and below it its number, one more. */
#define NUMBER_MASK (GENERATION - 1)

struct cp_holders {
	uint32_t used;		    /* 1 = it is some thread's */
	uint32_t next;		    /* entry to be used next */
	struct cp_holder *prepared; /* the next one to be opened */
	struct cp_holder entries[PER_GROUP];
};

static struct cp_holders *groups[GROUPS]; /* mapped in order, never unmapped */

/* Who holds a lock writes here before it unlocks; locks of one hash may do so at once, and then
 * some of it is lost. */
static struct bucket {
	uint64_t next; /* slot */
	struct {
		uint64_t entry, time;
	} slots[PER_BUCKET];
} buckets[CP_LOCK_FOLLOWS] __attribute__((aligned(64)));

static struct bucket *bucket_of(const void *lock)
{
	return &buckets[cp_lock_follow_hash(lock)];
}

static struct cp_holder *entry_at(uint32_t number)
{
	struct cp_holders *g =
		number / PER_GROUP < GROUPS ? cp_load_acquire(&groups[number / PER_GROUP]) : NULL;

	return g ? &g->entries[number % PER_GROUP] : NULL;
}

/* Stacks as deep as they may be at the time; a later run's deeper ones are cut. */
static struct cp_holders *map_group(uint32_t n)
{
	unsigned depth = cp_load_relaxed(&cp_capture_settings.max_depth);
	size_t record = CP_RECORD_WORDS(depth) * 8;
	struct cp_holders *g = cp_sys_map(sizeof(*g) + PER_GROUP * record);

	for (uint32_t i = 0; g && i < PER_GROUP; i++) {
		struct cp_holder *h = &g->entries[i];

		h->state = GENERATION;
		h->number = n * PER_GROUP + i;
		h->depth = depth;
		h->record = (struct cp_record *)((char *)(g + 1) + i * record);
	}
	return g;
}

static struct cp_holders *new_group(uint32_t n)
{
	struct cp_holders *g = map_group(n), *none = NULL;

	if (!g)
		return NULL;
	g->used = 1;
	if (cp_cas_acqrel(&groups[n], &none, g))
		return g;
	cp_sys_unmap(g, sizeof(*g) + PER_GROUP * CP_RECORD_WORDS(g->entries[0].depth) * 8);
	return NULL;
}

static struct cp_holders *claim_group(void)
{
	for (uint32_t n = 0; n < GROUPS; n++) {
		struct cp_holders *g = cp_load_acquire(&groups[n]);
		uint32_t unused = 0;

		if (g && !cp_load_relaxed(&g->used) && cp_cas_acqrel(&g->used, &unused, 1))
			return g;
		if (g)
			continue;
		g = new_group(n);
		if (g)
			return g;
	}
	return NULL;
}

/* Nobody adds to it or reads it: it is the owner's alone. false: somebody does. */
static bool retire(struct cp_holder *h)
{
	uint64_t state = cp_load_acquire(&h->state);

	while (!(state & (ADDING_MASK | READ)))
		if (cp_cas_acqrel(&h->state, &state, (state & GENERATION_MASK) + GENERATION))
			return true;
	return false;
}

static void publish(const struct cp_holder *h, uint64_t state)
{
	struct bucket *b = bucket_of(h->lock);
	uint64_t slot = cp_add_relaxed(&b->next, 1) % PER_BUCKET;

	cp_store_relaxed(&b->slots[slot].time, h->time);
	/* Release: who finds it sees what it says. */
	cp_store_release(&b->slots[slot].entry, (state & GENERATION_MASK) | (h->number + 1));
}

/* False: it is in use, or will be. A handler that comes in between takes another. */
static bool take_place(struct cp_holder *h)
{
	uint64_t state = cp_load_relaxed(&h->state);

	return !(state & (OPEN | TAKEN)) && cp_cas_acqrel(&h->state, &state, state | TAKEN);
}

/* The next free place, which becomes the last one to be used again; or, where room was not made (a
 * waiter was adding just then, or the group was another's), the oldest that nobody came for. */
static struct cp_holder *find_place(struct cp_holders *g)
{
	for (uint32_t i = 0; i < PER_GROUP; i++) {
		struct cp_holder *h = &g->entries[(g->next + i) % PER_GROUP];

		if (!take_place(h))
			continue;
		g->next += i + 1;
		return h;
	}
	for (uint32_t i = 0; i < PER_GROUP; i++) {
		struct cp_holder *h = &g->entries[g->next++ % PER_GROUP];

		if (!(cp_load_relaxed(&h->state) & TAKEN) && !cp_load_relaxed(&h->delay) &&
		    retire(h) && take_place(h))
			return h;
	}
	return NULL;
}

void cp_holder_prepare(struct cp_thread *t, const void *lock)
{
	struct cp_holders *g = t->holders ? t->holders : (t->holders = claim_group());
	struct bucket *b = bucket_of(lock);
	struct cp_holder *h, *none = NULL;

	if (!g || cp_load_relaxed(&g->prepared))
		return;
	h = find_place(g);
	if (!h)
		return;
	if (!cp_cas_acqrel(&g->prepared, &none, h)) {
		/* A handler has, meanwhile. */
		cp_and_seqcst(&h->state, ~(uint64_t)TAKEN);
		return;
	}
	/* What will be written with the lock held is in the cache by then. */
	__builtin_prefetch(&h->state, 1);
	__builtin_prefetch(&b->slots[cp_load_relaxed(&b->next) % PER_BUCKET], 1);
}

bool cp_holder_is_prepared(const struct cp_thread *t)
{
	return t->holders && t->holders->prepared;
}

struct cp_holder *cp_holder_open(struct cp_thread *t, const void *lock, uint64_t since,
				 uint64_t now, uint64_t weight)
{
	struct cp_holder *h;
	uint64_t state;

	cp_holder_prepare(t, lock);
	/* A handler may come in between, and take it. */
	h = t->holders ? cp_exchange_acqrel(&t->holders->prepared, NULL) : NULL;
	if (!h)
		return NULL;
	state = cp_load_relaxed(&h->state) & GENERATION_MASK;
	cp_store_relaxed(&h->lock, lock);
	h->since = since;
	h->time = now;
	h->weight = weight;
	cp_store_relaxed(&h->waits, 0);
	cp_store_relaxed(&h->delay, 0);
	cp_store_relaxed(&h->thread, t->index);
	/* Release: as above, to who finds it there. */
	cp_store_release(&h->state, state | OPEN);
	publish(h, state);
	return h;
}

void cp_holder_close(struct cp_holder *h, bool stack)
{
	if (!stack && retire(h))
		return;
	if (!stack)
		h->record->depth = 0; /* a waiter was faster */
	/* Release: who takes out its sums reads the record. */
	cp_or_seqcst(&h->state, STACK);
}

static uint64_t parts_of_wait(uint64_t part, uint64_t delay)
{
	/* Days: in coarser units. */
	while (delay >= UINT64_MAX / 2 / CP_HOLDER_WAIT) {
		part /= 2;
		delay /= 2;
	}
	return (part * CP_HOLDER_WAIT + delay / 2) / delay;
}

/* One more is adding, if the entry is still the one that WORD names. */
static bool enter(struct cp_holder *h, uint64_t word)
{
	uint64_t state = cp_load_acquire(&h->state);

	while ((state & GENERATION_MASK) == (word & GENERATION_MASK) && (state & OPEN) &&
	       (state & ADDING_MASK) != ADDING_MASK)
		if (cp_cas_acqrel(&h->state, &state, state + ADDING))
			return true;
	return false;
}

/* The part of wait W up to UNTIL that H's unlock caused. Returns where the part begins; 0: H is of
 * another lock, or gone. */
static uint64_t add(struct cp_holder *h, uint64_t word, const struct cp_lock_wait *w,
		    uint64_t until)
{
	uint64_t from = 0, part;

	if (!enter(h, word))
		return 0;
	if (h->lock == w->lock) {
		from = h->since > w->began ? h->since : w->began;
		part = until > from ? until - from : 0;
		cp_add_relaxed(&h->waits, parts_of_wait(part, w->ended - w->began));
		cp_add_relaxed(&h->delay, part);
	}
	/* Release: what was added is there when the owner sees that nobody adds. */
	cp_add_seqcst(&h->state, -ADDING);
	return from;
}

void cp_holder_deliver(const struct cp_lock_wait *w)
{
	struct bucket *b = bucket_of(w->lock);
	uint64_t next = cp_load_relaxed(&b->next), until = w->ended;

	/* The last that left its time, as each of them does, was before it. */
	if (w->last && w->last < w->began)
		return;

	for (unsigned i = 1; i <= PER_BUCKET && until > w->began; i++) {
		unsigned slot = (unsigned)((next - i) % PER_BUCKET);
		uint64_t word = cp_load_acquire(&b->slots[slot].entry);
		uint64_t time = cp_load_relaxed(&b->slots[slot].time), from;
		struct cp_holder *h = word ? entry_at((uint32_t)(word & NUMBER_MASK) - 1) : NULL;
		bool newest = time >= w->last;

		/* Older ones came before the wait, too. */
		if (time < w->began)
			break;
		if (time > w->ended || !h || cp_load_relaxed(&h->lock) != w->lock)
			continue;
		from = add(h, word, w, newest && until == w->ended ? w->ended : time);
		if (from)
			until = from;
	}
}

/* Whole waits of so many parts; what is left over is in the next one's. */
static uint64_t whole(uint64_t parts)
{
	static uint64_t all;
	uint64_t before = cp_add_relaxed(&all, parts);

	return (before + parts) / CP_HOLDER_WAIT - before / CP_HOLDER_WAIT;
}

static void take_out(struct cp_holder *h)
{
	h->record->mode = CP_MODE_HOLDERS;
	h->record->count = whole(cp_exchange_acqrel(&h->waits, 0) * h->weight);
	h->record->weight = cp_exchange_acqrel(&h->delay, 0) * h->weight;
	h->record->tag = (uint64_t)(uintptr_t)h->lock;
}

struct cp_holder *cp_holder_make_room(struct cp_thread *t)
{
	struct cp_holders *g = t->holders;
	struct cp_holder *h = g ? &g->entries[g->next % PER_GROUP] : NULL;

	if (!h || !(cp_load_relaxed(&h->state) & OPEN) || !retire(h))
		return NULL;
	take_out(h);
	return h->record->weight && h->record->depth ? h : NULL;
}

static bool begin_reading(struct cp_holder *h)
{
	uint64_t state = cp_load_acquire(&h->state);

	while ((state & (OPEN | STACK | READ)) == (OPEN | STACK) && cp_load_relaxed(&h->delay))
		if (cp_cas_acqrel(&h->state, &state, state | READ))
			return true;
	return false;
}

struct cp_holder *cp_holder_read(uint32_t *next, uint32_t end)
{
	while (*next < end) {
		struct cp_holder *h = entry_at((*next)++);

		if (!h)
			return NULL;
		if (!begin_reading(h))
			continue;
		take_out(h);
		if (h->record->depth)
			return h;
		cp_holder_give_back(h);
	}
	return NULL;
}

void cp_holder_give_back(struct cp_holder *h)
{
	/* Release: its next stack comes after we have read this one. */
	__atomic_fetch_and(&h->state, ~(uint64_t)READ, __ATOMIC_ACQ_REL);
}

void cp_holder_range(const struct cp_thread *t, uint32_t *first, uint32_t *end)
{
	*first = t->holders ? t->holders->entries[0].number : 0;
	*end = t->holders ? *first + PER_GROUP : 0;
}

void cp_holder_thread_end(struct cp_thread *t, const char *name)
{
	struct cp_holders *g = t->holders;

	if (!g)
		return;
	for (uint32_t i = 0; i < PER_GROUP; i++) {
		if (!(cp_load_relaxed(&g->entries[i].state) & OPEN))
			continue;
		memcpy(g->entries[i].name, name, CP_THREAD_NAME);
		/* Release: with it comes the name. */
		cp_store_release(&g->entries[i].thread, CP_HOLDER_ENDED);
	}
	t->holders = NULL;
	/* Release: the next owner finds them so. */
	cp_store_release(&g->used, 0);
}

void cp_holder_forget(void)
{
	struct cp_holder *h;
	uint32_t next = 0;

	while ((h = cp_holder_read(&next, UINT32_MAX)))
		cp_holder_give_back(h);
}

void cp_holder_fork_child(void)
{
	cp_lock_follow_forget();
	memset(buckets, 0, sizeof(buckets));
	for (uint32_t n = 0; n < GROUPS && groups[n]; n++) {
		for (uint32_t i = 0; i < PER_GROUP; i++) {
			struct cp_holder *h = &groups[n]->entries[i];

			cp_store_release(&h->state, (h->state & GENERATION_MASK) + GENERATION);
		}
		groups[n]->prepared = NULL;
		cp_store_release(&groups[n]->used, 0);
	}
	if (cp_self.thread)
		cp_self.thread->holders = NULL;
}
