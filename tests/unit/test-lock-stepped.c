/* SPDX-License-Identifier: BSD-3-Clause */
/* A handler unlocks a lock for which a thread waits, after each instruction of its own thread's
 * work at such an unlock: the two never have one entry at the same time. */
#include "harness.h"

#if defined(__x86_64__)

#include <signal.h>
#include <stdint.h>
#include <time.h>

#include "lock-fixture.h"
#include "stepped.h"

#include "modes/lock/signal/lock_event.h"
#include "modes/lock/signal/lock_unlock_log.h"
#include "modes/lock/signal/lock_holder.h"
#include "sample/thread.h"

static int locks[2];
static struct cp_thread *t;
static struct cp_lock_release by_handler;
static uint64_t handlers_use; /* of the entry */

static int read_clock(clockid_t clock, struct timespec *at)
{
	(void)clock;
	*at = (struct timespec){ 1000, 0 };
	return 0;
}

/* Its generation: in use once more, it has another. */
static uint64_t use_of(const struct cp_holder *h)
{
	return h->state >> 24;
}

static void check_own(const struct cp_lock_release *r)
{
	CHECK(!r->holder || r->holder != by_handler.holder || use_of(r->holder) != handlers_use);
}

/* The next unlock of LOCK is told of, for four. */
static void draw_next(const void *lock)
{
	t->unlocks.size = 4;
	t->unlocks.at = t->unlocks.taken = 0;
	cp_lock_unlock_log_begin(lock, 1);
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	if (!stepped_comes(context))
		return;
	cp_lock_holder_prepare(t, &locks[1]);
	draw_next(&locks[1]);
	cp_lock_event_release_begin(&by_handler, &locks[1]);
	handlers_use = by_handler.holder ? use_of(by_handler.holder) : 0;
	cp_lock_event_release_end(&by_handler, (const void *)on_trap, true);
}

/* false: the handler comes after all of it. */
static bool begin_step(void)
{
	bool goes_on = !step || came;

	by_handler.holder = NULL;
	came = seen = 0;
	return goes_on && step < STEPS_MAX;
}

static void begin(void)
{
	const struct sigaction act = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };

	sigaction(SIGTRAP, &act, NULL);
	t = begin_unlocks(read_clock);
	step = 0;
}

static void end(void)
{
	CHECK(step > 20 && step < STEPS_MAX);
	cp_lock_event_thread_end(t);
	cp_lock_holder_forget();
	cp_thread_free(t);
}

static void test_handler_amid_an_unlock(void)
{
	struct cp_lock_release r;
	unsigned both = 0;

	for (begin(); begin_step(); step++) {
		cp_lock_holder_prepare(t, &locks[0]);
		draw_next(&locks[0]);
		TRACE();
		cp_lock_event_release_begin(&r, &locks[0]);
		DONT_TRACE();
		check_own(&r);
		both += r.holder && by_handler.holder;
		cp_lock_event_release_end(&r, (const void *)on_trap, true);
	}
	CHECK(both > 20);
	end();
}

static void test_handler_amid_a_preparation(void)
{
	struct cp_lock_release r;
	unsigned both = 0;

	for (begin(); begin_step(); step++) {
		TRACE();
		cp_lock_holder_prepare(t, &locks[0]);
		DONT_TRACE();
		draw_next(&locks[0]);
		cp_lock_event_release_begin(&r, &locks[0]);
		check_own(&r);
		both += r.holder && by_handler.holder;
		cp_lock_event_release_end(&r, (const void *)on_trap, true);
		/* None is prepared for the next step. */
		draw_next(&locks[0]);
		cp_lock_event_release_begin(&r, &locks[0]);
		if (r.holder)
			cp_lock_holder_close(r.holder, false);
	}
	CHECK(both > 20);
	end();
}

static struct cp_lock_postponed later;
static const struct cp_lock_wait handlers = { .began = 2 }, own = { .began = 1 };
static unsigned took, left;
static bool leaves; /* the handler another one */

static inline bool take(struct cp_lock_wait *w)
{
	return cp_lock_postponed_take(&later, CP_LOCK_POSTPONED_ALL, w);
}

static inline bool leave(const struct cp_lock_wait *w)
{
	return cp_lock_postponed_leave(&later, CP_LOCK_POSTPONED_ALL, w);
}

static void on_trap_later(int sig, siginfo_t *info, void *context)
{
	struct cp_lock_wait w;

	(void)sig;
	(void)info;
	if (!stepped_comes(context))
		return;
	took += take(&w);
	left += leaves && leave(&handlers);
}

static void begin_later(void)
{
	const struct sigaction act = { .sa_sigaction = on_trap_later, .sa_flags = SA_SIGINFO };

	sigaction(SIGTRAP, &act, NULL);
	step = 0;
}

/* Each that was left is taken once. */
static void check_later(void)
{
	struct cp_lock_wait w;

	took += take(&w);
	CHECK_EQ(took, left);
}

static void take_stepwise(void)
{
	struct cp_lock_wait w;

	for (begin_later(); begin_step(); step++) {
		took = 0;
		left = leave(&own);
		CHECK_EQ(left, 1);
		TRACE();
		took += take(&w);
		DONT_TRACE();
		check_later();
	}
	CHECK(step > 5 && step < STEPS_MAX);
}

static void test_handler_amid_a_wait_that_is_taken(void)
{
	leaves = false;
	take_stepwise();
	leaves = true;
	take_stepwise();
}

static void test_handler_amid_a_wait_that_is_left(void)
{
	leaves = true;
	for (begin_later(); begin_step(); step++) {
		took = left = 0;
		TRACE();
		left += leave(&own);
		DONT_TRACE();
		check_later();
	}
	CHECK(step > 5 && step < STEPS_MAX);
}

int main(void)
{
	RUN(test_handler_amid_an_unlock);
	RUN(test_handler_amid_a_preparation);
	RUN(test_handler_amid_a_wait_that_is_taken);
	RUN(test_handler_amid_a_wait_that_is_left);
	return harness_end();
}

#else

int main(void)
{
	return 77; /* no flag that makes each instruction trap */
}

#endif
