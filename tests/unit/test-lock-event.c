/* SPDX-License-Identifier: BSD-3-Clause */
/* Unlocks that let waiters go, more than the budget allows to record: unrecorded unlocks read no
 * clock while the lock is held, and recorded ones count for them. Time is the test's own.
 */
#include "harness.h"

#include <stdint.h>
#include <time.h>

#include "lock-unlocks.h"
#include "modes/lock/signal/lock_event.h"
#include "modes/lock/signal/lock_unlock_log.h"
#include "modes/lock/signal/lock_holder.h"
#include "sample/thread.h"

static void test_few_unlocks_stand_for_all(void)
{
	struct cp_thread *t = begin();
	struct sums s = unlock_often(t);

	/* Half of the budget is for unlocks: 50 in each of the two seconds, more until the rate is
	 * known. */
	CHECK(s.records > 50);
	CHECK(s.records < 500);
	/* Each wait has its last part of 1.1 us, and 0.5 us belong to the unlock before. */
	CHECK(near(s.waits, UNLOCKS, 0.05));
	CHECK(near(s.delay, UNLOCKS * 16 * US / 10, 0.05));
	end(t);
}

static void test_others_read_no_clock_with_the_lock_held(void)
{
	struct cp_thread *t = begin();
	struct sums s = unlock_often(t);

	/* Each entry has two waits, and at most two unlocks are stamped for it: its own, and the
	 * one after it. (The one before it is known from after the unlock.) */
	CHECK(s.reads > s.records / 2);
	CHECK(s.reads <= s.records + 100);
	CHECK(s.reads * 1000 < UNLOCKS);
	end(t);
}

static bool is_stamped(const void *lock)
{
	bool followed = cp_lock_is_followed(lock);

	if (followed)
		cp_lock_unlock_log_leave(lock, now);
	return followed;
}

/* Several threads' next unlocks are to be recorded: the lock is followed until the last of them
 * came, and for one more. */
static void test_followed_until_the_last_came(void)
{
	for (unsigned threads = 1; threads < 5; threads++) {
		for (unsigned i = 0; i < threads; i++)
			cp_lock_unlock_log_begin(&locks[0], now);
		for (unsigned i = 0; i < threads; i++) {
			CHECK(is_stamped(&locks[0]));
			CHECK(is_stamped(&locks[0]));
			cp_lock_unlock_log_came(&locks[0]);
		}
		CHECK(is_stamped(&locks[0]));
		CHECK(!is_stamped(&locks[0]));
	}
}

/* Threads that were to come have ended, or don't come for long: it is followed no more, and the
 * next time that it is, they are not waited for. */
static void test_followed_in_vain(void)
{
	cp_lock_unlock_log_begin(&locks[0], now);
	cp_lock_unlock_log_begin(&locks[0], now);
	for (unsigned i = 0; is_stamped(&locks[0]); i++)
		CHECK(i < 1000);
	cp_lock_unlock_log_begin(&locks[0], now);
	CHECK(is_stamped(&locks[0]));
	cp_lock_unlock_log_came(&locks[0]);
	CHECK(is_stamped(&locks[0]));
	CHECK(!is_stamped(&locks[0]));
}

/* A thread that has two locks in turns tells of both. */
static void test_locks_in_turns_are_both_told_of(void)
{
	struct cp_thread *t = begin();
	struct sums s[2] = { 0 };

	for (unsigned i = 0; i < UNLOCKS; i++) {
		now += US / 2;
		unlock(t, &locks[i & 1], &s[i & 1]);
	}
	CHECK(near(s[0].waits + s[1].waits, UNLOCKS, 0.05));
	CHECK(near(s[0].waits, UNLOCKS / 2, 0.5));
	CHECK(near(s[0].delay + s[1].delay, UNLOCKS * 16 * US / 10, 0.05));
	end(t);
}

/* One of so many threads unlocks that its lock is no longer followed when the next one does. */
static void test_unlocks_of_many_threads(void)
{
	struct cp_thread *t = begin();
	struct sums s = { 0 };
	unsigned others = 0;

	cp_lock_unlock_log_begin(&locks[0], now);
	for (; cp_lock_is_followed(&locks[0]); others++)
		cp_lock_unlock_log_leave(&locks[0], now);
	for (unsigned i = 0; i < UNLOCKS / others; i++) {
		for (unsigned k = 1; k < others; k++) {
			now += US;
			if (cp_lock_is_followed(&locks[0]))
				cp_lock_unlock_log_leave(&locks[0], now);
			wait_for(&locks[0], now - 3 * US / 2, now + US / 10);
			take(t, &s);
		}
		now += US;
		unlock(t, &locks[0], &s);
	}
	CHECK(near(s.delay, UNLOCKS / others * 16 * US / 10, 0.1));
	end(t);
}

static void test_rare_unlocks_are_all_told_of(void)
{
	struct cp_thread *t = begin();
	struct sums s = { 0 };

	for (unsigned i = 0; i < 100; i++) {
		now += 100000 * US;
		unlock(t, &locks[0], &s);
	}
	CHECK_EQ(s.records, 100);
	CHECK_EQ(s.waits, 100);
	CHECK_EQ(s.delay, 100 * 16 * US / 10);
	end(t);
}

/* A task without its own record, which also has this thread's TLS, unlocks: it must not use the
 * entry that the thread has prepared, nor the thread's buffers. */
static void test_a_task_with_the_tls_of_another(void)
{
	struct cp_thread *t = begin();
	struct sums s = { 0 };
	int32_t tid = t->tid;

	for (unsigned i = 0; i < UNLOCKS && !cp_lock_holder_is_prepared(t); i++) {
		now += US;
		unlock(t, &locks[0], &s);
	}
	CHECK(cp_lock_holder_is_prepared(t));
	s.records = 0;
	now += 10 * US;
	cp_store_relaxed(&t->tid, tid + 1);
	for (unsigned i = 0; i < UNLOCKS; i++) {
		now += US;
		unlock(t, &locks[0], &s);
	}
	cp_store_relaxed(&t->tid, tid);
	CHECK_EQ(s.records, 0);
	end(t);
}

static struct cp_lock_moment ago(uint64_t ns)
{
	uint64_t ticks = cp_lock_clock.longest ? ns * TICKS : 0;

	return (struct cp_lock_moment){ now - ns, cp_ticks() - ticks, 0 };
}

static void begin_waits(void)
{
	cp_lock_on = cp_lock_holders_on = 1;
	cp_lock_state.threshold_ns = 10 * US;
	cp_lock_clock_set(0);
	now += 1000 * US;
}

static void end_waits(struct cp_thread *t)
{
	cp_lock_on = cp_lock_holders_on = 0;
	cp_lock_state.threshold_ns = 0;
	end(t);
}

#define MUTEX (CP_LOCK_HAS_HOLDER | CP_LOCK_TOLD_OF)

/* By a thread that has a record, by one that has none, and by one that has ended. */
static void test_short_waits_are_all_counted(void)
{
	struct cp_thread *t = begin();
	struct cp_lock_sample before = cp_lock_event_counted(CP_LOCK_SHORT), after;

	begin_waits();
	cp_lock_event_waited(&locks[0], ago(US), (const void *)unlock, MUTEX);
	cp_lock_event_waited(&locks[0], ago(2 * US), (const void *)unlock, CP_LOCK_ANY_THREAD);
	cp_self.thread = NULL;
	cp_lock_event_waited(&locks[0], ago(4 * US), (const void *)unlock, MUTEX);
	end_waits(t);
	/* The record is another thread's. */
	while (cp_thread_claim() != t)
		;
	cp_thread_free(t);
	after = cp_lock_event_counted(CP_LOCK_SHORT);
	CHECK_EQ(after.count - before.count, 3);
	CHECK_EQ(after.delay - before.delay, 7 * US);
}

static void test_holders_are_told_at_the_unlock(void)
{
	struct cp_thread *t = begin();
	struct sums s = { 0 };

	begin_waits();
	free_again(&locks[0]);
	now += 20 * US;
	cp_lock_event_waited(&locks[0], ago(30 * US), (const void *)unlock, MUTEX);
	take(t, &s);
	CHECK_EQ(s.waits, 0);
	now += 5 * US;
	free_again(&locks[0]);
	take(t, &s);
	CHECK_EQ(s.waits, 1);
	CHECK_EQ(s.delay, 30 * US);
	end_waits(t);
}

/* The next wait comes before the unlock, or the unlock isn't seen, or there is no unlock. */
static void test_holders_are_told_without_an_unlock(void)
{
	struct cp_thread *t = begin();
	struct sums s = { 0 };

	begin_waits();
	free_again(&locks[0]);
	free_again(&locks[1]);
	now += 20 * US;
	cp_lock_event_waited(&locks[0], ago(30 * US), (const void *)unlock, MUTEX);
	cp_lock_event_waited(&locks[1], ago(30 * US), (const void *)unlock, MUTEX);
	take(t, &s);
	CHECK_EQ(s.waits, 1);
	cp_lock_event_waited(&locks[1], ago(30 * US), (const void *)unlock, CP_LOCK_HAS_HOLDER);
	take(t, &s);
	CHECK_EQ(s.waits, 3);
	cp_lock_event_waited(&locks[1], ago(30 * US), (const void *)unlock, MUTEX);
	CHECK_EQ(t->later.state, CP_LOCK_POSTPONED_HOLDERS);
	cp_lock_event_thread_end(t);
	CHECK(!t->holders);
	CHECK_EQ(t->later.state, CP_LOCK_POSTPONED_NONE);
	end_waits(t);
}

/* The counter has a rate, and nothing is granted any more without a choice. */
static struct cp_thread *begin_counted_waits(void)
{
	struct cp_thread *t = begin();

	begin_waits();
	cp_lock_clock_set((UINT64_C(1) << 32) / TICKS);
	cp_lock_state.threshold_ns = 0;
	for (unsigned i = 0; i < 1000; i++)
		cp_lock_event_waited(&locks[1], ago(US), (const void *)unlock, CP_LOCK_HAS_HOLDER);
	t->waits.credit += cp_lock_state.stratum_ns; /* the last token was taken just now */
	return t;
}

static void end_counted_waits(struct cp_thread *t)
{
	cp_lock_clock_set(0);
	end_waits(t);
}

/* One that began NS ago, when it was known that it needs no stack. */
static void wait_that_needs_none(struct cp_thread *t, uint64_t ns)
{
	struct cp_lock_moment m;

	t->waits.position = 0;
	t->waits.point = 2 * ns;
	m = cp_lock_event_mutex_begin();
	CHECK(m.enough);
	m.ticks -= ns * TICKS;
	reads = 0;
	cp_lock_event_mutex_waited(&locks[0], m, (const void *)unlock, MUTEX);
	CHECK_EQ(reads, 0);
	CHECK_EQ(t->waits.position, 0);
	CHECK_EQ(t->later.state, CP_LOCK_POSTPONED_ALL);
}

/* It is counted at the unlock, with the delay that it had at its end. */
static void test_waits_without_a_stack_are_left_for_the_unlock(void)
{
	struct cp_thread *t = begin_counted_waits();
	struct cp_lock_sample before = cp_lock_event_counted(CP_LOCK_LOST), after;

	wait_that_needs_none(t, 400 * US);
	free_again(&locks[0]);
	CHECK(t->waits.position >= 399 * US && t->waits.position < 800 * US);
	CHECK_EQ(t->later.state, CP_LOCK_POSTPONED_NONE);
	wait_that_needs_none(t, 300 * US);
	cp_lock_event_waited(&locks[1], ago(100 * US), (const void *)unlock, CP_LOCK_HAS_HOLDER);
	CHECK(t->waits.position >= 399 * US && t->waits.position < 800 * US);
	after = cp_lock_event_counted(CP_LOCK_LOST);
	CHECK_EQ(after.count, before.count);
	end_counted_waits(t);
}

/* The thread that let it go hears of it, and short waits are in their sum. */
static void test_waits_that_are_left_are_told_of_and_counted(void)
{
	struct cp_thread *t = begin_counted_waits();
	struct cp_lock_sample before, after;
	struct sums s = { 0 };

	t->unlocks = (struct cp_lock_unlocks){ 0 };
	now += 500 * US;
	free_again(&locks[0]);
	take(t, &s);
	now -= 100 * US;
	wait_that_needs_none(t, 400 * US);
	CHECK_EQ(s.waits, 0);
	now += 500 * US;
	free_again(&locks[0]);
	take(t, &s);
	CHECK_EQ(s.waits, 1);
	CHECK(s.delay >= 399 * US && s.delay < 800 * US);
	cp_lock_state.threshold_ns = 900 * US;
	before = cp_lock_event_counted(CP_LOCK_SHORT);
	wait_that_needs_none(t, 400 * US);
	cp_lock_event_thread_end(t);
	after = cp_lock_event_counted(CP_LOCK_SHORT);
	CHECK_EQ(after.count - before.count, 1);
	CHECK(after.delay - before.delay >= 399 * US && after.delay - before.delay < 900 * US);
	end_counted_waits(t);
}

/* A handler that waits meanwhile moves the point of choice: the wait that was on it is counted as
 * one without a stack. */
static void test_a_wait_whose_stack_is_gone_is_counted(void)
{
	struct cp_thread *t = begin_counted_waits();
	struct cp_lock_sample before = cp_lock_event_counted(CP_LOCK_LOST), after;

	wait_that_needs_none(t, 400 * US);
	t->waits.point = 100 * US;
	free_again(&locks[0]);
	after = cp_lock_event_counted(CP_LOCK_LOST);
	CHECK_EQ(after.delay - before.delay, cp_lock_state.stratum_ns);
	end_counted_waits(t);
}

/* Cases that the counter can't measure, that the budget allows, or that need a stack. */
static void test_other_waits_are_not_left(void)
{
	struct cp_thread *t = begin_counted_waits();
	struct cp_lock_moment m;

	t->waits.point = t->waits.position;
	CHECK_EQ(cp_lock_event_mutex_begin().enough, 0);
	t->waits.point = t->waits.position + 10 * US;
	CHECK_EQ(cp_lock_event_mutex_begin().enough, cp_lock_ns_ticks(10 * US));
	m = cp_lock_event_mutex_begin();
	m.ticks -= 20 * US * TICKS;
	cp_lock_event_mutex_waited(&locks[0], m, (const void *)unlock, MUTEX);
	CHECK(t->later.state != CP_LOCK_POSTPONED_ALL);
	cp_lock_clock_set(0);
	CHECK_EQ(cp_lock_event_mutex_begin().enough, 0);
	cp_lock_clock_set((UINT64_C(1) << 32) / TICKS);
	now += 10000000 * US; /* tokens again */
	CHECK_EQ(cp_lock_event_mutex_begin().enough, 0);
	cp_lock_state.threshold_ns = 3 * US;
	CHECK_EQ(cp_lock_event_mutex_begin().enough, cp_lock_ns_ticks(3 * US));
	end_counted_waits(t);
}

/* The counter says how long a short wait was, and a longer one is read off the clock. */
static void test_short_waits_end_without_the_clock(void)
{
	const uint64_t rate = UINT64_C(1) << 32; /* a tick is a ns */
	struct cp_lock_moment m = { now, cp_ticks() - 500000, 0 };
	uint64_t end;

	cp_lock_clock.read = read_clock;
	cp_lock_clock_set(rate);
	cp_lock_clock.longest = UINT64_MAX; /* whatever comes between */
	reads = 0;
	end = cp_lock_end(m);
	CHECK_EQ(reads, 0);
	CHECK(end >= now + 500000);
	cp_lock_clock_set(rate);
	m.ticks -= 500000;
	reads = 0;
	CHECK_EQ(cp_lock_end(m), now);
	CHECK_EQ(reads, 1);
	/* Two processors' counters that differ. */
	m.ticks = cp_ticks() + UINT32_MAX;
	CHECK_EQ(cp_lock_end(m), now);
	m.ns = now + 1;
	CHECK_EQ(cp_lock_end(m), now + 1);
	cp_lock_clock_set(2 * rate);
	CHECK_EQ(cp_lock_clock.longest, CP_LOCK_TICKS_NS / 2);
	cp_lock_clock_set(0);
	m = (struct cp_lock_moment){ now, cp_ticks(), 0 };
	reads = 0;
	CHECK_EQ(cp_lock_end(m), now);
	CHECK_EQ(reads, 1);
	/* As for a thread that saw the limit just before it was taken back. */
	cp_lock_clock_set(rate);
	cp_lock_clock_set(0);
	cp_lock_clock.longest = UINT64_MAX;
	m.ticks = cp_ticks() - 500000;
	CHECK(cp_lock_end(m) >= now + 500000);
	cp_lock_clock_set(0);
}

int main(void)
{
	RUN(test_short_waits_are_all_counted);
	RUN(test_holders_are_told_at_the_unlock);
	RUN(test_holders_are_told_without_an_unlock);
	RUN(test_waits_without_a_stack_are_left_for_the_unlock);
	RUN(test_waits_that_are_left_are_told_of_and_counted);
	RUN(test_a_wait_whose_stack_is_gone_is_counted);
	RUN(test_other_waits_are_not_left);
	RUN(test_short_waits_end_without_the_clock);
	RUN(test_a_task_with_the_tls_of_another);
	RUN(test_few_unlocks_stand_for_all);
	RUN(test_others_read_no_clock_with_the_lock_held);
	RUN(test_followed_until_the_last_came);
	RUN(test_followed_in_vain);
	RUN(test_locks_in_turns_are_both_told_of);
	RUN(test_unlocks_of_many_threads);
	RUN(test_rare_unlocks_are_all_told_of);
	return harness_end();
}
