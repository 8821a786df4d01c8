/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits for locks, and the unlocks that end them; see lock_event.h. */
#include "modes/lock/signal/lock_event.h"

#include <stddef.h>

#include "sample/capture.h"
#include "sample/counters.h"
#include "modes/lock/signal/lock_unlock_log.h"
#include "modes/lock/signal/lock_holder.h"
#include "base/sys.h"
#include "sample/timing.h"

uint32_t cp_lock_on, cp_lock_holders_on;
uint8_t cp_lock_known[CP_LOCK_KNOWN];
struct cp_lock_state cp_lock_state;

/* Counters for waits without a stack, which are frequent and come from all threads: striped, so
 * that most threads don't share a cache line. Short waits are counted in their thread's record, if
 * it has one. */
#define STRIPES 64u
static struct {
	struct cp_lock_sample kind[CP_LOCK_BULKS];
} __attribute__((aligned(64))) stripes[STRIPES];

/* Choose a stripe by the stack's address, because a thread may have no libc TLS. Stacks are some
 * pages apart. */
static unsigned stripe(void)
{
	uint64_t at = (uint64_t)(uintptr_t)__builtin_frame_address(0) >> 14;

	return (unsigned)((at * UINT64_C(0x9e3779b97f4a7c15)) >> 58);
}
_Static_assert(STRIPES == 1u << (64 - 58), "hash of a stripe");

static void count(enum cp_lock_bulk kind, uint64_t waits, uint64_t delay)
{
	struct cp_lock_sample *s = &stripes[stripe()].kind[kind];

	/* Relaxed: the sums are only read, each by itself. */
	cp_add_relaxed(&s->count, waits);
	cp_add_relaxed(&s->delay, delay);
}

struct cp_lock_sample cp_lock_event_counted(enum cp_lock_bulk kind)
{
	struct cp_lock_sample all = { 0, 0 };

	for (unsigned i = 0; i < STRIPES; i++) {
		all.count += cp_load_relaxed(&stripes[i].kind[kind].count);
		all.delay += cp_load_relaxed(&stripes[i].kind[kind].delay);
	}
	for (uint32_t i = 0; kind == CP_LOCK_SHORT && i < cp_thread_limit(); i++) {
		const struct cp_thread *t = cp_thread_at(i);

		all.count += cp_load_relaxed(&t->short_waits.count);
		all.delay += cp_load_relaxed(&t->short_waits.delay);
	}
	return all;
}

bool cp_lock_event_is_self(int tid)
{
	const struct cp_thread *t = cp_self.thread;

	return tid == (t ? cp_load_relaxed(&t->tid) : cp_sys_gettid());
}

/* Return true if the record in TLS is the calling thread's own. A clone that shares its maker's
 * TLS, or a vfork's child, has another thread's record there. */
static bool is_own(const struct cp_thread *t)
{
	return cp_load_relaxed(&t->tid) == cp_sys_gettid();
}

/* Return the calling thread's record. A thread that the interposed pthread_create didn't make has
 * the record that the sweep made, or gets one here. After its end, in destructors, it gets none. */
static struct cp_thread *find_self(unsigned flags)
{
	const struct cp_self *self =
		flags & CP_LOCK_ANY_THREAD ? cp_thread_libc_self() : cp_thread_self();
	struct cp_thread *t = self ? self->thread : NULL;

	if (!t && cp_counted(CP_COUNT_FOREIGN_THREADS))
		t = cp_thread_of(cp_sys_gettid());
	if (!t && !(self && self->end_rounds))
		t = cp_lock_state.register_thread();
	return t;
}

/* The locks that libunwind takes while it walks a stack for the profiler are not the program's. */
static bool is_unwinding(unsigned flags)
{
	return !(flags & CP_LOCK_ANY_THREAD) && cp_thread_self()->in_capture;
}

/* No handler may interrupt: it could wait for a lock, too, or jump away. */
static void block_signals(uint64_t *old)
{
	const uint64_t all = CP_SIGSET_ALL;

	cp_sys_sigmask(SIG_SETMASK, &all, old);
}

static void unblock_signals(const uint64_t *old)
{
	cp_sys_sigmask(SIG_SETMASK, old, NULL);
}

__attribute__((noinline)) static bool record(struct cp_thread *t, const struct cp_lock_wait *w,
					     const void *function, const struct cp_lock_sample *s)
{
	const struct cp_event e = { .mode = CPROF_LOCK,
				    .count = s->count,
				    .weight = s->delay,
				    .tag = (uint64_t)(uintptr_t)w->lock,
				    .longest = w->ended - w->began };
	struct cp_regs regs = { 0 };
	uint64_t mask, began;
	bool done;

	if (!is_own(t))
		return false;
	began = cp_timing_begin();
	block_signals(&mask);
	cp_regs_here(&regs);
	done = cp_capture_hook(t, &e, &regs, function);
	unblock_signals(&mask);
	cp_timing_end(CPROF_LOCK, began);
	return done;
}

void cp_lock_event_know(uint8_t state)
{
	for (unsigned i = 0; i < CP_LOCK_KNOWN; i++)
		cp_store_relaxed(&cp_lock_known[i], state);
}

/* Return the record in libc's TLS, if the thread has that TLS. */
static struct cp_thread *libc_thread(unsigned flags)
{
	return flags & CP_LOCK_ANY_THREAD ? NULL : cp_thread_self()->thread;
}

static void count_short(uint64_t delay, unsigned flags)
{
	struct cp_thread *t = libc_thread(flags);

	if (!t) {
		count(CP_LOCK_SHORT, 1, delay);
		return;
	}
	cp_add_local(&t->short_waits.count, 1);
	cp_add_local(&t->short_waits.delay, delay);
}

/* Report wait W to the holders: now, or at T's unlock if that is sure to be seen. The lock is held.
 */
static void tell(struct cp_thread *t, const struct cp_lock_wait *w, unsigned flags)
{
	if (!t || !(flags & CP_LOCK_TOLD_OF) ||
	    !cp_lock_postponed_leave(&t->later, CP_LOCK_POSTPONED_HOLDERS, w))
		cp_lock_holder_deliver(w);
}

/* Account for wait W of T, or of a thread whose record is still to be found. FUNCTION: the function
 * that waited, for the stack; NULL: it is too late for a stack. */
static void account(struct cp_thread *t, const struct cp_lock_wait *w, const void *function,
		    unsigned flags)
{
	uint64_t delay = w->ended - w->began;
	struct cp_lock_sample s = { 1, delay };

	if (delay < cp_lock_state.threshold_ns) {
		count_short(delay, flags);
		return;
	}
	if ((flags & CP_LOCK_HAS_HOLDER) && cp_load_relaxed(&cp_lock_holders_on))
		tell(t, w, flags);
	if (!t)
		t = find_self(flags);
	if (t && cp_load_relaxed(&t->paused)) {
		cp_count_mode(CPROF_LOCK, CP_COUNT_LOST_PAUSED, 1);
		return;
	}
	if (t && !cp_lock_sample_wait(&t->waits, w->ended, delay, cp_lock_state.stratum_ns, &s))
		return;
	if (!t || !function || !record(t, w, function, &s))
		count(CP_LOCK_LOST, s.count, s.delay);
}

/* Process the wait that T has postponed. R: its lock is free now; NULL: T may still hold the lock.
 */
static void settle(struct cp_thread *t, const struct cp_lock_release *r)
{
	struct cp_lock_wait w;

	if (cp_lock_postponed_take(&t->later, CP_LOCK_POSTPONED_HOLDERS, &w)) {
		if (w.ended >= cp_lock_state.since)
			cp_lock_holder_deliver(&w);
	} else if (cp_lock_postponed_take(&t->later, CP_LOCK_POSTPONED_ALL, &w)) {
		w.ended = w.began + cp_lock_ticks_ns(w.ended);
		w.last = r && r->lock == w.lock ? r->last : cp_lock_unlock_log_last(w.lock);
		if (cp_load_relaxed(&cp_lock_on) && w.ended >= cp_lock_state.since)
			account(t, &w, NULL, CP_LOCK_HAS_HOLDER);
	}
}

struct cp_lock_moment cp_lock_event_mutex_begin(void)
{
	const struct cp_thread *t = cp_self.thread;
	struct cp_lock_moment began = cp_lock_event_begin();
	uint64_t left;

	if (!t || cp_self.in_capture)
		return began;
	/* Such a wait needs no stack. A handler that waits meanwhile may change that, and then one
	 * stack is lost. */
	left = cp_lock_sample_left(&t->waits, began.ns, cp_lock_state.stratum_ns);
	if (left < cp_lock_state.threshold_ns)
		left = cp_lock_state.threshold_ns;
	began.enough = cp_lock_ns_ticks(left);
	return began;
}

/* Postpone everything but the wait's length until the lock is free, after a wait that needs no
 * stack. The lock is held. The thread comes from the kernel, with next to nothing in its caches.
 * Returns false if the wait can't be postponed. */
static bool leave_for_later(const void *lock, struct cp_lock_moment began)
{
	struct cp_thread *t = cp_self.thread;
	uint64_t ticks;

	if (!began.enough || !t)
		return false;
	ticks = cp_ticks() - began.ticks;
	return ticks < began.enough &&
	       cp_lock_postponed_leave(&t->later, CP_LOCK_POSTPONED_ALL,
				       &(struct cp_lock_wait){ lock, began.ns, ticks, 0 });
}

void cp_lock_event_waited(const void *lock, struct cp_lock_moment began, const void *function,
			  unsigned flags)
{
	struct cp_lock_wait w = { lock, began.ns, cp_lock_end(began),
				  cp_lock_unlock_log_last(lock) };
	struct cp_thread *t = libc_thread(flags);

	if (!cp_load_relaxed(&cp_lock_on) || is_unwinding(flags))
		return;
	if (t)
		settle(t, NULL);
	account(t, &w, function, flags);
}

void cp_lock_event_mutex_waited(const void *lock, struct cp_lock_moment began, const void *function,
				unsigned flags)
{
	if (!(flags & CP_LOCK_TOLD_OF) || !leave_for_later(lock, began))
		cp_lock_event_waited(lock, began, function, flags);
}

__attribute__((noinline)) static uint64_t look_closer(struct cp_thread *t, const void *lock,
						      uint32_t tick, uint64_t ms)
{
	uint64_t ago = cp_lock_unlock_log_see(lock, tick, cp_ticks(), ms), now, before, last;

	if (ago <= ms)
		return 0;
	now = cp_lock_now();
	ago = cp_lock_long_ticks_ns(ago, ms);
	before = ago < now ? now - ago : 0;
	last = cp_lock_unlock_log_last(lock);
	if (last > before)
		before = last;
	return cp_lock_sample_alone(&t->unlocks, now, before, cp_lock_state.stratum_ns) ? before
											: 0;
}

/* Return the time of LOCK's previous unlock if it is so long ago that T's present unlock is
 * recorded by itself; otherwise 0. Inlined: LOCK is held. */
static inline uint64_t long_before(struct cp_thread *t, const void *lock)
{
	uint64_t ms = cp_load_relaxed(&cp_lock_clock.ms);
	uint32_t tick;

	if (!ms || !cp_lock_sample_draws(&t->unlocks))
		return 0;
	tick = cp_lock_tick();
	if (__builtin_expect(cp_lock_unlock_log_is_seen(lock, tick) &&
				     !cp_lock_sample_looks(&t->unlocks),
			     1))
		return 0;
	return look_closer(t, lock, tick, ms);
}

/* Return how many unlocks T's next one represents; 0: it isn't recorded. An unlock that represents
 * others is recorded only where the unlocks before it were followed. */
static uint32_t draw_unlock(struct cp_thread *t, bool followed)
{
	uint32_t weight = cp_lock_sample_unlock(&t->unlocks, &t->waits);

	if (weight <= 1 || followed)
		return weight;
	cp_lock_sample_pass(&t->unlocks);
	return 0;
}

void cp_lock_event_release_begin(struct cp_lock_release *r, const void *lock)
{
	struct cp_thread *t = cp_self.in_capture ? NULL : cp_self.thread;
	uint64_t before = t ? long_before(t, lock) : 0, now, since;
	bool followed = cp_lock_is_followed(lock);
	uint32_t weight = t && !before ? draw_unlock(t, followed) : 1;

	*r = (struct cp_lock_release){ .lock = lock,
				       .last = cp_lock_unlock_log_last(lock),
				       .alone = before != 0 };
	if (!weight && !followed)
		return;
	now = cp_lock_now();
	since = cp_lock_unlock_log_leave(lock, now);
	if (weight > 1)
		cp_lock_unlock_log_came(lock);
	if (before) {
		since = before;
		cp_lock_unlock_log_behind(lock);
	}
	/* Checking that T is the thread's own takes longer than many a lock is held. For unlocks
	 * that represent others it was checked before. */
	r->wanted = t && weight && !cp_load_relaxed(&t->paused) &&
		    (weight > 1 ? cp_lock_holder_is_prepared(t) : is_own(t));
	if (!r->wanted)
		return;
	r->holder = cp_lock_holder_open(t, lock, since, now, weight);
}

static void make_room(struct cp_thread *t)
{
	struct cp_holder *h = cp_lock_holder_make_room(t);

	if (h)
		cp_capture_put(t, h->record);
}

__attribute__((noinline)) static void
take_stack(struct cp_thread *t, const struct cp_lock_release *r, const void *function, bool done)
{
	struct cp_holder *h = r->holder;
	uint64_t mask, began = cp_timing_begin();
	struct cp_regs regs = { 0 };

	block_signals(&mask);
	cp_regs_here(&regs);
	if (h) {
		h->record->mode = CPROF_LOCK_HOLDERS;
		done = done && cp_capture_stack(t, &regs, h->record, h->depth);
		if (done)
			h->record->pcs[0] = (uint64_t)(uintptr_t)function;
		if (done)
			cp_lock_tail_add(&r->call, h->record, h->depth);
		cp_lock_holder_close(h, done);
	}
	make_room(t);
	unblock_signals(&mask);
	cp_timing_end(CPROF_LOCK_HOLDERS, began);
}

void cp_lock_event_release_end(struct cp_lock_release *r, const void *function, bool done)
{
	struct cp_thread *t = cp_self.thread;

	if (!t || is_unwinding(0))
		return;
	settle(t, r);
	/* A task that shares T's TLS may have taken the entry that T prepared. */
	if (r->wanted && is_own(t))
		take_stack(t, r, function, done);
	else if (r->holder)
		cp_lock_holder_close(r->holder, false);
	/* By the clock of the kernel's last tick, which needs no read of a counter. */
	if (cp_lock_sample_is_time(&t->unlocks))
		cp_lock_sample_time(&t->unlocks, &t->waits, cp_lock_now_by(CLOCK_MONOTONIC_COARSE),
				    cp_lock_state.stratum_ns);
	if (!cp_lock_sample_next(&t->unlocks))
		return;
	if (is_own(t))
		cp_lock_holder_prepare(t, r->lock);
	/* After an unlock recorded by itself, the lock is already followed. */
	if (!r->alone)
		cp_lock_unlock_log_begin(r->lock, cp_lock_now());
}

void cp_lock_event_thread_end(struct cp_thread *t)
{
	char name[CP_THREAD_NAME] = "";
	struct cp_holder *h;
	uint32_t next, end;
	uint64_t mask;

	settle(t, NULL);
	if (!t->holders)
		return;
	block_signals(&mask);
	cp_lock_holder_range(t, &next, &end);
	while ((h = cp_lock_holder_read(&next, end))) {
		cp_capture_put(t, h->record);
		cp_lock_holder_give_back(h);
	}
	if (is_own(t))
		cp_sys2(SYS_prctl, 16 /* PR_GET_NAME */, name);
	cp_lock_holder_thread_end(t, name);
	unblock_signals(&mask);
}
