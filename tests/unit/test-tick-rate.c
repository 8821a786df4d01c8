/* The rate of the processor's counter, from two readings beside the clock. */
#include "harness.h"

#include <stdint.h>
#include <time.h>

#include "run.h"
#include "sigsafe/sys.h"
#include "tick_rate.h"

#define ONE (UINT64_C(1) << CP_TICK_RATE_SHIFT)

static void test_rate(void)
{
	const struct cp_tick_pair from = { 1000000000, 5000, 0 };
	struct cp_tick_pair to = { 2000000000, 5000 + 4000000000, 0 };

	CHECK_EQ(cp_tick_rate(&from, &to), ONE / 4);
	/* Slower than the clock, as on machines whose counter is one of 24 MHz. */
	to.ticks = 5000 + 25000000;
	CHECK_EQ(cp_tick_rate(&from, &to), ONE * 40);
	/* A year. */
	to = (struct cp_tick_pair){ from.ns + UINT64_C(31536000000000000),
				    from.ticks + UINT64_C(94608000000000000), 0 };
	CHECK_EQ(cp_tick_rate(&from, &to), ONE / 3);
}

static void test_too_close(void)
{
	const struct cp_tick_pair from = { 1000000000, 5000, 0 };
	struct cp_tick_pair to = { 1000000100, 5300, 0 };

	CHECK_EQ(cp_tick_rate(&from, &to), 0);
	CHECK_EQ(cp_tick_rate(&from, &from), 0);
	to = (struct cp_tick_pair){ 2000000000, 5000, 0 }; /* it stands still */
	CHECK_EQ(cp_tick_rate(&from, &to), 0);
}

/* Awake for two seconds between, and suspended for an hour. */
static void test_a_suspended_machine(void)
{
	struct cp_tick_pair from = { 1000000000, 5000, 0 }, to = { 3000000000, 9000, 20000 };

	CHECK(!cp_tick_slept(&from, &to));
	CHECK(!cp_tick_slept(&to, &from));
	to.asleep = UINT64_C(3600000000000);
	CHECK(cp_tick_slept(&from, &to));
}

/* What the rate is found out from begins anew when the counter may be another. */
static void test_a_counter_that_is_another(void)
{
	static struct cp_run r;
	const struct timespec moment = { .tv_nsec = 5000000 };
	uint64_t rate;

	r.start_ticks = cp_tick_pair();
	nanosleep(&moment, NULL);
	rate = cp_run_tick_rate(&r);
	CHECK(rate > 0);
	r.start_ticks.asleep -= UINT64_C(3600000000000);
	CHECK_EQ(cp_run_tick_rate(&r), 0);
	nanosleep(&moment, NULL);
	CHECK(cp_run_tick_rate(&r) > 0);
	r.start_ticks.ticks += UINT64_C(1) << 62; /* it began anew */
	CHECK_EQ(cp_run_tick_rate(&r), 0);
	nanosleep(&moment, NULL);
	CHECK(cp_run_tick_rate(&r) > 0);
	r.tick_rate = 2 * rate; /* a faster machine's before */
	CHECK_EQ(cp_run_tick_rate(&r), 0);
	nanosleep(&moment, NULL);
	CHECK(cp_run_tick_rate(&r) > 0);
}

/* The clock lies between two readings of it. */
static void test_reading(void)
{
	uint64_t before = cp_sys_clock_ns(CLOCK_MONOTONIC);
	struct cp_tick_pair first = cp_tick_pair(), second = cp_tick_pair();
	uint64_t after = cp_sys_clock_ns(CLOCK_MONOTONIC);

	CHECK(before <= first.ns && first.ns <= second.ns && second.ns <= after);
	CHECK(first.ticks < second.ticks);
}

int main(void)
{
	RUN(test_rate);
	RUN(test_too_close);
	RUN(test_a_suspended_machine);
	RUN(test_a_counter_that_is_another);
	RUN(test_reading);
	return harness_end();
}
