/* SPDX-License-Identifier: BSD-3-Clause */
/* Which calls are recorded: the weighted sums are the true ones, in every unit and for every place,
 * and the budget is kept. */
#include "harness.h"

#include <math.h>
#include <stdint.h>

#include "modes/io/signal/io_sample.h"
#include "sample/poisson.h"

#define SECOND UINT64_C(1000000000)

struct call {
	uint64_t ticks, bytes;
};

/* A place of the program: its calls have these lengths and sizes in turn, and come so often. */
struct place {
	struct call calls[4];
	unsigned kinds, share;
};

enum { CALLS, TICKS, BYTES, UNITS };
#define PLACES 4

struct sums {
	double of[PLACES][UNITS];
	double records;
};

static void add(double *to, const struct call *c, double weight)
{
	to[CALLS] += weight;
	to[TICKS] += weight * (double)c->ticks;
	to[BYTES] += weight * (double)c->bytes;
}

/* Run COUNT calls of the places, with a pause of GAP ticks after each; TRUTH gets what they were
 * and GUESS what the records say. */
static void run(const struct place *places, unsigned count, unsigned budget, uint64_t gap,
		uint64_t seed, struct sums *truth, struct sums *guess)
{
	const struct cp_io_rates rates = { .second = SECOND, .budget = budget };
	struct cp_io_sampler s;
	uint64_t now = SECOND, m, weight;
	unsigned turn[PLACES] = { 0 };

	cp_io_sample_begin(&s, &rates, now, 5 * SECOND / 2, seed);
	for (unsigned i = 0; i < count; i++) {
		uint64_t r = cp_poisson_seed(seed, i) % 1000;
		unsigned p = 0;
		const struct call *c;

		while (p < PLACES - 1 && r >= places[p].share)
			r -= places[p++].share;
		c = &places[p].calls[turn[p]++ % places[p].kinds];
		now += c->ticks;
		add(truth->of[p], c, 1);
		m = cp_io_sample_measure(&s, c->ticks, c->bytes);
		s.left -= (int64_t)m;
		if (s.left <= 0 || now >= s.attention) {
			weight = cp_io_sample_take(&s, &rates, now, m,
						   m > 2 * cp_io_sample_measure(&s, c->ticks, 0));
			add(guess->of[p], c, (double)weight / (1u << CP_IO_WEIGHT_SHIFT));
			guess->records += weight != 0;
		}
		now += gap;
	}
}

/* The mean of many runs' errors is within four of its own standard errors. The draws are the same
 * in each run of this test. */
static void check_unbiased(const struct place *places, unsigned count, unsigned budget,
			   uint64_t gap)
{
	enum { RUNS = 400 };
	double sum[PLACES][UNITS] = { { 0 } }, squares[PLACES][UNITS] = { { 0 } };

	for (unsigned k = 0; k < RUNS; k++) {
		struct sums truth = { { { 0 } }, 0 }, guess = { { { 0 } }, 0 };

		run(places, count, budget, gap, cp_poisson_seed(7919, k), &truth, &guess);
		for (unsigned p = 0; p < PLACES; p++)
			for (unsigned u = 0; u < UNITS; u++) {
				double off =
					truth.of[p][u] ? guess.of[p][u] / truth.of[p][u] - 1 : 0;

				sum[p][u] += off;
				squares[p][u] += off * off;
			}
	}
	for (unsigned p = 0; p < PLACES; p++)
		for (unsigned u = 0; u < UNITS; u++) {
			double mean = sum[p][u] / RUNS;
			double error = sqrt((squares[p][u] / RUNS - mean * mean) / RUNS);

			if (fabs(mean) > 4 * error + 1e-9)
				printf("# place %u unit %u: %g, standard error %g\n", p, u, mean,
				       error);
			CHECK(fabs(mean) <= 4 * error + 1e-9);
		}
}

/* Short calls without bytes, long waits, large copies, and a mixture. */
static const struct place mixed[PLACES] = {
	{ { { 400, 0 }, { 900, 0 } }, 2, 500 },
	{ { { 3000000, 1 } }, 1, 10 },
	{ { { 20000, 65536 }, { 40000, 131072 }, { 9000, 4096 } }, 3, 290 },
	{ { { 700, 16 }, { 50000, 1000000 }, { 900000, 0 }, { 1, 0 } }, 4, 200 },
};

static void test_sums_are_unbiased(void)
{
	check_unbiased(mixed, 20000, 200, 0);
}

static void test_sums_are_unbiased_while_the_byte_interval_changes(void)
{
	/* Nearly all of the measure is bytes, at a rate far above the budget. */
	static const struct place copies[PLACES] = {
		{ { { 300, 65536 } }, 1, 600 },
		{ { { 300, 100 } }, 1, 300 },
		{ { { 300, 8000000 }, { 300, 1 } }, 2, 50 },
		{ { { 300, 0 } }, 1, 50 },
	};

	check_unbiased(copies, 50000, 100, 100);
}

static void test_few_calls_are_recorded_as_they_are(void)
{
	struct sums truth = { { { 0 } }, 0 }, guess = { { { 0 } }, 0 };

	run(mixed, 250, 200, 0, 1, &truth, &guess);
	CHECK_EQ(guess.records, 250);
	for (unsigned p = 0; p < PLACES; p++)
		for (unsigned u = 0; u < UNITS; u++)
			CHECK(truth.of[p][u] == guess.of[p][u]);
}

/* Ten seconds of copies at 10 GB/s. */
static void test_the_budget_is_kept(void)
{
	static const struct place copies[PLACES] = { { { { 6500, 65536 } }, 1, 1000 },
						     { { { 1, 0 } }, 1, 0 },
						     { { { 1, 0 } }, 1, 0 },
						     { { { 1, 0 } }, 1, 0 } };
	struct sums truth = { { { 0 } }, 0 }, guess = { { { 0 } }, 0 };

	run(copies, 1500000, 200, 0, 1, &truth, &guess);
	/* Tokens: 100 a second and 250 saved ones; points: 100 a second, and a few until the
	 * interval is found. */
	CHECK(guess.records > 1000);
	CHECK(guess.records < 100 * 10 + 250 + 100 * 10 + 200);
	CHECK(fabs(guess.of[0][BYTES] / truth.of[0][BYTES] - 1) < 0.2);
}

static void test_a_measure_never_overflows(void)
{
	const struct cp_io_rates rates = { .second = SECOND, .budget = 1000000 };
	struct cp_io_sampler s;

	cp_io_sample_begin(&s, &rates, SECOND, 0, 1);
	CHECK(cp_io_sample_measure(&s, UINT64_MAX, UINT64_MAX) <=
	      2 * CP_IO_SURE * CP_IO_ONE + CP_IO_ONE);
	CHECK(cp_io_sample_measure(&s, UINT64_MAX, 0) > 60 * CP_IO_ONE);
	CHECK(cp_io_sample_measure(&s, 1, 0) >= CP_IO_ONE / CP_IO_CALLS);
}

/* Return how many of COUNT calls of a thread are recorded, each a microsecond after the other. */
static unsigned records_of_thread(uint64_t *used, uint64_t now, unsigned count)
{
	const struct cp_io_rates rates = { .second = SECOND, .budget = 200 };
	struct cp_io_sampler s;
	unsigned records = 0;

	cp_io_sample_begin(&s, &rates, now, cp_io_sample_saved(used, &rates, now), now);
	for (unsigned i = 0; i < count; i++) {
		uint64_t m = cp_io_sample_measure(&s, 100, 1);

		now += SECOND / 1000000;
		s.left -= (int64_t)m;
		records += cp_io_sample_take(&s, &rates, now, m, false) != 0;
	}
	return records;
}

/* Ten thousand threads in ten seconds, with a hundred calls each. */
static void test_short_threads_share_what_is_saved(void)
{
	uint64_t used = 0, now = 100 * (uint64_t)SECOND;
	unsigned records = 0;

	CHECK_EQ(records_of_thread(&used, now, 100), 100);
	for (unsigned i = 0; i < 10000; i++, now += SECOND / 1000)
		records += records_of_thread(&used, now, 100);
	/* What was saved for sixteen threads, and 100 a second. */
	CHECK(records >= 16 * 100);
	CHECK(records <= 16 * 250 + 10 * 100 + 100);
}

/* A machine that has just started: its counter is lower than what a thread may save, all the more
 * while the rate is a guess that is forty times too high. */
static void test_what_is_saved_does_not_depend_on_the_uptime(void)
{
	static const uint64_t times[] = { 0, SECOND / 40, SECOND / 10, 5 * SECOND, 50 * SECOND };

	for (unsigned i = 0; i < sizeof(times) / sizeof(*times); i++) {
		uint64_t used = 0;

		for (unsigned thread = 0; thread < 16; thread++)
			CHECK_EQ(records_of_thread(&used, times[i] + thread, 250), 250);
		CHECK(records_of_thread(&used, times[i] + 16, 250) < 10);
	}
}

int main(void)
{
	RUN(test_sums_are_unbiased);
	RUN(test_sums_are_unbiased_while_the_byte_interval_changes);
	RUN(test_few_calls_are_recorded_as_they_are);
	RUN(test_the_budget_is_kept);
	RUN(test_a_measure_never_overflows);
	RUN(test_short_threads_share_what_is_saved);
	RUN(test_what_is_saved_does_not_depend_on_the_uptime);
	return harness_end();
}
