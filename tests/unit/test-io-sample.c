/* SPDX-License-Identifier: BSD-3-Clause */
/* Which calls are recorded: the weighted sums are the true ones, in every unit and for every place,
 * and the budget is kept. */
#include "harness.h"

#include <math.h>

#include "modes/io/signal/io_signal.h"
#include "sample/sample.h"

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

/* A cell, as io_event.c has it. */
struct cell {
	struct cp_io_sampler sampler;
	struct cp_io_points points;
	uint64_t sums[CP_IO_SUMS], random;
	double room;
};

static const uint64_t nothing[CP_IO_SUMS];

static void begin(struct cell *c, const uint64_t recent[CP_IO_SUMS], uint64_t now, uint64_t seed)
{
	*c = (struct cell){ .random = cp_poisson_seed(seed, now), .room = 1 };
	cp_io_sample_begin(&c->sampler, recent, now);
}

/* Returns the weight of a call that ends at NOW. */
static double weight_of(struct cell *c, unsigned budget, uint64_t ticks, uint64_t bytes,
			uint64_t errors, uint64_t now)
{
	const struct cp_io_rates rates = { .second = SECOND, .budget = budget };
	const uint64_t call[CP_IO_SUMS] = { 1, ticks, bytes, errors };
	bool reached = now >= c->points.time;

	for (unsigned i = 0; i < CP_IO_SUMS; i++) {
		c->sums[i] += call[i];
		reached |= c->sums[i] >= c->points.next[i];
	}
	return reached ? (double)cp_io_sample_take(&c->sampler, &c->points, &c->random, &rates,
						   c->sums, call, now, c->room) /
				 (1u << CP_IO_WEIGHT_SHIFT)
		       : 0;
}

/* Run COUNT calls of the places, with a pause of GAP ticks after each; TRUTH gets what they were
 * and GUESS what the records say. */
static void run(const struct place *places, unsigned count, unsigned budget, uint64_t gap,
		double room, uint64_t seed, struct sums *truth, struct sums *guess)
{
	struct cell cell;
	uint64_t now = SECOND;
	unsigned turn[PLACES] = { 0 };

	begin(&cell, nothing, now, seed);
	cell.room = room;
	for (unsigned i = 0; i < count; i++) {
		uint64_t r = cp_poisson_seed(seed, i) % 1000;
		unsigned p = 0;
		const struct call *c;
		double weight;

		while (p < PLACES - 1 && r >= places[p].share)
			r -= places[p++].share;
		c = &places[p].calls[turn[p]++ % places[p].kinds];
		now += c->ticks;
		add(truth->of[p], c, 1);
		weight = weight_of(&cell, budget, c->ticks, c->bytes, 0, now);
		add(guess->of[p], c, weight);
		guess->records += weight != 0;
		now += gap;
	}
}

/* The mean of many runs' errors is within four of its own standard errors. The draws are the same
 * in each run of this test. */
static void check_unbiased(const struct place *places, unsigned count, unsigned budget,
			   uint64_t gap, double room)
{
	enum { RUNS = 400 };
	double sum[PLACES][UNITS] = { { 0 } }, squares[PLACES][UNITS] = { { 0 } };

	for (unsigned k = 0; k < RUNS; k++) {
		struct sums truth = { { { 0 } }, 0 }, guess = { { { 0 } }, 0 };

		run(places, count, budget, gap, room, cp_poisson_seed(7919, k), &truth, &guess);
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

TEST(test_sums_are_unbiased)
{
	check_unbiased(mixed, 20000, 200, 0, 1);
}

TEST(test_sums_are_unbiased_where_points_are_left_out)
{
	check_unbiased(mixed, 20000, 200, 0, 0.2);
}

TEST(test_sums_are_unbiased_where_bytes_decide)
{
	/* Nearly all of the measure is bytes, at a rate far above the budget. */
	static const struct place copies[PLACES] = {
		{ { { 300, 65536 } }, 1, 600 },
		{ { { 300, 100 } }, 1, 300 },
		{ { { 300, 8000000 }, { 300, 1 } }, 2, 50 },
		{ { { 300, 0 } }, 1, 50 },
	};

	check_unbiased(copies, 50000, 100, 100, 1);
}

TEST(test_the_first_calls_are_recorded_as_they_are)
{
	struct sums truth = { { { 0 } }, 0 }, guess = { { { 0 } }, 0 };

	run(mixed, CP_IO_SHARE, 200, 0, 1, 1, &truth, &guess);
	CHECK_EQ(guess.records, CP_IO_SHARE);
	for (unsigned p = 0; p < PLACES; p++)
		for (unsigned u = 0; u < UNITS; u++)
			CHECK(truth.of[p][u] == guess.of[p][u]);
}

TEST(test_errors_are_seen_among_many_calls)
{
	struct cell c;
	double errors = 0, weight;

	begin(&c, nothing, SECOND, 1);
	for (uint64_t i = 0; i < 1000000; i++) {
		weight = weight_of(&c, 200, 100, 0, i % 40000 == 39999, SECOND + i * 1000);
		if (i % 40000 == 39999)
			errors += weight;
	}
	CHECK(errors == 25);
}

/* Ten seconds of copies at 10 GB/s; then ten of a call now and then. */
TEST(test_a_long_run_keeps_to_the_budget)
{
	struct cell c;
	unsigned records[2][10] = { { 0 } };

	begin(&c, nothing, SECOND, 1);
	for (uint64_t now = SECOND; now < 11 * SECOND; now += 6500)
		records[0][now / SECOND - 1] += weight_of(&c, 200, 6500, 65536, 0, now) != 0;
	for (uint64_t now = 11 * SECOND; now < 21 * SECOND; now += SECOND / 10)
		records[1][now / SECOND - 11] += weight_of(&c, 200, 1000, 1, 0, now) != 0;
	for (unsigned i = 4; i < 10; i++) {
		CHECK(records[0][i] > 40);
		CHECK(records[0][i] < 200);
		/* The burst is forgotten. */
		CHECK_EQ(records[1][i], 10);
	}
}

TEST(test_sums_of_any_size_can_be_drawn)
{
	struct cell c;

	begin(&c, nothing, SECOND, 1);
	CHECK(weight_of(&c, 1000000, UINT64_C(1) << 60, UINT64_C(1) << 62, 1, UINT64_C(1) << 60) ==
	      1);
	for (unsigned i = 0; i < 1000; i++)
		weight_of(&c, 1, 1, 1, 0, (UINT64_C(1) << 60) + i);
	CHECK(weight_of(&c, 1, UINT64_C(1) << 60, UINT64_C(1) << 61, 0, UINT64_C(1) << 62) >= 1);
}

/* Ten thousand threads with a hundred calls each: the collector reads the counts after every
 * hundredth. */
TEST(test_short_threads_have_few_calls_recorded)
{
	uint64_t recent[CP_IO_SUMS] = { 0 }, now = SECOND;
	unsigned records = 0;
	double sum = 0;

	for (unsigned thread = 0; thread < 10000; thread++) {
		struct cell c;

		begin(&c, recent, now, thread);
		for (unsigned i = 0; i < 100; i++, now += 10000) {
			double weight = weight_of(&c, 200, 100, 1, 0, now);

			records += weight != 0;
			sum += weight;
		}
		for (unsigned i = 0; i < CP_IO_SUMS && thread % 100 == 99; i++)
			recent[i] += 100 * c.sums[i];
	}
	CHECK(records >= 10000);
	CHECK(records <= 35000);
	CHECK(fabs(sum / 1000000 - 1) < 0.05);
}
