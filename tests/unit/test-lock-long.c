/* SPDX-License-Identifier: BSD-3-Clause */
/* Locks that are held for long by threads whose unlocks are too many for each to be told of: those
 * holds are told of by themselves, and as they were. */
#include "harness.h"

#include <stdint.h>
#include <string.h>

#include "lock-unlocks.h"

#define LONG_NS (50000 * US)

/* A thread that lets LOCK go a million times a second, by a counter of that rate. */
static struct cp_thread *begin_often(void)
{
	cp_lock_clock_set_rough((UINT64_C(1) << 32) / TICKS);
	memset(cp_lock_follows, 0, sizeof(cp_lock_follows));
	return begin();
}

static void end_often(struct cp_thread *t)
{
	cp_lock_clock_set_rough(0);
	end(t);
}

/* By the clock, and by the counter for LOCK. */
static void pass(const void *lock, uint64_t ns)
{
	now += ns;
	cp_lock_unlock_log_of(lock)->seen -= ns * TICKS;
}

/* N more waits for LOCK, that began BEFORE ns ago and end now. */
static void wait_together(const void *lock, unsigned n, uint64_t before)
{
	for (unsigned i = 0; i < n; i++)
		wait_for(lock, now - before, now);
}

/* Held for long once in a thousand times: told of each time, whatever is drawn, and as it was. */
static void test_a_long_hold_is_told_of_by_itself(void)
{
	struct cp_thread *t = begin_often();
	struct sums all = { 0 }, held = { 0 };

	for (unsigned i = 0; i < UNLOCKS / 10; i++) {
		struct sums *s = i % 1000 == 999 ? &held : &all;

		pass(&locks[0], s == &held ? LONG_NS : US);
		unlock(t, &locks[0], s);
		if (s == &held)
			wait_together(&locks[0], 3, LONG_NS);
		take(t, s);
	}
	CHECK(all.records < 1500);
	CHECK(near(held.delay, UNLOCKS / 10000 * (3 * LONG_NS + 16 * US / 10), 0.01));
	CHECK(near(held.waits, UNLOCKS / 10000 * 4, 0.01));
	CHECK(near(all.delay, UNLOCKS / 10 * 16 * US / 10, 0.1));
	end_often(t);
}

/* Threads that had to wait on, because of the holders after the long one, waited for those. */
static void test_what_comes_behind_a_long_hold_is_not_its(void)
{
	struct cp_thread *t = begin_often();
	struct sums before = unlock_often(t), s = { 0 };

	CHECK(before.records > 0);
	pass(&locks[0], LONG_NS);
	free_again(&locks[0]);
	now += LONG_NS / 10;
	if (cp_lock_is_followed(&locks[0]))
		cp_lock_unlock_log_leave(&locks[0], now);
	now += LONG_NS / 10;
	wait_together(&locks[0], 2, LONG_NS + LONG_NS / 5);
	take(t, &s);
	CHECK_EQ(s.records, 1);
	CHECK(near(s.delay, 2 * LONG_NS, 0.001));
	end_often(t);
}

/* Many locks, each of them let go seldom by a thread that lets go often: within the budget. */
static void test_long_holds_keep_to_the_budget(void)
{
	static int others[64];
	struct cp_thread *t = begin_often();
	struct sums before = { 0 }, s = { 0 };

	/* The first seconds find out how many are drawn. */
	for (unsigned i = 0; i < 74000; i++) {
		for (unsigned k = 0; k < 64; k++)
			cp_lock_unlock_log_of(&others[k])->seen -= 400 * US * TICKS;
		now += 400 * US;
		unlock(t, &others[i % 64], i < 10000 ? &before : &s);
	}
	CHECK(near(s.waits, 64000, 0.2));
	/* 25.6 s of 50 that were drawn and 50 that weren't. */
	CHECK(s.records > 2000);
	CHECK(s.records < 2700);
	end_often(t);
}

/* Another lock of the hash of OTHERS[0]. */
static const int *same_hash(const int *others, unsigned n)
{
	for (unsigned i = 1; i < n; i++)
		if (cp_lock_unlock_log_of(&others[i]) == cp_lock_unlock_log_of(&others[0]))
			return &others[i];
	return NULL;
}

/* Of two locks of one hash that one is seen which was there, until it isn't wanted any more. */
static void test_locks_of_one_hash(void)
{
	static int others[100000];
	const int *other = same_hash(others, 100000);
	const uint64_t ms = 1000 * US * TICKS;

	CHECK(other);
	memset(cp_lock_follows, 0, sizeof(cp_lock_follows));
	CHECK_EQ(cp_lock_unlock_log_see(&others[0], 1, 5000 * ms, ms), 0);
	CHECK_EQ(cp_lock_unlock_log_see(&others[0], 2, 5030 * ms, ms), 30 * ms);
	CHECK_EQ(cp_lock_unlock_log_see(other, 3, 5060 * ms, ms), 0);
	CHECK_EQ(cp_lock_unlock_log_see(other, 4, 5090 * ms, ms), 0);
	CHECK_EQ(cp_lock_unlock_log_see(&others[0], 5, 5100 * ms, ms), 70 * ms);
	CHECK(cp_lock_unlock_log_is_seen(&others[0], 5));
	CHECK(!cp_lock_unlock_log_is_seen(other, 5));
	CHECK_EQ(cp_lock_unlock_log_see(other, 6, 6200 * ms, ms), 0);
	CHECK_EQ(cp_lock_unlock_log_see(other, 7, 6230 * ms, ms), 30 * ms);
	CHECK_EQ(cp_lock_unlock_log_see(&others[0], 8, 6240 * ms, ms), 0);
}

/* A counter that lags on another processor, or has begun anew. */
static void test_a_counter_that_goes_back(void)
{
	const uint64_t ms = 1000 * US * TICKS;

	memset(cp_lock_follows, 0, sizeof(cp_lock_follows));
	cp_lock_unlock_log_see(&locks[0], 1, 5000 * ms, ms);
	CHECK_EQ(cp_lock_unlock_log_see(&locks[0], 2, 4999 * ms, ms), 0);
	CHECK_EQ(cp_lock_unlock_log_see(&locks[0], 3, 5029 * ms, ms), 30 * ms);
}

int main(void)
{
	RUN(test_a_long_hold_is_told_of_by_itself);
	RUN(test_what_comes_behind_a_long_hold_is_not_its);
	RUN(test_long_holds_keep_to_the_budget);
	RUN(test_locks_of_one_hash);
	RUN(test_a_counter_that_goes_back);
	return harness_end();
}
