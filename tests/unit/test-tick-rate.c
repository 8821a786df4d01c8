/* SPDX-License-Identifier: BSD-3-Clause */
/* The rate of the processor's counter, from two readings beside the clock. */
#include "harness.h"

#include "collect/collect.h"
#include "base/atomic.h"
#include "modes/lock/signal/lock_signal.h"
#include "base/sys.h"
#include "profile/profile.h"

#define ONE (UINT64_C(1) << CP_TICK_RATE_SHIFT)

TEST(test_rate)
{
	const struct cp_tick_rate_pair from = { 1000000000, 5000, 0, 0 };
	struct cp_tick_rate_pair to = { 2000000000, 5000 + 4000000000, 0, 0 };

	CHECK_EQ(cp_tick_rate(&from, &to), ONE / 4);
	/* Slower than the clock, as on machines whose counter is one of 24 MHz. */
	to.ticks = 5000 + 25000000;
	CHECK_EQ(cp_tick_rate(&from, &to), ONE * 40);
	/* A year. */
	to = (struct cp_tick_rate_pair){ from.ns + UINT64_C(31536000000000000),
					 from.ticks + UINT64_C(94608000000000000), 0, 0 };
	CHECK_EQ(cp_tick_rate(&from, &to), ONE / 3);
}

TEST(test_too_close)
{
	const struct cp_tick_rate_pair from = { 1000000000, 5000, 0, 0 };
	struct cp_tick_rate_pair to = { 1000000100, 5300, 0, 0 };

	CHECK_EQ(cp_tick_rate(&from, &to), 0);
	CHECK_EQ(cp_tick_rate(&from, &from), 0);
	to = (struct cp_tick_rate_pair){ 2000000000, 5000, 0, 0 }; /* it stands still */
	CHECK_EQ(cp_tick_rate(&from, &to), 0);
}

/* Awake for two seconds between, and suspended for an hour. */
TEST(test_a_suspended_machine)
{
	struct cp_tick_rate_pair from = { 1000000000, 5000, 0, 0 },
				 to = { 3000000000, 9000, 20000, 0 };

	CHECK(!cp_tick_rate_slept(&from, &to));
	CHECK(!cp_tick_rate_slept(&to, &from));
	to.asleep = UINT64_C(3600000000000);
	CHECK(cp_tick_rate_slept(&from, &to));
}

#define SECOND UINT64_C(1000000000)

/* So many seconds after a watch's begin, by a counter of GHZ. */
static struct cp_tick_rate_pair after(double seconds, double ghz)
{
	return (struct cp_tick_rate_pair){ .ns = SECOND + (uint64_t)(seconds * 1e9),
					   .ticks = 5000 + (uint64_t)(seconds * ghz * 1e9),
					   .within = 200 };
}

static uint64_t look(struct cp_tick_watch *w, struct cp_tick_rate_pair now)
{
	return cp_tick_rate_watch_look(w, &now);
}

TEST(test_watch_knows_the_rate_after_a_tenth_of_a_second)
{
	struct cp_tick_watch w = { .since = after(0, 2) };

	CHECK_EQ(look(&w, after(0.1, 2)), ONE / 2);
	CHECK_EQ(look(&w, after(1e6, 2)), ONE / 2);
}

/* Two readings of 0.2 us each, 0.1 s apart, are right to one in a million; longer ones are not, and
 * are when they are farther apart. */
TEST(test_watch_waits_until_it_is_exact)
{
	struct cp_tick_watch w = { .since = after(0, 2) };
	struct cp_tick_rate_pair now = after(0.1, 2);

	now.within = 5000;
	CHECK_EQ(look(&w, now), 0);
	CHECK_EQ(w.rough, ONE / 2);
	now = after(1.1, 2);
	now.within = 4000;
	CHECK_EQ(look(&w, now), ONE / 2);
	w.since.within = 5000;
	CHECK_EQ(look(&w, after(1.1, 2)), 0);
	CHECK_EQ(look(&w, after(2.8, 2)), ONE / 2);
}

/* The measurement of the rate begins anew when the counter may be another one. */
TEST(test_watch_of_a_counter_that_is_another)
{
	struct cp_tick_watch w = { .since = after(0, 2) };
	struct cp_tick_rate_pair now = after(2, 2);

	CHECK_EQ(look(&w, after(1, 2)), ONE / 2);
	now.asleep = 3600 * SECOND;
	CHECK_EQ(look(&w, now), 0);
	CHECK_EQ(w.rough, 0);
	now = after(3, 2);
	now.asleep = 3600 * SECOND;
	CHECK_EQ(look(&w, now), ONE / 2);
	/* It began anew. */
	now.ns += SECOND;
	now.ticks = 0;
	CHECK_EQ(look(&w, now), 0);
	now.ns += SECOND;
	now.ticks += SECOND;
	CHECK_EQ(look(&w, now), ONE);
	/* Of a faster machine. */
	now.ns += SECOND;
	now.ticks += 4 * SECOND;
	CHECK_EQ(look(&w, now), 0);
	now.ns += SECOND;
	now.ticks += 4 * SECOND;
	CHECK_EQ(look(&w, now), ONE / 4);
}

static void serve(uint32_t requests)
{
	(void)requests;
}

static uint64_t never(void)
{
	return UINT64_MAX;
}

static bool is_busy(void)
{
	return true;
}

static bool no_socket(bool young)
{
	(void)young;
	return false;
}

static void nothing(void)
{
}

#define PATIENCE_MS 60000 /* on the busiest machine */

/* Without any drain. */
TEST(test_collector_tells_the_locks)
{
	static const struct cp_collect_work work = { .serve = serve,
						     .due = never,
						     .busy = is_busy,
						     .controlled = no_socket,
						     .last = nothing };
	const struct timespec moment = { .tv_nsec = 1000000 };

	CHECK_EQ(cp_lock_clock.longest, 0);
	CHECK_EQ(cp_collect_init(&work), 0);
	CHECK_EQ(cp_collect_thread_start(), 0);
	for (unsigned ms = 0; ms < PATIENCE_MS && cp_tick_rate_is_constant(); ms++) {
		if (cp_load_acquire(&cp_lock_clock.longest))
			break;
		nanosleep(&moment, NULL);
	}
	cp_collect_thread_stop();
	CHECK_EQ(cp_lock_clock.longest != 0, cp_tick_rate_is_constant());
}

/* The clock lies between two readings of it. */
TEST(test_reading)
{
	uint64_t before = cp_sys_clock_ns(CLOCK_MONOTONIC);
	struct cp_tick_rate_pair first = cp_tick_rate_pair(), second = cp_tick_rate_pair();
	uint64_t after = cp_sys_clock_ns(CLOCK_MONOTONIC);

	CHECK(before <= first.ns && first.ns <= second.ns && second.ns <= after);
	CHECK(first.ticks < second.ticks);
	CHECK(second.within > 0);
}
