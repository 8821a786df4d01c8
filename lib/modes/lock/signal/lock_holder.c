/* SPDX-License-Identifier: BSD-3-Clause */
/* Entries of unlocks, and the division of waits among them; see lock_holder.h. */
#include "modes/lock/signal/lock_holder.h"

#include <stddef.h>

#include "base/atomic.h"
#include "base/sys.h"
#include "sample/capture.h"
#include "sample/ticks.h"

#define BUCKET_BITS 10
#define BUCKETS (1u << BUCKET_BITS)
#define SLOTS 11u
/* The waiters of an unlock run some time after it; the last of many runs when all others have had
 * the lock. */
#define ENTRIES 32u
/* A wait with as many entries may have lost some. */
#define MANY (ENTRIES - ENTRIES / 4)
/* Entries that an unlock with an entry empties: more than one, because a wait may add to all of
 * them. */
#define ROOM 2u

/* Moments of slots are in units of 1024 ticks, and wrap around. 0: the slot is free. ALWAYS: the
 * rate of ticks isn't known, so each unlock may be wanted. */
#define UNIT_SHIFT 10
#define ALWAYS 1u

#define GENERATION (UINT64_C(1) << 32)
#define OPEN (UINT64_C(1) << 31)
#define HIDDEN (UINT64_C(1) << 30)
#define PINS_MASK UINT64_C(0xffff)

/* An unlock this long before a wait is taken for the one that the wait came after. */
#define BEFORE_NS UINT64_C(100000000)
/* The stacks that a thread may take at once, beyond the rate. */
#define SAVED 500u

/* For the locks of one hash. A waiting thread writes to the slot of its number. */
static struct bucket {
	uint32_t slots[SLOTS];
	uint32_t last; /* unit of the last unlock with an entry */
	uint32_t next; /* the entry to be used next */
	uint32_t leaving;
	struct cp_holder *entries; /* mapped for the first unlock that is wanted */
} buckets[BUCKETS] __attribute__((aligned(64)));
_Static_assert(sizeof(struct bucket) == 64, "an unlock reads one cache line");

static uint64_t
	forgotten; /* monotonic ns: unlocks until then are of an earlier run, or the parent's */
uint32_t cp_lock_holder_pace;
static uint32_t used; /* a thread has waited: a child that has no buckets to clear reads none */

static struct bucket *bucket_of(const void *lock)
{
	uint64_t h = (uint64_t)(uintptr_t)lock * UINT64_C(0x9e3779b97f4a7c15);

	return &buckets[h >> (64 - BUCKET_BITS)];
}

uint32_t *cp_lock_holder_leaving(const void *lock)
{
	return &bucket_of(lock)->leaving;
}

static bool is_before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

static uint32_t unit_of(struct cp_lock_moment began, uint64_t after)
{
	uint64_t ms = cp_load_relaxed(&cp_lock_clock.ms), unit;

	if (!ms)
		return ALWAYS;
	unit = (began.ticks + after / 1000 * ms / 1000) >> UNIT_SHIFT;
	return (uint32_t)unit > ALWAYS ? (uint32_t)unit : ALWAYS + 1;
}

void cp_lock_holder_note(struct cp_lock_note *n, const struct cp_thread *t, const void *lock,
			 struct cp_lock_moment began, uint64_t after)
{
	uint32_t *slot = &bucket_of(lock)->slots[t->index % SLOTS], had = cp_load_relaxed(slot);

	*n = (struct cp_lock_note){ NULL, unit_of(began, after) };
	/* Of two threads with one slot, the one that is sampled first has it. */
	if (had && (had == ALWAYS || (n->from != ALWAYS && !is_before(n->from, had))))
		return;
	if (!cp_load_relaxed(&used))
		cp_store_relaxed(&used, 1);
	n->slot = slot;
	cp_store_relaxed(slot, n->from);
}

/* May the thread with CREDIT take a stack at NOW, in units of which a millisecond has MS? */
static bool takes(uint64_t *credit, uint64_t now, uint64_t ms)
{
	uint64_t price = cp_load_relaxed(&cp_lock_holder_pace) * ms / 1000;

	if (*credit < now || *credit > now + 2 * SAVED * price)
		*credit = now;
	if (*credit - now >= SAVED * price && price)
		return false;
	*credit += price;
	return true;
}

/* Return true if an unlock in B needs an entry. */
static bool is_wanted(struct bucket *b, uint64_t *credit)
{
	uint64_t ms = cp_load_relaxed(&cp_lock_clock.ms), ticks = cp_ticks();
	uint32_t now = (uint32_t)(ticks >> UNIT_SHIFT), soon = now + (uint32_t)(ms >> UNIT_SHIFT);
	uint32_t last = cp_load_relaxed(&b->last);
	bool any = false, first = false;

	for (unsigned i = 0; i < SLOTS; i++) {
		uint32_t from = cp_load_relaxed(&b->slots[i]);

		any |= from && (from == ALWAYS || is_before(from, soon));
		first |= from > ALWAYS && !is_before(now, from) && is_before(last, from);
	}
	if (!any)
		return false;
	if (!first && !takes(credit, ms ? ticks : cp_lock_now(), ms ? ms : 1000000))
		return false;
	cp_store_relaxed(&b->last, now);
	return true;
}

static struct cp_holder *entries_of(struct bucket *b)
{
	struct cp_holder *had = cp_load_acquire(&b->entries), *made;

	if (had)
		return had;
	made = cp_sys_map(ENTRIES * sizeof(*made));
	/* Release: a thread that finds the entries sees them empty. */
	if (!made || cp_cas_acqrel(&b->entries, &had, made))
		return made;
	cp_sys_unmap(made, ENTRIES * sizeof(*made));
	return had;
}

/* Claim H if no thread uses it and nothing is left in it. */
static bool claim(struct cp_holder *h)
{
	uint64_t state = cp_load_acquire(&h->state), was = state;

	if (state & (PINS_MASK | OPEN | HIDDEN) || cp_load_relaxed(&h->delay) ||
	    !cp_cas_acqrel(&h->state, &state, (state & -GENERATION) + GENERATION + HIDDEN))
		return false;
	/* A waiter may have added in between. Release: it was only looked at. */
	if (cp_load_relaxed(&h->delay)) {
		cp_store_release(&h->state, was);
		return false;
	}
	return true;
}

bool cp_lock_holder_open(struct cp_thread *t, uint64_t *credit, const void *lock,
			 struct cp_holder **to)
{
	struct bucket *b = bucket_of(lock);
	struct cp_holder *all, *h = NULL;

	*to = NULL;
	if (!is_wanted(b, credit))
		return false;
	all = entries_of(b);
	for (unsigned i = 0; all && !h && i < ENTRIES; i++) {
		h = &all[cp_add_relaxed(&b->next, 1) % ENTRIES];
		h = claim(h) ? h : NULL;
	}
	if (!h)
		return true;
	cp_store_relaxed(&h->lock, lock);
	cp_store_relaxed(&h->time, cp_lock_now());
	h->who = cp_lock_holder_who(t);
	cp_store_relaxed(&h->waits, 0);
	cp_store_relaxed(&h->own, 0);
	cp_lock_holder_record(h)->depth = 0;
	/* Release: a thread that finds the entry sees its contents. */
	cp_store_release(&h->state, (cp_load_relaxed(&h->state) & -GENERATION) | OPEN);
	*to = h;
	return true;
}

/* Pin H if it is in generation STATE still. */
static bool pin(struct cp_holder *h, uint64_t state)
{
	uint64_t now = cp_load_acquire(&h->state);

	while ((now & -GENERATION) == (state & -GENERATION) && !(now & HIDDEN) &&
	       (now & PINS_MASK) != PINS_MASK)
		if (cp_cas_acqrel(&h->state, &now, now + 1))
			return true;
	return false;
}

void cp_lock_holder_give_back(struct cp_holder *h)
{
	/* Release: the entry's next contents are written after these were used. */
	cp_add_seqcst(&h->state, -UINT64_C(1));
}

/* Pin H and take out what was added to it. */
static bool take_out(struct cp_holder *h, struct cp_event *e)
{
	uint64_t state = cp_load_acquire(&h->state), waits, own;

	if (state < GENERATION || state & (OPEN | HIDDEN) || !cp_load_relaxed(&h->delay) ||
	    !pin(h, state))
		return false;
	waits = cp_exchange_acqrel(&h->waits, 0);
	own = cp_exchange_acqrel(&h->own, 0);
	*e = (struct cp_event){ .mode = CPROF_LOCK_HOLDERS,
				.weight = cp_exchange_acqrel(&h->delay, 0),
				.tag = (uint64_t)(uintptr_t)h->lock,
				.longest = h->who };
	if (e->weight) {
		e->count = cp_lock_holder_count(
			waits, own < e->weight ? (double)own / (double)e->weight : 1);
		return true;
	}
	cp_lock_holder_give_back(h);
	return false;
}

void cp_lock_holder_close(struct cp_holder *h, bool done)
{
	if (!done)
		cp_store_relaxed(&h->time, 0);
	/* Release, as all sequentially consistent changes: who takes out reads the record. */
	cp_and_seqcst(&h->state, ~OPEN);
}

void cp_lock_holder_make_room(struct cp_thread *t, const void *lock)
{
	struct bucket *b = bucket_of(lock);
	uint32_t next = cp_load_relaxed(&b->next);
	struct cp_event e;
	unsigned made = 0;

	for (unsigned i = 0; b->entries && made < ROOM && i < ENTRIES; i++) {
		struct cp_holder *h = &b->entries[(next + i) % ENTRIES];

		if (!take_out(h, &e))
			continue;
		cp_capture_put(t, &e, cp_lock_holder_record(h));
		cp_lock_holder_give_back(h);
		made++;
	}
}

struct cp_holder *cp_lock_holder_read(uint32_t *next, struct cp_event *e)
{
	while (*next < BUCKETS * ENTRIES && cp_load_relaxed(&used)) {
		struct cp_holder *all = cp_load_acquire(&buckets[*next / ENTRIES].entries);
		struct cp_holder *h = all ? &all[*next % ENTRIES] : NULL;

		*next += h ? 1 : ENTRIES;
		if (h && take_out(h, e))
			return h;
	}
	return NULL;
}

void cp_lock_holder_forget(void)
{
	struct cp_holder *h;
	struct cp_event e;
	uint32_t next = 0;

	cp_store_relaxed(&forgotten, cp_lock_now());
	while ((h = cp_lock_holder_read(&next, &e)))
		cp_lock_holder_give_back(h);
}

/* An entry as a wait found it. */
struct found {
	struct cp_holder *h;
	uint64_t state, time;
};

/* Find the entries of W's lock during W, the oldest first. If there is none, find the last one
 * before W. Returns their number. */
static unsigned find(const struct cp_lock_waited *w, uint64_t self, struct found *to)
{
	struct cp_holder *all = cp_load_acquire(&bucket_of(w->lock)->entries);
	struct found before = { NULL, 0, w->began - BEFORE_NS };
	unsigned n = 0, at;

	for (unsigned i = 0; all && i < ENTRIES; i++) {
		/* Acquire: what the unlocking thread wrote. */
		struct found f = { &all[i], cp_load_acquire(&all[i].state),
				   cp_load_relaxed(&all[i].time) };

		if (f.state < GENERATION || f.state & HIDDEN || f.time > w->ended ||
		    f.time <= cp_load_relaxed(&forgotten) || cp_load_relaxed(&f.h->lock) != w->lock)
			continue;
		if (f.time < w->began) {
			if (f.time > before.time && f.h->who != self)
				before = f;
			continue;
		}
		for (at = n++; at && to[at - 1].time > f.time; at--)
			to[at] = to[at - 1];
		to[at] = f;
	}
	if (!n && before.h && w->got)
		to[n++] = before;
	return n;
}

/* Return the part of W that the unlock of F caused. FROM: that of the unlock before it, or the
 * begin of the wait. LAST: no other unlock came after it. */
static double part_of(const struct cp_lock_waited *w, const struct found *f, uint64_t from,
		      bool last)
{
	uint64_t until = last && w->got ? w->ended : f->time;
	unsigned points = 0;

	if (!w->points)
		return until > from ? (double)(until - from) / (double)(w->ended - w->began) : 0;
	for (unsigned i = 0; i < w->count; i++)
		points += (w->points[i] > from || from == w->began) && w->points[i] <= until;
	return (double)points / w->count;
}

/* Return false if F's entry is another unlock's meanwhile. */
static bool add(const struct found *f, const struct cp_lock_waited *w, double part)
{
	double own = part * (double)(w->ended - w->began);
	bool is = pin(f->h, f->state);

	if (!is)
		return false;
	cp_add_relaxed(&f->h->waits, (uint64_t)(part * w->weight * CP_LOCK_HOLDER_WAIT + 0.5));
	cp_add_relaxed(&f->h->own, (uint64_t)(own + 1));
	cp_add_relaxed(&f->h->delay, (uint64_t)(own * w->weight + 1));
	cp_lock_holder_give_back(f->h);
	return true;
}

double cp_lock_holder_divide(const struct cp_lock_waited *w, uint64_t self)
{
	struct found found[ENTRIES];
	unsigned n = find(w, self, found);
	uint64_t from = w->began;
	double left = 1, scale = 1;
	struct cp_lock_waited later = *w;
	unsigned i = 0;

	/* Earlier ones may have been used again: the others stand for them. */
	if (n >= MANY) {
		from = found[i++].time;
		later.points = NULL;
		scale = (double)(w->ended - w->began) / (double)(w->ended - from + 1);
	}
	for (; i < n; i++) {
		double part = part_of(&later, &found[i], from, i + 1 == n) * scale;

		if (part > 0 && add(&found[i], w, part))
			left -= part;
		from = found[i].time > from ? found[i].time : from;
	}
	return left > 0 ? left : 0;
}

void cp_lock_holder_fork_child(void)
{
	if (!cp_load_relaxed(&used))
		return;
	forgotten = cp_lock_now();
	for (unsigned i = 0; i < BUCKETS; i++) {
		struct bucket *b = &buckets[i];

		/* Written only where it must be: each page that is written to is copied. */
		for (unsigned k = 0; k < SLOTS; k++)
			if (b->slots[k])
				b->slots[k] = 0;
		if (b->leaving)
			b->leaving = 0;
		for (unsigned k = 0; b->entries && k < ENTRIES; k++) {
			if (b->entries[k].state & ~-GENERATION)
				b->entries[k].state &= -GENERATION;
			if (b->entries[k].delay)
				b->entries[k].delay = 0;
		}
	}
}
