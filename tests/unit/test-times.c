/* SPDX-License-Identifier: BSD-3-Clause */
/* The store of a time index: what was added is read back; the budget is kept; thinning is unbiased.
 */
#include <sys/resource.h>

#include "chance.h"
#include "harness.h"

#include "profile/profile.h"

#define ROWS 5

static struct cp_time_event event_at(uint64_t i)
{
	return (struct cp_time_event){ .begin_ns = i * 1000000 + draw_below(900000),
				       .duration_ns = i % 3 ? draw_below(1 << 20) : 0,
				       .weight = 1 + draw_below(20000000),
				       .thread = (uint32_t)draw_below(40),
				       .row = (uint32_t)draw_below(ROWS),
				       .count = i % 7 ? 1 : (uint32_t)draw_below(100) + 2 };
}

static bool same(const struct cp_time_event *a, const struct cp_time_event *b)
{
	return a->begin_ns == b->begin_ns && a->duration_ns == b->duration_ns &&
	       a->weight == b->weight && a->thread == b->thread && a->row == b->row &&
	       a->count == b->count && a->is_death == b->is_death;
}

TEST(test_reads_back)
{
	static struct cp_time_event all[20000];
	struct cp_times t;
	struct cp_times_reader r;
	struct cp_time_event e;
	size_t n = 0;

	cp_times_begin(&t, 8 << 20, 0, 1);
	CHECK_EQ(t.bytes, 0);
	for (size_t i = 0; i < 20000; i++) {
		all[i] = event_at(i ^ (i & 1)); /* out of order, too */
		if (i % 11 == 0)
			all[i].weight = all[i].begin_ns = UINT64_MAX >> (i & 7);
		all[i].is_death = i % 5 == 0;
		cp_times_add(&t, &all[i]);
		if (!i)
			CHECK_EQ(t.bytes, 4096);
	}
	r = cp_times_read(&t);
	while (cp_times_next(&r, &e))
		CHECK(n < 20000 && same(&e, &all[n++]));
	CHECK_EQ(n, 20000);
	CHECK(!t.sums && t.level == 0 && t.seen == 20000);
	cp_times_release(&t);
	cp_times_add(&t, &e);
	CHECK_EQ(t.seen, 0);
}

/* Adds COUNT events, and compares the estimate of a window's sum, of each row's sums and the exact
 * sums. */
static double estimate(uint64_t seed, size_t count, uint64_t budget, double *truth)
{
	uint64_t exact[ROWS] = { 0 };
	struct cp_times t;
	struct cp_times_reader r;
	struct cp_time_event e;
	double got = 0;

	*truth = 0;
	cp_times_begin(&t, budget, 0, seed);
	for (size_t i = 0; i < count; i++) {
		e = event_at(i);
		cp_times_add(&t, &e);
		exact[e.row] += e.weight;
		if (i % 4 == 1)
			*truth += (double)e.weight;
		CHECK(t.bytes <= budget);
	}
	CHECK(t.sums && t.level >= 2);
	for (uint32_t i = 0; i < ROWS; i++)
		CHECK_EQ(*CP_VEC_AT(&t.recorded, uint64_t, i), exact[i]);
	r = cp_times_read(&t);
	while (cp_times_next(&r, &e))
		if (e.begin_ns / 1000000 % 4 == 1)
			got += (double)e.weight * (double)(1u << t.level);
	cp_times_release(&t);
	return got;
}

TEST(test_thinning_is_unbiased)
{
	double sum = 0, sum_truth = 0, squares = 0;
	enum { TIMES = 60 };

	for (uint64_t seed = 0; seed < TIMES; seed++) {
		double truth, got = estimate(seed * 77 + 5, 30000, 64 << 10, &truth);

		sum += got - truth;
		squares += (got - truth) * (got - truth);
		sum_truth += truth;
	}
	/* Four standard errors; and the errors are those of a sample of so many. */
	CHECK(fabs(sum) < 4 * sqrt(squares));
	CHECK(sqrt(squares / TIMES) < 0.08 * sum_truth / TIMES);
}

/* Whenever the thinning comes, a wake is kept if its wait is. */
TEST(test_waits_and_wakes_stay_together)
{
	static uint64_t ended[20000];
	struct cp_times t;
	struct cp_times_reader r;
	struct cp_time_event e;
	size_t waits = 0, wakes = 0;

	cp_times_begin(&t, 64 << 10, 0, 9);
	for (uint32_t i = 0; i < 20000; i++) {
		e = event_at(i);
		e.count = 1;
		cp_times_add(&t, &e);
		ended[i] = e.begin_ns + e.duration_ns;
		cp_times_wake(&t, &e, ended[i], i);
	}
	CHECK(t.level > 1);
	CHECK_EQ(t.seen, 20000);
	r = cp_times_read(&t);
	while (cp_times_next(&r, &e)) {
		waits += e.count;
		wakes += !e.count;
		CHECK(e.count || (e.weight < 20000 && ended[e.weight] == e.begin_ns));
	}
	CHECK(waits > 100 && waits == wakes);
	cp_times_release(&t);
}

/* Births and deaths of blocks are kept in pairs, whenever the thinning comes. */
TEST(test_births_and_deaths_stay_together)
{
	static struct cp_time_event born[20000];
	static bool kept[20000];
	struct cp_times t;
	struct cp_times_reader r;
	struct cp_time_event e;
	size_t births = 0, deaths = 0;

	cp_times_begin(&t, 64 << 10, 0, 9);
	for (size_t i = 0; i < 20000; i++) {
		born[i] = (struct cp_time_event){
			.begin_ns = i * 1000, .weight = 100, .count = 1, .row = i & 3
		};
		cp_times_add(&t, &born[i]);
		if (i >= 5000) {
			e = born[i - 5000];
			e.is_death = true;
			e.duration_ns = i * 1000 + 500 - e.begin_ns;
			e.begin_ns = i * 1000 + 500;
			cp_times_add(&t, &e);
		}
	}
	r = cp_times_read(&t);
	while (cp_times_next(&r, &e)) {
		size_t i = (e.begin_ns - (e.is_death ? e.duration_ns : 0)) / 1000;

		CHECK(!e.is_death || kept[i]);
		kept[i] = true;
		births += !e.is_death;
		deaths += e.is_death;
	}
	CHECK(births > deaths && deaths > 100);
	for (size_t i = 0; i < 15000; i++)
		births -= kept[i];
	CHECK(births <= 5000);
	cp_times_release(&t);
}

/* A flight recorder keeps the last second, in little more memory than that takes, and all sums. */
TEST(test_keeps_the_last_second)
{
	enum { SECOND = 1000000000, EVENTS = 400000, EACH_NS = 200000 };
	uint64_t exact = 0, end = (uint64_t)EVENTS * EACH_NS;
	size_t young = 0;
	struct cp_times t;
	struct cp_times_reader r;
	struct cp_time_event e;

	cp_times_begin(&t, 8 << 20, SECOND, 1);
	for (uint64_t i = 0; i < EVENTS; i++) {
		e = (struct cp_time_event){ .begin_ns = i * EACH_NS, .weight = i, .count = 1 };
		cp_times_add(&t, &e);
		exact += i;
	}
	CHECK(t.bytes <= 256 << 10 && t.level == 0 && t.seen == EVENTS);
	CHECK_EQ(*CP_VEC_AT(&t.recorded, uint64_t, 0), exact);
	r = cp_times_read(&t);
	while (cp_times_next(&r, &e))
		young += !cp_times_is_old(&t, &e, end);
	CHECK_EQ(young, SECOND / EACH_NS);
	cp_times_release(&t);
}

/* Spans that are thinned out stand for all of them, and the long ones are all there. */
TEST(test_thinned_spans_are_unbiased)
{
	enum { SPANS = 40000, LONG = 100 };
	uint64_t sum = 0, longest = 0, all = 0;
	const struct cp_vec *spans = cp_shared_times_spans();

	cp_shared_times_spans_begin(64 << 10, 0);
	for (uint64_t i = 0; i < SPANS; i++) {
		uint64_t ns =
			i % (SPANS / LONG) ? 1000000 + draw_below(2000000) : UINT64_C(100000000000);

		uint64_t from = cp_shared_times_span_long, weight = 1;

		all += ns < 3000000 ? ns : 0;
		if (ns < from) {
			if (draw_below(from) >= ns)
				continue;
			weight = (from + draw_below(ns)) / ns;
		}
		cp_shared_times_span_add(&(struct cp_times_span){
			.begin_ns = i, .duration_ns = ns, .weight = (uint32_t)weight });
	}
	CHECK(spans->count <= (64 << 10) / 4 / sizeof(struct cp_times_span));
	for (size_t i = 0; i < spans->count; i++) {
		const struct cp_times_span *s = CP_VEC_AT(spans, struct cp_times_span, i);

		longest += s->duration_ns > 3000000 ? s->weight : 0;
		sum += s->duration_ns > 3000000 ? 0 : s->weight * s->duration_ns;
	}
	CHECK_EQ(longest, LONG);
	/* Some 300 of the others are left: six standard errors. */
	CHECK(fabs((double)sum / (double)all - 1) < 0.35);
	/* After the end, the rest of the diary is not kept. */
	cp_shared_times_spans_begin(0, 0);
	for (int i = 0; i < 3; i++)
		cp_shared_times_span_add(&(struct cp_times_span){ .duration_ns = LONG });
	CHECK_EQ(cp_shared_times_spans()->count, 0);
}

TEST(test_a_recorder_forgets_old_spans)
{
	const uint64_t second = 1000000000;

	cp_shared_times_spans_begin(32 << 20, 60 * second);
	for (uint64_t i = 0; i < 100000; i++)
		cp_shared_times_span_add(&(struct cp_times_span){
			.begin_ns = i * second / 10, .duration_ns = second / 10, .weight = 1 });
	CHECK(cp_shared_times_spans()->room <= 4096);
	CHECK(cp_shared_times_spans()->count >= 600);
	cp_shared_times_spans_begin(0, 0);
}

TEST(test_does_without_memory)
{
	struct rlimit all, none = { 0, 0 };
	struct cp_times t;
	struct cp_time_event e = event_at(1);

	getrlimit(RLIMIT_AS, &all);
	none.rlim_max = all.rlim_max;
	cp_times_begin(&t, 8 << 20, 0, 3);
	setrlimit(RLIMIT_AS, &none);
	cp_times_add(&t, &e);
	setrlimit(RLIMIT_AS, &all);
	CHECK(!t.budget && !t.first);
	cp_times_begin(&t, 8 << 20, 0, 3);
	cp_times_add(&t, &e);
	setrlimit(RLIMIT_AS, &none);
	for (int i = 0; i < 10000 && t.budget; i++)
		cp_times_add(&t, &e);
	setrlimit(RLIMIT_AS, &all);
	CHECK(!t.budget);
	cp_times_release(&t);
}
