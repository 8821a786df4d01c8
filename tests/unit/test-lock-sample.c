/* SPDX-License-Identifier: BSD-3-Clause */
/* Sub-sampling of waits and unlocks: within the budget everything is recorded as it is, beyond it
 * the sums of each place stay what they are. */
#include "harness.h"

#include <stdint.h>

#include "modes/lock/signal/lock_sample.h"

#define SECOND UINT64_C(1000000000)
#define US UINT64_C(1000)
#define PLACES 3

struct sums {
	uint64_t count[PLACES], delay[PLACES], samples;
};

static void add(struct sums *s, int place, uint64_t count, uint64_t delay)
{
	s->count[place] += count;
	s->delay[place] += delay;
	s->samples++;
}

static bool near(uint64_t got, uint64_t want, double part)
{
	double off = (double)got - (double)want;

	return (off < 0 ? -off : off) <= part * (double)want;
}

/* N waits of the places in turn, with the delays given, one right after the other. */
static void wait_in_turn(struct cp_lock_waits *w, const uint64_t *delay, unsigned n,
			 uint64_t stratum, struct sums *out)
{
	uint64_t now = SECOND;
	struct cp_lock_sample s;

	for (unsigned i = 0; i < n; i++) {
		now += delay[i % PLACES];
		if (cp_lock_sample_wait(w, now, delay[i % PLACES], stratum, &s))
			add(out, (int)(i % PLACES), s.count, s.delay);
	}
}

static void test_within_the_budget_all_waits_are_recorded(void)
{
	struct cp_lock_waits w = { .random = 1 };
	struct cp_lock_sample s;

	/* 40 a second where 50 exact ones are granted. */
	for (unsigned i = 1; i <= 1000; i++) {
		CHECK(cp_lock_sample_wait(&w, i * SECOND / 40, i, cp_lock_stratum(100), &s));
		CHECK_EQ(s.count, 1);
		CHECK_EQ(s.delay, i);
	}
}

static void test_without_a_budget_all_waits_are_recorded(void)
{
	struct cp_lock_waits w = { .random = 1 };
	struct cp_lock_sample s;

	for (unsigned i = 1; i <= 10000; i++) {
		CHECK(cp_lock_sample_wait(&w, i, i, cp_lock_stratum(0), &s));
		CHECK_EQ(s.delay, i);
	}
}

static void test_samples_keep_to_the_budget(void)
{
	const uint64_t delay[PLACES] = { 2 * US, 30 * US, 500 * US };
	struct cp_lock_waits w = { .random = 7 };
	struct sums s = { 0 };

	/* 53 seconds of nothing but waits. */
	wait_in_turn(&w, delay, 300000, cp_lock_stratum(100), &s);
	CHECK(s.samples < 54 * 100 + 50);
	CHECK(s.samples > 53 * 90);
}

static void test_sums_of_each_place_are_unbiased(void)
{
	const uint64_t delay[PLACES] = { 20 * US, 300 * US, 5000 * US };
	struct cp_lock_waits w = { .random = 12345 };
	const unsigned n = 600000;
	struct sums s = { 0 };
	uint64_t total = 0, want = 0;

	wait_in_turn(&w, delay, n, cp_lock_stratum(100), &s);
	for (int i = 0; i < PLACES; i++) {
		total += s.delay[i];
		want += delay[i] * (n / PLACES);
	}
	/* The sum of all is right to one stratum. */
	CHECK(total <= want + cp_lock_stratum(100) && want <= total + cp_lock_stratum(100));
	CHECK(near(s.delay[0], delay[0] * (n / PLACES), 0.2));
	CHECK(near(s.delay[1], delay[1] * (n / PLACES), 0.05));
	CHECK(near(s.delay[2], delay[2] * (n / PLACES), 0.01));
	CHECK(near(s.count[0], n / PLACES, 0.2));
	CHECK(near(s.count[1], n / PLACES, 0.05));
	CHECK(near(s.count[2], n / PLACES, 0.01));
}

/* Two places whose delays together are one stratum: a fixed stride would always hit the same. */
static void test_waits_in_step_with_the_strata_are_unbiased(void)
{
	const uint64_t stratum = cp_lock_stratum(100);
	const uint64_t delay[PLACES] = { stratum / 2, stratum / 4, stratum / 4 };
	struct cp_lock_waits w = { .random = 99 };
	const unsigned n = 90000;
	struct sums s = { 0 };

	wait_in_turn(&w, delay, n, stratum, &s);
	for (int i = 0; i < PLACES; i++) {
		CHECK(near(s.delay[i], delay[i] * (n / PLACES), 0.03));
		CHECK(near(s.count[i], n / PLACES, 0.03));
	}
}

static void test_waits_longer_than_a_stratum_are_exact(void)
{
	struct cp_lock_waits w = { .random = 5 };
	struct cp_lock_sample s;

	for (unsigned i = 0; i < 1000; i++) {
		cp_lock_sample_wait(&w, SECOND, 10, cp_lock_stratum(100), &s);
		CHECK(cp_lock_sample_wait(&w, SECOND, SECOND + i, cp_lock_stratum(100), &s));
		CHECK_EQ(s.count, 1);
		CHECK_EQ(s.delay, SECOND + i);
	}
}

/* Known at its begin: one that takes less isn't recorded. And it is known of most of them. */
static void test_most_waits_need_no_stack_from_the_begin(void)
{
	struct cp_lock_waits w = { .random = 1 };
	uint64_t now = SECOND, stratum = cp_lock_stratum(100);
	unsigned known = 0, recorded = 0, waits = 0;
	struct cp_lock_sample s;

	for (unsigned i = 0; i < 2000000; i++) {
		uint64_t delay = (i * UINT64_C(7919)) % 97 * US, left;

		left = cp_lock_sample_left(&w, now, stratum);
		now += delay;
		if (cp_lock_sample_wait(&w, now, delay, stratum, &s)) {
			recorded++;
			CHECK(delay >= left);
		} else {
			waits++;
			known += delay < left;
		}
		/* Some begin with tokens again. */
		now += i % 200000 ? 0 : 10 * SECOND;
	}
	CHECK(recorded > 1000);
	CHECK(known > waits - waits / 50);
}

static void test_a_new_budget_begins_a_new_stratum(void)
{
	struct cp_lock_waits w = { .random = 5 };
	struct cp_lock_sample s;
	uint64_t sum = 0;

	for (unsigned i = 0; i < 100000; i++)
		cp_lock_sample_wait(&w, SECOND, 100 * US, cp_lock_stratum(10), &s);
	for (unsigned i = 0; i < 100000; i++)
		if (cp_lock_sample_wait(&w, SECOND, 100 * US, cp_lock_stratum(1000), &s))
			sum += s.delay;
	CHECK(near(sum, 100000 * 100 * US, 0.001));
}

/* N unlocks EVERY ns apart, of the places in turn. */
static uint64_t unlock_in_turn(struct cp_lock_unlocks *u, struct cp_lock_waits *random,
			       uint64_t now, uint64_t every, unsigned n, struct sums *out)
{
	for (unsigned i = 0; i < n; i++) {
		uint32_t weight = cp_lock_sample_unlock(u, random);

		now += every;
		if (weight)
			add(out, (int)(i % PLACES), weight, 0);
		cp_lock_sample_time(u, random, now, cp_lock_stratum(100));
	}
	return now;
}

static void test_within_the_budget_all_unlocks_are_taken(void)
{
	struct cp_lock_waits random = { .random = 3 };
	struct cp_lock_unlocks u = { 0 };
	struct sums s = { 0 };

	unlock_in_turn(&u, &random, SECOND, SECOND / 40, 1000, &s);
	CHECK_EQ(s.samples, 1000);
	CHECK_EQ(s.count[0] + s.count[1] + s.count[2], 1000);
}

static void test_unlocks_keep_to_the_budget_and_count_for_all(void)
{
	struct cp_lock_waits random = { .random = 3 };
	struct cp_lock_unlocks u = { 0 };
	const unsigned n = 3000000;
	struct sums s = { 0 };

	/* 30 seconds at 100,000 a second. */
	unlock_in_turn(&u, &random, SECOND, 10 * US, n, &s);
	CHECK(s.samples < 30 * 100 + 100);
	CHECK(s.samples > 30 * 40);
	CHECK(near(s.count[0] + s.count[1] + s.count[2], n, 0.01));
	for (int i = 0; i < PLACES; i++)
		CHECK(near(s.count[i], n / PLACES, 0.15));
}

static void test_unlocks_that_become_rare_are_all_taken_again(void)
{
	struct cp_lock_waits random = { .random = 3 };
	struct cp_lock_unlocks u = { 0 };
	struct sums fast = { 0 }, slow = { 0 };
	uint64_t now = unlock_in_turn(&u, &random, SECOND, 2 * US, 3000000, &fast);

	CHECK(u.size > 1000);
	/* 10 a second. */
	unlock_in_turn(&u, &random, now, SECOND / 10, 1000, &slow);
	CHECK(slow.samples > 950);
}

int main(void)
{
	RUN(test_within_the_budget_all_waits_are_recorded);
	RUN(test_without_a_budget_all_waits_are_recorded);
	RUN(test_samples_keep_to_the_budget);
	RUN(test_sums_of_each_place_are_unbiased);
	RUN(test_waits_in_step_with_the_strata_are_unbiased);
	RUN(test_waits_longer_than_a_stratum_are_exact);
	RUN(test_most_waits_need_no_stack_from_the_begin);
	RUN(test_a_new_budget_begins_a_new_stratum);
	RUN(test_within_the_budget_all_unlocks_are_taken);
	RUN(test_unlocks_keep_to_the_budget_and_count_for_all);
	RUN(test_unlocks_that_become_rare_are_all_taken_again);
	return harness_end();
}
