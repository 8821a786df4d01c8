/* SPDX-License-Identifier: BSD-3-Clause */
/* Entries of unlocks that let waiters go; see lock_holder.h. */
#include "modes/lock/signal/lock_holder.h"

#include <stddef.h>
#include <string.h>

#include "base/atomic.h"
#include "sample/capture.h"
#include "modes/lock/signal/lock_unlock_log.h"
#include "modes/lock/signal/lock_sample.h"
#include "base/sys.h"

/* Entries of a thread. The waiters of an unlock run some time after it; the last of many runs when
 * all others have had the lock. A thread unlocks this often only in a multiple of that time. */
#define PER_GROUP CP_LOCK_SAVED_UNLOCKS
#define GROUPS 4096u
#define IN_TURN 32u
/* Locks of one hash share a bucket with the newest of their unlocks. */
#define PER_BUCKET 60u
#define OPEN 1u
#define STACK 2u
#define READ 4u
#define TAKEN 8u
#define ADDING (UINT64_C(1) << 8)
#define ADDING_MASK (UINT64_C(0xffff) << 8)
#define GENERATION (UINT64_C(1) << 24)
#define GENERATION_MASK (~(GENERATION - 1))
/* A bucket identifies an entry by its generation, as in the state, and, in the bits below, its
 * number plus one. */
#define NUMBER_MASK (GENERATION - 1)

struct cp_holders {
	uint32_t used;		    /* 1 = a thread owns the group */
	uint32_t next;		    /* entry to be used next */
	struct cp_holder *prepared; /* the entry to be opened next */
	struct cp_holder entries[PER_GROUP];
};

static struct cp_holders *groups[GROUPS]; /* never unmapped */

/* The holder of a lock writes here before it unlocks. Holders of locks of one hash may write at
 * once, and then some of the data is lost. */
static struct bucket {
	uint64_t next; /* slot */
	struct {
		uint64_t entry, time;
	} slots[PER_BUCKET];
} buckets[CP_LOCK_FOLLOWS] __attribute__((aligned(64)));

static struct bucket *bucket_of(const void *lock)
{
	return &buckets[cp_lock_unlock_log_hash(lock)];
}

static struct cp_holder *entry_at(uint32_t number)
{
	struct cp_holders *g =
		number / PER_GROUP < GROUPS ? cp_load_acquire(&groups[number / PER_GROUP]) : NULL;

	return g ? &g->entries[number % PER_GROUP] : NULL;
}

/* The depth is the limit at this time; a later run's deeper stacks are cut. */
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

/* Claim the groups up to IN_TURN one after the other. A thread that ends gives its group back while
 * threads that its unlock let go may still be on their way, so the group must not be the next one
 * to be claimed. */
static struct cp_holders *claim_group(void)
{
	static uint32_t turn;

	for (uint32_t i = 0; i < IN_TURN + GROUPS; i++) {
		uint32_t n = i < IN_TURN ? cp_add_relaxed(&turn, 1) % IN_TURN : i - IN_TURN;
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

/* Free entry H for its owner alone. Returns false if a thread is adding to it or reading it. */
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
	/* Release: a thread that finds the entry sees its contents. */
	cp_store_release(&b->slots[slot].entry, (state & GENERATION_MASK) | (h->number + 1));
}

/* Claim entry H. Returns false if it is in use or claimed. A handler that interrupts claims another
 * one. */
static bool take_place(struct cp_holder *h)
{
	uint64_t state = cp_load_relaxed(&h->state);

	return !(state & (OPEN | TAKEN)) && cp_cas_acqrel(&h->state, &state, state | TAKEN);
}

/* Claim the next free place, which becomes the last one to be reused. If no room was made (a waiter
 * was adding just then, or the group was another thread's), claim the oldest place to which no
 * waiter has added. */
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

void cp_lock_holder_prepare(struct cp_thread *t, const void *lock)
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
		/* A handler has prepared a place meanwhile. */
		cp_and_seqcst(&h->state, ~(uint64_t)TAKEN);
		return;
	}
	/* Fetch what will be written with the lock held into the cache. */
	__builtin_prefetch(&h->state, 1);
	__builtin_prefetch(&b->slots[cp_load_relaxed(&b->next) % PER_BUCKET], 1);
}

bool cp_lock_holder_is_prepared(const struct cp_thread *t)
{
	return t->holders && t->holders->prepared;
}

struct cp_holder *cp_lock_holder_open(struct cp_thread *t, const void *lock, uint64_t since,
				      uint64_t now, uint64_t weight)
{
	struct cp_holder *h;
	uint64_t state;

	cp_lock_holder_prepare(t, lock);
	/* A handler may interrupt here and take it. */
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
	/* Release: as in publish, for a thread that finds the entry. */
	cp_store_release(&h->state, state | OPEN);
	publish(h, state);
	return h;
}

void cp_lock_holder_close(struct cp_holder *h, bool stack)
{
	if (!stack && retire(h))
		return;
	if (!stack)
		h->record->depth = 0; /* a waiter has already added */
	/* Release: a thread that takes out the sums reads the record. */
	cp_or_seqcst(&h->state, STACK);
}

static uint64_t parts_of_wait(uint64_t part, uint64_t delay)
{
	/* For waits of days, use coarser units. */
	while (delay >= UINT64_MAX / 2 / CP_HOLDER_WAIT) {
		part /= 2;
		delay /= 2;
	}
	return (part * CP_HOLDER_WAIT + delay / 2) / delay;
}

/* Count one more adding thread, if the entry is still the one that WORD names. Returns false if it
 * isn't. */
static bool enter(struct cp_holder *h, uint64_t word)
{
	uint64_t state = cp_load_acquire(&h->state);

	while ((state & GENERATION_MASK) == (word & GENERATION_MASK) && (state & OPEN) &&
	       (state & ADDING_MASK) != ADDING_MASK)
		if (cp_cas_acqrel(&h->state, &state, state + ADDING))
			return true;
	return false;
}

/* Add to H the part of wait W up to UNTIL that H's unlock caused. Returns where the part begins; 0:
 * H belongs to another lock, or was reused. */
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
	/* Release: the owner sees what was added when it sees that no thread is adding. */
	cp_add_seqcst(&h->state, -ADDING);
	return from;
}

void cp_lock_holder_deliver(const struct cp_lock_wait *w)
{
	struct bucket *b = bucket_of(w->lock);
	uint64_t next = cp_load_relaxed(&b->next), until = w->ended;

	/* The last unlock that left its time, as each recorded one does, was before the wait. */
	if (w->last && w->last < w->began)
		return;

	for (unsigned i = 1; i <= PER_BUCKET && until > w->began; i++) {
		unsigned slot = (unsigned)((next - i) % PER_BUCKET);
		uint64_t word = cp_load_acquire(&b->slots[slot].entry);
		uint64_t time = cp_load_relaxed(&b->slots[slot].time), from;
		struct cp_holder *h = word ? entry_at((uint32_t)(word & NUMBER_MASK) - 1) : NULL;
		bool newest = time >= w->last;

		/* Older unlocks came before the wait, too. */
		if (time < w->began)
			break;
		if (time > w->ended || !h || cp_load_relaxed(&h->lock) != w->lock)
			continue;
		from = add(h, word, w, newest && until == w->ended ? w->ended : time);
		if (from)
			until = from;
	}
}

/* Convert PARTS of waits to whole waits; the remainder goes into the next conversion. */
static uint64_t whole(uint64_t parts)
{
	static uint64_t all;
	uint64_t before = cp_add_relaxed(&all, parts);

	return (before + parts) / CP_HOLDER_WAIT - before / CP_HOLDER_WAIT;
}

static void take_out(struct cp_holder *h)
{
	h->record->mode = CPROF_LOCK_HOLDERS;
	h->record->count = whole(cp_exchange_acqrel(&h->waits, 0) * h->weight);
	h->record->weight = cp_exchange_acqrel(&h->delay, 0) * h->weight;
	h->record->tag = (uint64_t)(uintptr_t)h->lock;
	h->record->longest = 0;
}

struct cp_holder *cp_lock_holder_make_room(struct cp_thread *t)
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

struct cp_holder *cp_lock_holder_read(uint32_t *next, uint32_t end)
{
	while (*next < end && *next < GROUPS * PER_GROUP) {
		struct cp_holder *h = entry_at(*next);

		*next += h ? 1 : PER_GROUP;
		if (!h || !begin_reading(h))
			continue;
		take_out(h);
		if (h->record->depth)
			return h;
		cp_lock_holder_give_back(h);
	}
	return NULL;
}

void cp_lock_holder_give_back(struct cp_holder *h)
{
	/* Release: the entry's next stack is written after this one was read. */
	__atomic_fetch_and(&h->state, ~(uint64_t)READ, __ATOMIC_ACQ_REL);
}

void cp_lock_holder_range(const struct cp_thread *t, uint32_t *first, uint32_t *end)
{
	*first = t->holders ? t->holders->entries[0].number : 0;
	*end = t->holders ? *first + PER_GROUP : 0;
}

void cp_lock_holder_thread_end(struct cp_thread *t, const char *name)
{
	struct cp_holders *g = t->holders;

	if (!g)
		return;
	for (uint32_t i = 0; i < PER_GROUP; i++) {
		if (!(cp_load_relaxed(&g->entries[i].state) & OPEN))
			continue;
		memcpy(g->entries[i].name, name, CP_THREAD_NAME);
		/* Release: publishes the name, too. */
		cp_store_release(&g->entries[i].thread, CP_HOLDER_ENDED);
	}
	t->holders = NULL;
	/* Release: the next owner finds the entries in this state. */
	cp_store_release(&g->used, 0);
}

void cp_lock_holder_forget(void)
{
	struct cp_holder *h;
	uint32_t next = 0;

	while ((h = cp_lock_holder_read(&next, UINT32_MAX)))
		cp_lock_holder_give_back(h);
}

/* Empty all entries in the child. Each entry gets a new generation, so the slots in the buckets no
 * longer match any entry. The slots themselves are left: clearing them would make the child copy
 * 240 pages. */
void cp_lock_holder_fork_child(void)
{
	cp_lock_unlock_log_forget();
	for (uint32_t n = 0; n < GROUPS; n++) {
		if (!groups[n])
			continue;
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
