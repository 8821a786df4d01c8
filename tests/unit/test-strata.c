/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows sum to the exact totals of their stratum, and fairly. */
#include "harness.h"

#include <math.h>

#include "profile/profile.h"
#include "sample/sample.h"

static struct cp_modules modules;
static struct cp_aggregate a;
static struct cp_strata st;

static void begin(unsigned few)
{
	cp_modules_init(&modules);
	CHECK_EQ(cp_modules_refresh(&modules), 0);
	cp_aggregate_init(&a, &modules);
	st = cp_strata_new(few);
}

static void end(void)
{
	cp_strata_release(&st);
	cp_aggregate_release(&a);
	cp_modules_release(&modules);
}

/* The row number N of THREAD. */
static uint32_t row_of(uint32_t thread, unsigned n)
{
	const uint64_t pc = (uint64_t)(uintptr_t)&begin + n;
	uint32_t row = cp_aggregate_row(
		&a, &(struct cp_raw_stack){ .pcs = &pc, .depth = 1, .thread = thread, .tag = 7 });

	CHECK(row != CP_INDEX_NONE);
	return row;
}

/* An event of VALUE that was taken with the probability P. */
static void sampled(uint32_t thread, unsigned n, uint64_t value, double p)
{
	const uint64_t self[CP_VALUES] = { 1, value };
	const double share[CP_VALUES] = { 1 / p - 1, (double)value * (1 / p - 1) };

	CHECK(cp_strata_sampled(&st, row_of(thread, n), thread, 7, self, share));
}

static void exact(uint32_t thread, uint64_t count, uint64_t value)
{
	const uint64_t values[CP_VALUES] = { count, value };

	CHECK(cp_strata_exact(&st, thread, 7, values));
}

static uint64_t value_of(uint32_t thread, unsigned n, unsigned v)
{
	return cp_aggregate_row_at(&a, row_of(thread, n))->values[v];
}

/* The sum over the rows of THREAD (CP_NO_THREAD - 1: of all). */
static uint64_t sum_of(uint32_t thread, unsigned v)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < a.stacks.count; i++) {
		const struct cp_stack *s = cp_aggregate_row_at(&a, i);

		if (s->thread == thread || thread == CP_NO_THREAD - 1)
			sum += s->values[v];
	}
	return sum;
}

static uint64_t not_sampled(uint32_t thread, unsigned v)
{
	uint32_t row = cp_aggregate_row(
		&a, &(struct cp_raw_stack){
			    .location = CP_LOCATION_NOT_SAMPLED, .thread = thread, .tag = 7 });

	return cp_aggregate_row_at(&a, row)->values[v];
}

TEST(test_events_that_are_all_sampled_stay_as_they_are)
{
	begin(16);
	for (unsigned i = 0; i < 5; i++)
		sampled(0, i, 100 + i, 1);
	exact(0, 5, 510);
	CHECK_EQ(cp_strata_settle(&st, &a, NULL), 0);
	for (unsigned i = 0; i < 5; i++) {
		CHECK_EQ(value_of(0, i, 0), 1);
		CHECK_EQ(value_of(0, i, 1), 100 + i);
	}
	CHECK(cp_strata_unsure(&st, 0) == 0);
	end();
}

TEST(test_what_was_not_sampled_is_divided_among_shares)
{
	begin(0);
	sampled(0, 0, 1000, 1);
	sampled(0, 1, 10, 0.1);
	sampled(0, 2, 30, 0.1);
	/* 19 further events of 370, where 9 each of 90 and 270 were expected: the larger one, whose
	 * estimate is less sure, bears nine tenths of the difference. */
	exact(0, 22, 1410);
	cp_strata_settle(&st, &a, NULL);
	CHECK_EQ(value_of(0, 0, 0), 1);
	CHECK_EQ(value_of(0, 0, 1), 1000);
	CHECK(value_of(0, 1, 0) == 10 || value_of(0, 1, 0) == 11);
	CHECK_EQ(value_of(0, 1, 1), 10 + 90 + 1);
	CHECK_EQ(value_of(0, 2, 1), 30 + 270 + 9);
	CHECK_EQ(sum_of(0, 0), 22);
	CHECK_EQ(sum_of(0, 1), 1410);
	CHECK_EQ(a.weight, 1410);
	/* The rows of 9000 and 81,000 can only be off together. */
	CHECK(fabs(st.variance[1] - 2 * 8100) < 1e-6);
	CHECK(fabs(cp_strata_unsure(&st, 1) - 2 * 8100.0 / 1410) < 1e-9);
	/* Far fewer than expected: no row gets less than it surely has. */
	sampled(0, 1, 10, 0.1);
	sampled(0, 2, 30, 0.01);
	exact(0, 10, 100);
	cp_strata_settle(&st, &a, NULL);
	CHECK(value_of(0, 1, 1) >= 101 + 10);
	CHECK(value_of(0, 2, 1) >= 309 + 30);
	CHECK_EQ(sum_of(0, 1), 1510);
	end();
}

/* Visits find a part too much or too little of a wait. The next total is of the time after them. */
TEST(test_estimates_that_exceed_the_total_are_settled_with_it)
{
	for (int estimates = 0; estimates < 2; estimates++) {
		begin(0);
		st.estimates = estimates;
		sampled(0, 0, 1000, 1);
		exact(0, 1, 900);
		cp_strata_settle(&st, &a, NULL);
		CHECK_EQ(value_of(0, 0, 1), 900);
		sampled(0, 1, 500, 1);
		exact(0, 1, 500);
		cp_strata_settle(&st, &a, NULL);
		CHECK_EQ(value_of(0, 0, 1) > 900, !estimates);
		CHECK_EQ(sum_of(0, 1), 1400);
		end();
	}
}

TEST(test_without_a_sample_there_is_a_row)
{
	begin(16);
	exact(3, 4, 50);
	exact(CP_NO_THREAD, 1, 8);
	cp_strata_settle(&st, &a, NULL);
	CHECK_EQ(not_sampled(3, 0), 4);
	CHECK_EQ(not_sampled(3, 1), 50);
	CHECK_EQ(not_sampled(CP_NO_THREAD, 1), 8);
	/* A value of which no sample has any. */
	sampled(3, 0, 0, 1);
	exact(3, 1, 20);
	cp_strata_settle(&st, &a, NULL);
	CHECK_EQ(value_of(3, 0, 0), 1);
	CHECK_EQ(not_sampled(3, 1), 70);
	CHECK_EQ(not_sampled(3, 0), 4);
	end();
}

/* A settle may come between an event's sample and its count, when several files are written one
 * after the other, or a window ends: the event keeps its row. */
TEST(test_a_sample_waits_for_its_count)
{
	begin(16);
	sampled(0, 0, 500, 1);
	cp_strata_settle(&st, &a, NULL);
	CHECK_EQ(sum_of(0, 1), 0);
	exact(0, 1, 500);
	cp_strata_settle(&st, &a, NULL);
	CHECK_EQ(value_of(0, 0, 0), 1);
	CHECK_EQ(value_of(0, 0, 1), 500);
	/* Others, which are counted, lose nothing in the end; nor does it count twice. */
	sampled(0, 1, 300, 1);
	sampled(0, 2, 100, 1);
	exact(0, 1, 300);
	cp_strata_settle(&st, &a, NULL);
	CHECK_EQ(sum_of(0, 1), 800);
	exact(0, 1, 100);
	cp_strata_settle(&st, &a, NULL);
	CHECK_EQ(value_of(0, 0, 1), 500);
	CHECK_EQ(value_of(0, 1, 1), 300);
	CHECK_EQ(value_of(0, 2, 1), 100);
	CHECK_EQ(not_sampled(0, 1), 0);
	end();
}

/* The other way round, where it is known that the sample comes later. */
TEST(test_a_count_waits_for_its_sample)
{
	uint64_t values[CP_VALUES] = { 1, 501 };

	begin(0);
	sampled(0, 1, 300, 1);
	exact(0, 2, 800);
	cp_strata_withhold(&st, 0, 7, values);
	cp_strata_settle(&st, &a, NULL);
	CHECK_EQ(value_of(0, 1, 1), 299);
	CHECK_EQ(values[1], 501);
	exact(0, values[0], values[1]);
	sampled(0, 0, 500, 1);
	cp_strata_settle(&st, &a, NULL);
	CHECK_EQ(value_of(0, 0, 0), 1);
	CHECK(value_of(0, 0, 1) >= 500 && not_sampled(0, 1) <= 1);
	/* No more than there is. */
	cp_strata_withhold(&st, 0, 7, values);
	CHECK_EQ(values[1], 0);
	end();
}

static void move_by_one(uint32_t *row, void *arg)
{
	*(unsigned *)arg += 1;
	*row += 1;
}

TEST(test_what_waits_follows_its_row)
{
	unsigned moved = 0;

	begin(0);
	row_of(0, 0);
	row_of(0, 1);
	sampled(0, 0, 500, 1);
	cp_strata_settle(&st, &a, NULL);
	cp_strata_rows(&st, move_by_one, &moved);
	CHECK_EQ(moved, 1);
	exact(0, 1, 500);
	cp_strata_settle(&st, &a, NULL);
	CHECK_EQ(value_of(0, 1, 1), 500);
	cp_strata_rows(&st, move_by_one, &moved);
	CHECK_EQ(moved, 1);
	end();
}

TEST(test_samples_that_are_counted_elsewhere_do_not_add_up)
{
	begin(0);
	/* The events of both were told before; a third is not. */
	sampled(0, 0, 10, 1);
	sampled(0, 1, 30, 1);
	cp_strata_settle(&st, &a, NULL);
	CHECK_EQ(sum_of(0, 0), 0);
	sampled(0, 0, 10, 1);
	sampled(0, 1, 30, 1);
	exact(0, 1, 20);
	cp_strata_settle(&st, &a, NULL);
	CHECK_EQ(sum_of(0, 0), 1);
	CHECK_EQ(sum_of(0, 1), 20);
	/* Shares alone, as of a clock. */
	CHECK(cp_strata_sampled(&st, row_of(0, 0), 0, 7, (uint64_t[CP_VALUES]){ 0 },
				(double[CP_VALUES]){ 1, 3 }));
	exact(0, 8, 21);
	cp_strata_settle(&st, &a, NULL);
	CHECK_EQ(value_of(0, 0, 0) + value_of(0, 1, 0), 9);
	CHECK_EQ(sum_of(0, 1), 41);
	end();
}

/* Threads that end after an event or two: one of them is sampled. */
TEST(test_strata_with_few_samples_are_settled_together)
{
	begin(16);
	sampled(0, 0, 10, 0.5);
	for (uint32_t thread = 0; thread < 10; thread++)
		exact(thread, 2, 20);
	/* One that has enough samples keeps its own sum. */
	for (unsigned i = 0; i < 16; i++)
		sampled(11, 1, 10, 0.5);
	exact(11, 40, 400);
	cp_strata_settle(&st, &a, NULL);
	CHECK_EQ(value_of(0, 0, 0), 20);
	CHECK_EQ(value_of(0, 0, 1), 200);
	CHECK_EQ(sum_of(11, 0), 40);
	/* Those whose events are all sampled, too. */
	sampled(0, 0, 10, 0.5);
	sampled(1, 0, 10, 1);
	exact(0, 9, 90);
	exact(1, 1, 10);
	exact(2, 5, 50);
	cp_strata_settle(&st, &a, NULL);
	CHECK_EQ(value_of(0, 0, 0), 20 + 14);
	CHECK_EQ(value_of(1, 0, 0), 1);
	end();
}

/* Sums are exact after each of many settles, and the mean of a row is its true one, also of values
 * far below 1. */
TEST(test_many_settles_sum_up_and_round_fairly)
{
	enum { SETTLES = 3000, ROWS = 6, EVENTS = 40 };
	uint64_t random = 1, count = 0, value = 0, truth[ROWS] = { 0 }, all = 0;

	begin(0);
	for (unsigned k = 0; k < SETTLES; k++) {
		for (unsigned i = 0; i < EVENTS; i++) {
			uint64_t r = cp_poisson_seed(5, random++);
			unsigned row = (unsigned)(r % 32 < ROWS ? r % 32 : 0);

			truth[row]++;
			count++;
			value += row + 1;
			if (r >> 60 == 0)
				sampled(0, row, row + 1, 1.0 / 16);
		}
		exact(0, count - all, value);
		all = count;
		value = 0;
		cp_strata_settle(&st, &a, NULL);
	}
	CHECK_EQ(sum_of(0, 0), count);
	for (unsigned i = 0; i < ROWS; i++) {
		double p = (double)truth[i] / (double)count;
		double error = sqrt(p * (1 - p) * 16 / (double)count);
		/* Settles without a sample have no part in the rows. */
		double got = (double)value_of(0, i, 0) / (double)(count - not_sampled(0, 0));

		if (fabs(got - p) > 4 * error)
			printf("# row %u: %g, not %g to %g\n", i, got, p, error);
		CHECK(fabs(got - p) <= 4 * error);
	}
	end();
}

TEST(test_parts_of_an_event_go_to_each_row_in_turn)
{
	const uint64_t none[CP_VALUES] = { 0 };

	begin(0);
	for (unsigned k = 0; k < 2000; k++) {
		CHECK(cp_strata_sampled(&st, row_of(0, 0), 0, 7, none, (double[CP_VALUES]){ 0.3 }));
		CHECK(cp_strata_sampled(&st, row_of(0, 1), 0, 7, none, (double[CP_VALUES]){ 0.7 }));
		exact(0, 1, 0);
		cp_strata_settle(&st, &a, NULL);
	}
	/* 600, with a standard deviation of 20. */
	CHECK(value_of(0, 0, 0) > 520 && value_of(0, 0, 0) < 680);
	CHECK_EQ(sum_of(0, 0), 2000);
	end();
}

/* How the mode adds: here the second value counts for the first one, too. */
static void add_both(struct cp_stack *row, const uint64_t values[CP_VALUES])
{
	row->values[0] += values[0] + values[1];
}

TEST(test_a_mode_adds_in_its_own_way)
{
	begin(0);
	sampled(0, 0, 10, 1);
	exact(0, 1, 10);
	exact(1, 2, 3);
	cp_strata_settle(&st, &a, add_both);
	CHECK_EQ(value_of(0, 0, 0), 11);
	CHECK_EQ(not_sampled(1, 0), 5);
	end();
}
