/* SPDX-License-Identifier: BSD-3-Clause */
/* Matches wakes with waits; see wakes.h. */
#include "sample/wakes.h"

#include "base/sys.h"

/* The state of an entry: a generation in the upper half, pins, and the number of waits that may
 * still take it. */
#define GENERATION (UINT64_C(1) << 32)
#define PIN (UINT64_C(1) << 24)
#define PINS_MASK (UINT64_C(0xff) << 24)
#define FILLING (UINT64_C(1) << 23)
#define LEFT_MASK UINT64_C(0xffff) /* all bits set: any number of waits */

/* Time in which a waking thread earns one stack, and the most that it saves: at most 1 % of its
 * time. */
#define STACK_NS UINT64_C(200000)
#define STACKS_SAVED_NS UINT64_C(200000000)

uint32_t cp_wakes_on;
struct cp_wakes_settings cp_wakes_settings[2];
uint64_t cp_wakes_counts[2][CP_WAKES_COUNTS];

struct entry {
	uint64_t state;
	uint64_t key, time; /* TIME is monotonic ns */
};

struct cp_wakes_entries {
	uint32_t next; /* index of the entry to be filled next */
	struct entry entry[CP_WAKES_ENTRIES];
	uint64_t records[CP_WAKES_ENTRIES][CP_RECORD_WORDS(CP_WAKES_DEPTH)];
};

/* The waker's part of a thread's record. */
struct part {
	uint64_t credit; /* monotonic ns: stacks are taken up to here */
};

extern const struct part cp_wakes_part CP_THREAD_PART;
const struct part cp_wakes_part = { 0 };

void cp_wakes_set(unsigned of, uint64_t threshold_ns, uint32_t budget)
{
	cp_store_relaxed(&cp_wakes_settings[of >> 1].threshold_ns, threshold_ns);
	cp_store_relaxed(&cp_wakes_settings[of >> 1].budget, budget);
}

/* Return the mode in whose file the waits OF are. */
static enum cprof_mode mode_of(unsigned of)
{
	return of == CP_WAKES_OF_IO ? CPROF_IO_WAKERS : CPROF_LOCK_WAKERS;
}

static struct part *part_of(const struct cp_thread *t)
{
	return cp_thread_part(t, &cp_wakes_part);
}

void cp_wakes_begin(struct cp_wakes_wait *w, struct cp_thread *t, unsigned of, uint64_t key,
		    struct cp_lock_moment began)
{
	w->thread = NULL;
	if (!t || !(cp_load_relaxed(&cp_wakes_on) & of))
		return;
	w->key = key;
	w->began = began;
	w->thread = t;
	w->weight = cp_waiters_open(t, cp_waiters_bucket_of(key),
				    cp_load_relaxed(&cp_wakes_settings[of >> 1].budget));
}

void cp_wakes_cancel(const struct cp_wakes_wait *w)
{
	if (w->thread)
		cp_waiters_close(w->thread);
}

static bool matches(const struct entry *e, uint64_t state, uint64_t key, uint64_t began,
		    uint64_t until)
{
	return state >= GENERATION && !(state & FILLING) && e->key == key && e->time >= began &&
	       e->time <= until;
}

/* Return true if entry A, in state SA, is preferred to B. First come the entries that waits may
 * still take, the oldest or the newest one first; then the newest of the used ones. */
static bool is_better(const struct entry *a, uint64_t sa, const struct entry *b, uint64_t sb,
		      bool newest)
{
	bool la = (sa & LEFT_MASK) != 0, lb = (sb & LEFT_MASK) != 0;

	if (la != lb)
		return la;
	return (a->time > b->time) == (newest || !la);
}

static struct entry *find_wake(struct cp_wakes_entries *all, const struct cp_wakes_wait *w,
			       uint64_t until, bool newest, uint64_t *state)
{
	struct entry *best = NULL;

	for (unsigned i = 0; i < CP_WAKES_ENTRIES; i++) {
		struct entry *e = &all->entry[i];
		/* Acquire: what the waking thread wrote. */
		uint64_t s = cp_load_acquire(&e->state);

		if (!matches(e, s, w->key, w->began.ns, until) ||
		    (best && !is_better(e, s, best, *state, newest)))
			continue;
		best = e;
		*state = s;
	}
	return best;
}

/* Take the wake that ended wait W before UNTIL. PIN_IT: its entry stays until unpin; otherwise it
 * is only used up. Returns NULL if there is none. */
static struct entry *take_wake(struct cp_wakes_entries *all, const struct cp_wakes_wait *w,
			       uint64_t until, bool newest, bool pin_it)
{
	/* An entry that changes between the two steps has been taken by another wait. */
	for (unsigned tries = 0; tries < CP_WAKES_ENTRIES; tries++) {
		uint64_t state, to;
		struct entry *e = find_wake(all, w, until, newest, &state);

		if (!e || (pin_it && (state & PINS_MASK) == PINS_MASK))
			return NULL;
		to = state + (pin_it ? PIN : 0);
		if ((state & LEFT_MASK) && (state & LEFT_MASK) != LEFT_MASK)
			to--;
		if (to == state || cp_cas_acqrel(&e->state, &state, to))
			return pin_it ? e : NULL;
	}
	return NULL;
}

static void unpin(struct entry *e)
{
	/* Release: the entry's next stack is written after this one was read. */
	cp_add_seqcst(&e->state, -PIN);
}

static struct cp_record *record_of(struct cp_wakes_entries *all, const struct entry *e)
{
	return (void *)all->records[e - all->entry];
}

static uint64_t mark_of(enum cp_wakes_how how, const struct cp_record *waker)
{
	if (how == CP_WAKES_TIMED_OUT)
		return CP_PC_TIMED_OUT;
	if (how == CP_WAKES_INTERRUPTED)
		return CP_PC_INTERRUPTED;
	return waker && waker->depth ? CP_PC_WOKEN : CP_PC_WAKER_UNKNOWN;
}

static enum cp_wakes_count count_of(enum cp_wakes_how how, const struct cp_record *waker)
{
	if (how == CP_WAKES_TIMED_OUT || how == CP_WAKES_INTERRUPTED)
		return CP_WAKES_NOT_WOKEN;
	return !waker ? CP_WAKES_UNKNOWN : waker->depth ? CP_WAKES_KNOWN : CP_WAKES_NO_STACK;
}

/* In a vfork's child, and in a clone that shares its maker's TLS, the record in TLS belongs to
 * another thread. */
__attribute__((noinline)) static void record(const struct cp_wakes_wait *w, unsigned of,
					     struct cp_event *e, enum cp_wakes_how how,
					     struct cp_wakes_entries *entries, uint64_t ended,
					     const void *function)
{
	struct cp_thread *t = w->thread;
	const uint64_t all = CP_SIGSET_ALL;
	const struct cp_record *waker;
	struct cp_regs regs = { 0 };
	struct entry *wake;
	uint64_t mask, began;

	if (cp_load_relaxed(&t->tid) != cp_sys_gettid())
		return;
	began = cp_timing_begin();
	/* Block all signals: a handler could wait, too, or jump away and leave the entry pinned. */
	cp_sys_sigmask(SIG_SETMASK, &all, &mask);
	wake = entries ? take_wake(entries, w, ended, how == CP_WAKES_WOKEN_LAST, true) : NULL;
	waker = wake ? record_of(entries, wake) : NULL;
	e->more = waker ? waker->more : 0;
	cp_regs_here(&regs);
	if (cp_capture_below(t, e, &regs, function, waker, mark_of(how, waker)))
		cp_add_relaxed(&cp_wakes_counts[of >> 1][count_of(how, waker)], 1);
	if (wake)
		unpin(wake);
	cp_sys_sigmask(SIG_SETMASK, &mask, NULL);
	cp_timing_end(e->mode, began);
}

void cp_wakes_end(const struct cp_wakes_wait *w, unsigned of, enum cp_wakes_how how, uint64_t tag,
		  const void *function)
{
	const struct cp_wakes_settings *s = &cp_wakes_settings[of >> 1];
	struct cp_waiters_bucket *b;
	struct cp_wakes_entries *entries = NULL;
	struct cp_event event;
	uint64_t ended, delay;
	bool sample;

	if (!w->thread)
		return;
	b = cp_waiters_bucket_of(w->key);
	ended = cp_lock_end(w->began);
	delay = ended - w->began.ns;
	event.count = delay >= CP_WAKES_LONG_NS ? 1 : w->weight;
	sample = event.count && delay >= cp_load_relaxed(&s->threshold_ns) &&
		 w->began.ns >= s->since && (cp_load_relaxed(&cp_wakes_on) & of);
	event.mode = mode_of(of);
	event.weight = delay * event.count;
	event.tag = tag;
	cp_wakes_cancel(w);
	if (sample && cp_load_relaxed(&w->thread->paused)) {
		cp_count_mode(event.mode, CP_COUNT_LOST_PAUSED, 1);
		sample = false;
	}
	/* Acquire: pairs with the release in entries_of. A wait that is no sample takes its wake,
	 * too: else a later sample would take it for its own. */
	if ((how == CP_WAKES_WOKEN || how == CP_WAKES_WOKEN_LAST) &&
	    cp_load_relaxed(&b->newest) >= w->began.ns)
		entries = cp_load_acquire(&b->entries);
	if (sample)
		record(w, of, &event, how, entries, ended, function);
	else if (entries)
		take_wake(entries, w, ended, how == CP_WAKES_WOKEN_LAST, false);
}

/* Return true if T may take one more stack as a waking thread. */
static bool takes(struct cp_thread *t)
{
	struct part *p = part_of(t);
	uint64_t now = cp_lock_now();

	if (p->credit < now)
		p->credit = now;
	if (p->credit - now >= STACKS_SAVED_NS)
		return false;
	p->credit += STACK_NS;
	return true;
}

static struct cp_wakes_entries *entries_of(struct cp_waiters_bucket *b)
{
	struct cp_wakes_entries *had = cp_load_acquire(&b->entries), *made;

	if (had)
		return had;
	made = cp_sys_map(sizeof(*made));
	/* Release: a thread that finds the entries sees them empty. */
	if (!made || cp_cas_acqrel(&b->entries, &had, made))
		return made;
	cp_sys_unmap(made, sizeof(*made));
	return had;
}

/* Claim an entry that no thread fills or has pinned; NULL: there is none. */
static struct entry *open_entry(struct cp_wakes_entries *all)
{
	for (unsigned i = 0; i < CP_WAKES_ENTRIES; i++) {
		struct entry *e = &all->entry[cp_add_relaxed(&all->next, 1) % CP_WAKES_ENTRIES];
		uint64_t state = cp_load_acquire(&e->state);
		uint64_t to = (state & -GENERATION) + GENERATION + FILLING;

		if (!(state & (PINS_MASK | FILLING)) && cp_cas_acqrel(&e->state, &state, to))
			return e;
	}
	return NULL;
}

static void close_entry(struct cp_waiters_bucket *b, struct entry *e, const struct cp_wakes_wake *w)
{
	uint64_t generation = cp_load_relaxed(&e->state) & -GENERATION, now = cp_lock_now();

	e->key = w->key;
	e->time = now;
	/* Release: a thread that finds the entry sees its contents. */
	cp_store_release(&e->state, generation | (w->most < LEFT_MASK ? w->most : LEFT_MASK));
	cp_store_relaxed(&b->newest, now);
}

/* Fill E's record. All signals are blocked. */
__attribute__((noinline)) static void take_stack(struct cp_thread *t, const struct cp_wakes_wake *w,
						 struct cp_record *record)
{
	struct cp_regs regs = { 0 };

	record->depth = 0;
	record->more = 0;
	record->end = CP_UNWIND_COMPLETE;
	if (!t || cp_load_relaxed(&t->paused) || cp_load_relaxed(&t->tid) != cp_sys_gettid())
		return;
	record->more = cp_thread_who(t);
	if (!takes(t))
		return;
	record->mode = mode_of(w->of);
	cp_regs_here(&regs);
	if (w->function && !cp_capture_stack(t, &regs, record, CP_WAKES_DEPTH))
		return;
	if (w->function)
		record->pcs[0] = (uint64_t)(uintptr_t)w->function;
	if (w->change)
		w->change(record, CP_WAKES_DEPTH, w->arg);
}

void cp_wakes_wake(struct cp_thread *t, const struct cp_wakes_wake *w)
{
	struct cp_waiters_bucket *b = cp_waiters_bucket_of(w->key);
	const uint64_t all = CP_SIGSET_ALL;
	struct cp_wakes_entries *entries;
	struct entry *e;
	uint64_t mask;

	if (!(cp_load_relaxed(&cp_wakes_on) & w->of) || !cp_waiters_are_needed(b))
		return;
	entries = entries_of(b);
	if (!entries)
		return;
	/* A handler that jumps away would leave the entry half filled. */
	cp_sys_sigmask(SIG_SETMASK, &all, &mask);
	e = open_entry(entries);
	if (e) {
		take_stack(t, w, record_of(entries, e));
		close_entry(b, e, w);
	}
	cp_sys_sigmask(SIG_SETMASK, &mask, NULL);
}

/* The thread that filled or had pinned an entry isn't in the child. */
static void forget_wakes(struct cp_wakes_entries *all)
{
	for (unsigned i = 0; i < CP_WAKES_ENTRIES; i++)
		/* Write only where necessary, because each written page is copied. */
		if (all->entry[i].state & ~-GENERATION)
			all->entry[i].state &= -GENERATION;
}

void cp_wakes_fork_child(struct cp_thread *keep)
{
	if (!cp_waiters_fork_child(keep))
		return;
	for (unsigned i = 0; i < CP_WAITERS_BUCKETS; i++)
		if (cp_waiters_buckets[i].entries)
			forget_wakes(cp_waiters_buckets[i].entries);
}
