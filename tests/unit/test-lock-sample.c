/* SPDX-License-Identifier: BSD-3-Clause */
/* Which waits are sampled: the first and the long ones surely, the others so that what they stand
 * for sums to all. */
#include "harness.h"

#include "modes/lock/signal/lock_signal.h"

#define SECOND UINT64_C(1000000000)
#define US UINT64_C(1000)
#define PLACES 3

static uint64_t random_state;

struct sums {
	double count[PLACES], delay[PLACES];
	unsigned samples;
};

static bool near(double got, double want, double part)
{
	double off = got - want;

	return (off < 0 ? -off : off) <= part * want;
}

/* N waits of the places in turn, with the delays given, one right after the other. */
static uint64_t wait_in_turn(struct cp_lock_stratum *s, uint64_t now, const uint64_t *delay,
			     unsigned n, struct sums *out)
{
	for (unsigned i = 0; i < n; i++) {
		uint64_t d = delay[i % PLACES];
		double weight;

		now += d;
		weight = cp_lock_sample_wait(s, &random_state, now, d, cp_lock_sample_rates(100));
		cp_lock_sample_count(s, d);
		CHECK(weight == 0 || weight >= 1);
		out->count[i % PLACES] += weight;
		out->delay[i % PLACES] += weight * (double)d;
		out->samples += weight > 0;
	}
	return now;
}

TEST(test_long_waits_are_all_sampled)
{
	struct cp_lock_stratum s = { 0 };

	for (unsigned i = 0; i < 100000; i++) {
		uint64_t delay = i % 1000 ? US : 2 * SECOND / 100;
		double weight = cp_lock_sample_wait(&s, &random_state, SECOND, delay,
						    cp_lock_sample_rates(100));

		cp_lock_sample_count(&s, delay);
		CHECK(i % 1000 || weight == 1);
	}
}

TEST(test_sums_of_each_place_are_unbiased)
{
	const uint64_t delay[PLACES] = { 20 * US, 300 * US, 5000 * US };
	struct cp_lock_stratum s = { 0 };
	const unsigned n = 600000;
	struct sums sums = { 0 };

	wait_in_turn(&s, SECOND, delay, n, &sums);
	for (int i = 0; i < PLACES; i++) {
		CHECK(near(sums.delay[i], (double)delay[i] * (n / PLACES), 0.05));
		CHECK(near(sums.count[i], n / PLACES, 0.05));
	}
	CHECK_EQ(s.count, n);
	CHECK_EQ(s.delay, (delay[0] + delay[1] + delay[2]) * (n / PLACES));
}

/* Many runs of a few hundred waits, where the rates change with each wait. */
TEST(test_short_runs_are_unbiased)
{
	const uint64_t delay[PLACES] = { 2 * US, 30 * US, 100 * US };
	const unsigned n = 300, runs = 3000;
	struct sums sums = { 0 };

	for (unsigned run = 0; run < runs; run++) {
		struct cp_lock_stratum s = { 0 };

		wait_in_turn(&s, SECOND, delay, n, &sums);
	}
	for (int i = 0; i < PLACES; i++) {
		CHECK(near(sums.delay[i], (double)delay[i] * (n / PLACES) * runs, 0.01));
		CHECK(near(sums.count[i], (double)(n / PLACES) * runs, 0.01));
	}
}

/* Places whose delays together are the distance of two points: a fixed stride would always hit the
 * same. */
TEST(test_waits_in_step_with_the_points_are_unbiased)
{
	const uint64_t point = SECOND / 75;
	const uint64_t delay[PLACES] = { point / 2, point / 4, point / 4 };
	struct cp_lock_stratum s = { 0 };
	const unsigned n = 90000;
	struct sums sums = { 0 };

	wait_in_turn(&s, SECOND, delay, n, &sums);
	for (int i = 0; i < PLACES; i++)
		CHECK(near(sums.delay[i], (double)delay[i] * (n / PLACES), 0.04));
}

/* In a second of nothing but waits; and later as many as before. */
TEST(test_samples_keep_to_a_rate)
{
	const uint64_t delay[PLACES] = { 2 * US, 30 * US, 500 * US };
	struct cp_lock_stratum s = { 0 };
	struct sums first = { 0 }, later = { 0 };
	uint64_t now = wait_in_turn(&s, SECOND, delay, 100000, &first);

	wait_in_turn(&s, now, delay, 100000, &later);
	/* 17.7 seconds each. */
	CHECK(first.samples < 17 * 150 + 500);
	CHECK(later.samples < 18 * 130);
	CHECK(later.samples > 17 * 80);
}

/* Known at its begin, if no other wait comes between. */
TEST(test_the_sampled_length_is_known_before)
{
	struct cp_lock_stratum s = { 0 };
	unsigned sampled = 0;

	for (unsigned i = 0; i < 200000; i++) {
		uint64_t delay = (i * UINT64_C(7919)) % 97 * US;
		uint64_t after = cp_lock_sample_after(&s, cp_lock_sample_rates(100));
		bool is = cp_lock_sample_wait(&s, &random_state, SECOND + i * 100 * US, delay,
					      cp_lock_sample_rates(100)) > 0;

		cp_lock_sample_count(&s, delay);
		CHECK(!is || delay + US >= after);
		CHECK(is || delay <= after + US);
		sampled += is;
	}
	CHECK(sampled > 1000);
}
