/* SPDX-License-Identifier: BSD-3-Clause */
/* Entries of unlocks, and the division of waits among them; see lock_signal.h. */
#include "modes/lock/signal/lock_signal.h"

#include "base/sys.h"

#define BUCKET_BITS 10
#define BUCKETS (1u << BUCKET_BITS)
#define SLOTS 11u
/* The waiters of an unlock run some time after it; the last of many runs when all others have had
 * the lock. */
#define ENTRIES 32u
/* Entries that are kept free. Several threads may unlock before the first of them makes room. */
#define ROOM 4u

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
/* The last unlock ended a wait if it came at most so long before the wait's end, plus this part of
 * the wait. */
#define LATE_NS UINT64_C(1000000)
#define LATE_PART 2
/* Number of stacks that a thread may take at once, beyond the rate. */
#define SAVED 500u

/* Unlocks and waits of the locks with one hash. A waiting thread uses the slot of its number. */
static struct bucket {
	uint32_t slots[SLOTS];
	uint32_t last; /* unit of the last unlock with an entry */
	uint32_t free; /* the entry that became free last */
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
	/* If two threads have the same slot, it belongs to the one that is sampled first. */
	if (had && (had == ALWAYS || (n->from != ALWAYS && !is_before(n->from, had))))
		return;
	if (!cp_load_relaxed(&used))
		cp_store_relaxed(&used, 1);
	n->slot = slot;
	cp_store_relaxed(slot, n->from);
}

/* May the thread with CREDIT take a stack at NOW? A millisecond has MS units of time. */
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

/* Return true if H has no unlock that waits may ask for. */
static bool is_free(const struct cp_holder *h)
{
	return cp_load_relaxed(&h->time) <= cp_load_relaxed(&forgotten);
}

/* Claim H if it is free, no thread uses it and nothing is left in it. */
static bool claim_entry(struct cp_holder *h)
{
	uint64_t state = cp_load_acquire(&h->state), was = state;

	if (!is_free(h) || state & (PINS_MASK | OPEN | HIDDEN) || cp_load_relaxed(&h->delay) ||
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
		h = &all[(cp_load_relaxed(&b->free) + i) % ENTRIES];
		h = claim_entry(h) ? h : NULL;
	}
	if (!h)
		return true;
	cp_store_relaxed(&h->lock, lock);
	cp_store_relaxed(&h->time, cp_lock_now());
	h->who = cp_thread_who(t);
	cp_store_relaxed(&h->waits, 0);
	cp_store_relaxed(&h->spread, 0);
	cp_store_relaxed(&h->until, cp_load_relaxed(&h->time));
	cp_lock_holder_record(h)->depth = 0;
	/* Release: a thread that finds the entry sees its contents. */
	cp_store_release(&h->state, (cp_load_relaxed(&h->state) & -GENERATION) | OPEN);
	*to = h;
	return true;
}

/* Pin H if it is still in generation STATE. */
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

/* Pin H and take out the waits that were added to it. SPREAD before DELAY, which a waiter adds
 * first: so what is taken of SPREAD never belongs to a delay that is still to come, and a row's own
 * delay is never spread over others. */
static bool take_out(struct cp_holder *h, struct cp_event *e)
{
	uint64_t state = cp_load_acquire(&h->state), spread;
	double own;

	if (state < GENERATION || state & (OPEN | HIDDEN) || !cp_load_relaxed(&h->delay) ||
	    !pin(h, state))
		return false;
	spread = cp_exchange_acqrel(&h->spread, 0);
	*e = (struct cp_event){ .mode = CPROF_LOCK_HOLDERS,
				.weight = cp_exchange_acqrel(&h->delay, 0),
				.tag = (uint64_t)(uintptr_t)h->lock,
				.more = h->who };
	if (!e->weight) {
		/* Another thread has taken it. */
		cp_add_relaxed(&h->spread, spread);
		cp_lock_holder_give_back(h);
		return false;
	}
	cp_lock_holder_record(h)->when = cp_load_relaxed(&h->until) | CP_MOMENT_IS_NS;
	own = spread < e->weight ? 1 - (double)spread / (double)e->weight : 0;
	e->count = cp_lock_holder_count(cp_exchange_acqrel(&h->waits, 0), own);
	return true;
}

void cp_lock_holder_close(struct cp_holder *h, bool done)
{
	if (!done)
		cp_store_relaxed(&h->time, 0);
	/* Release, as all sequentially consistent changes: who takes out reads the record. */
	cp_and_seqcst(&h->state, ~OPEN);
}

/* Returns the next entry of all, or NULL. */
static struct cp_holder *next_entry(uint32_t *next)
{
	while (*next < BUCKETS * ENTRIES && cp_load_relaxed(&used)) {
		struct cp_holder *all = cp_load_acquire(&buckets[*next / ENTRIES].entries);
		struct cp_holder *h = all ? &all[*next % ENTRIES] : NULL;

		*next += h ? 1 : ENTRIES;
		if (h)
			return h;
	}
	return NULL;
}

struct cp_holder *cp_lock_holder_read(uint32_t *next, struct cp_event *e)
{
	struct cp_holder *h;

	while ((h = next_entry(next)))
		if (take_out(h, e))
			return h;
	return NULL;
}

bool cp_lock_holder_look(uint32_t *next, struct cp_event *e)
{
	struct cp_holder *h;

	while ((h = next_entry(next))) {
		uint64_t state = cp_load_acquire(&h->state);

		*e = (struct cp_event){ .count = cp_load_relaxed(&h->waits),
					.weight = cp_load_relaxed(&h->delay),
					.tag = (uint64_t)(uintptr_t)cp_load_relaxed(&h->lock) };
		if (state >= GENERATION && state & OPEN && !(state & HIDDEN) && e->weight)
			return true;
	}
	return false;
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

/* An entry as a thread found it. */
struct found {
	struct cp_holder *h;
	uint64_t state, time;
};

/* Find the entries in B of unlocks of LOCK (NULL: of any) after AFTER, until UNTIL. The oldest is
 * first. Returns their number. */
static unsigned find_unlock(const struct bucket *b, const void *lock, uint64_t after,
			    uint64_t until, struct found *to)
{
	struct cp_holder *all = cp_load_acquire(&b->entries);
	unsigned n = 0, at;

	for (unsigned i = 0; all && i < ENTRIES; i++) {
		/* Acquire: what the unlocking thread wrote. */
		struct found f = { &all[i], cp_load_acquire(&all[i].state),
				   cp_load_relaxed(&all[i].time) };

		if (f.state < GENERATION || f.state & HIDDEN || f.time > until || f.time <= after ||
		    is_free(f.h) || (lock && cp_load_relaxed(&f.h->lock) != lock))
			continue;
		for (at = n++; at && to[at - 1].time > f.time; at--)
			to[at] = to[at - 1];
		to[at] = f;
	}
	return n;
}

/* Return the monotonic ns from which on unlocks may still be needed by a wait in B. It is twice as
 * long ago as the earliest noted moment: some waits have no slot, and a wait that is being divided
 * has given its slot back. */
static uint64_t needed_from(const struct bucket *b)
{
	uint64_t ms = cp_load_relaxed(&cp_lock_clock.ms), now = cp_lock_now();
	uint32_t unit = (uint32_t)(cp_ticks() >> UNIT_SHIFT), first = unit;

	for (unsigned i = 0; i < SLOTS; i++) {
		uint32_t from = cp_load_relaxed(&b->slots[i]);

		if (from == ALWAYS)
			return 0;
		if (from && is_before(from, first))
			first = from;
	}
	return ms ? now - (((uint64_t)(unit - first) << UNIT_SHIFT) * 2000000 / ms) : 0;
}

static void set_free(struct bucket *b, const struct found *f)
{
	uint64_t time = f->time;

	if (cp_cas_acqrel(&f->h->time, &time, 0))
		cp_store_relaxed(&b->free, (uint32_t)(f->h - b->entries));
}

/* Let one of two successive unlocks of LOCK represent both: the two that came after the shortest
 * time, but not before FROM. The one is drawn, in proportion to its time. So a long hold is hardly
 * ever lost to short ones, and the short ones keep their share. */
static bool join_two(struct bucket *b, const void *lock, uint64_t from)
{
	struct found f[ENTRIES], *second = NULL;
	unsigned n = find_unlock(b, lock, 0, UINT64_MAX, f);
	uint64_t shortest = UINT64_MAX, time;

	for (unsigned i = 1; i < n; i++) {
		uint64_t both = f[i].time - (i > 1 ? f[i - 2].time : from);

		if (both < shortest)
			shortest = both, second = &f[i];
	}
	if (!second)
		return false;
	/* The random number is a hash of the time. */
	if ((double)cp_poisson_seed(second->time, second[-1].time) * 0x1p-64 * (double)shortest <
	    (double)(second->time - second[-1].time)) {
		set_free(b, second - 1);
		return true;
	}
	time = second[-1].time;
	cp_cas_acqrel(&second[-1].h->time, &time, second->time);
	set_free(b, second);
	return true;
}

/* Free an entry of B if few are free. One that no wait needs any more is the first to go. */
static bool free_one(struct bucket *b, const void *lock)
{
	struct found f[ENTRIES];
	uint64_t from = needed_from(b);

	if (find_unlock(b, NULL, 0, UINT64_MAX, f) + ROOM <= ENTRIES)
		return false;
	if (f[0].time < from || !join_two(b, lock, from))
		set_free(b, &f[0]);
	return true;
}

void cp_lock_holder_make_room(struct cp_thread *t, const void *lock)
{
	struct bucket *b = bucket_of(lock);
	struct cp_event e;

	for (unsigned i = 0; i < ROOM && free_one(b, lock); i++)
		;
	for (unsigned i = 0; b->entries && i < ENTRIES; i++) {
		struct cp_holder *h = &b->entries[i];

		if (!is_free(h) || !take_out(h, &e))
			continue;
		cp_capture_put(t, &e, cp_lock_holder_record(h));
		cp_lock_holder_give_back(h);
	}
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

/* F caused PART of W, which ended at UNTIL. Return false if F's entry belongs to another unlock by
 * now. */
static bool add_wait(const struct found *f, const struct cp_lock_waited *w, double part,
		     uint64_t until)
{
	double own = part * (double)(w->ended - w->began);
	bool is = pin(f->h, f->state);

	if (!is)
		return false;
	cp_store_relaxed(&f->h->until, until);
	cp_add_relaxed(&f->h->waits, (uint64_t)(part * w->weight * CP_LOCK_HOLDER_WAIT + 0.5));
	/* In this order; see take_out. */
	cp_add_seqcst(&f->h->delay, (uint64_t)(own * w->weight + 1));
	cp_add_seqcst(&f->h->spread, w->weight > 1 ? (uint64_t)(own * (w->weight - 1)) : 0);
	cp_lock_holder_give_back(f->h);
	return true;
}

/* An unlock without an entry may have come after the last one that has, if that was long before
 * W's end. */
static bool is_ender(const struct cp_lock_waited *w, const struct found *f)
{
	return w->got && f->time >= w->began &&
	       w->ended - f->time <= LATE_NS + (w->ended - w->began) / LATE_PART;
}

double cp_lock_holder_divide(struct cp_lock_waited *w, uint64_t self)
{
	struct found found[ENTRIES];
	uint64_t from = w->began, before = from > BEFORE_NS ? from - BEFORE_NS : 0;
	unsigned n = find_unlock(bucket_of(w->lock), w->lock, before, w->ended, found), i = 0;
	double left = 1;

	while (i < n && found[i].time < from)
		i++;
	/* Without an unlock during W, take the last one before W by another thread. */
	if (i == n && w->got) {
		while (n && found[n - 1].h->who == self)
			n--;
		i = n ? n - 1 : 0;
	}
	for (; i < n; i++) {
		double part = part_of(w, &found[i], from, i + 1 == n);

		if (i + 1 == n && is_ender(w, &found[i]) && pin(found[i].h, found[i].state)) {
			w->ender = found[i].h->who;
			cp_lock_holder_give_back(found[i].h);
		}
		if (part > 0 &&
		    add_wait(&found[i], w, part, i + 1 == n && w->got ? w->ended : found[i].time))
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

		/* Write only where necessary, because each written page is copied. */
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
