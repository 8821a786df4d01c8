/* SPDX-License-Identifier: BSD-3-Clause */
/* The interval that follows the program: up at once, down step by step, never to and fro. */
#include "harness.h"

#include "modes/heap/heap.h"

#define K UINT64_C(1024)
#define MS UINT64_C(1000000)

static uint64_t samples, now_ns, interval;

static void begin(uint64_t budget, uint64_t bytes)
{
	samples = 1000;
	now_ns = 5000 * MS;
	interval = bytes;
	cp_heap_budget_start(budget, interval, samples, now_ns);
}

/* A tick of a program that allocates RATE bytes a second. */
static void tick(uint64_t rate)
{
	now_ns += 250 * MS;
	samples += rate / 4 / interval;
	interval = cp_heap_budget_tick(interval, samples, now_ns);
}

TEST(test_a_fast_program_has_larger_intervals_at_once)
{
	begin(100, 512 * K);
	tick(UINT64_C(8) << 30); /* 16384 samples a second */
	CHECK(interval >= 64 * K * K && interval <= 128 * K * K);
	CHECK_EQ(cp_heap_budget.changes, 1);
	CHECK_EQ(cp_heap_budget.largest, interval);
}

TEST(test_a_slow_program_has_smaller_ones_in_steps)
{
	begin(1000, 512 * K);
	for (int i = 0; i < 3; i++) {
		uint64_t before = interval;

		tick(UINT64_C(1) << 20);
		CHECK_EQ(interval, before / 2);
	}
	/* Below this, each free would have to look up its address. */
	tick(UINT64_C(1) << 20);
	CHECK_EQ(interval, 64 * K);
	CHECK_EQ(cp_heap_budget.smallest, 64 * K);
}

TEST(test_a_steady_program_keeps_its_interval)
{
	begin(100, 512 * K);
	for (int i = 0; i < 40; i++)
		tick(UINT64_C(300) << 20); /* 600 a second */
	CHECK(cp_heap_budget.changes <= 1);
	CHECK(interval >= 4 * K * K && interval <= 8 * K * K);
}

TEST(test_a_childs_count_begins_anew)
{
	begin(100, 512 * K);
	samples = 0;
	tick(0);
	CHECK_EQ(interval, 512 * K);
	tick(UINT64_C(1) << 30);
	CHECK(interval > 512 * K);
}

TEST(test_without_a_budget_no_look_is_due)
{
	begin(0, 512 * K);
	CHECK_EQ(cp_heap_budget.due_ns, UINT64_MAX);
	begin(100, 512 * K);
	CHECK_EQ(cp_heap_budget.due_ns, now_ns + 250 * MS);
}

static uint64_t cpu_ns, timed, timed_ns;

static void begin_share(unsigned percent, uint64_t bytes)
{
	begin(0, bytes);
	cpu_ns = 7 * MS;
	timed = timed_ns = 0;
	cp_heap_budget_start_share(percent, bytes, samples, now_ns, cpu_ns);
}

/* The same for a program that uses a share of a processor, of samples that take NS. */
static void tick_share(uint64_t rate, unsigned busy_percent, uint64_t ns)
{
	cpu_ns += 250 * MS * busy_percent / 100;
	timed += 100;
	timed_ns += 100 * ns;
	cp_heap_budget_pay(cpu_ns, timed, timed_ns, now_ns + 250 * MS);
	tick(rate);
}

static bool is_about(uint64_t n, uint64_t wanted)
{
	return n >= wanted - wanted / 100 && n <= wanted + wanted / 100;
}

TEST(test_a_share_of_the_cpu_time_pays_for_samples)
{
	begin_share(1, 512 * K);
	/* The first samples take long, which says nothing: 2 us each, so 5,000 of 16,384. */
	tick_share(UINT64_C(8) << 30, 100, 300000);
	CHECK(is_about(cp_heap_budget.budget, 5000));
	CHECK_EQ(interval, 2048 * K);
	/* 1 % of a second pays for 10,000 samples of 1 us, and of half a processor's for half. */
	tick_share(UINT64_C(8) << 30, 100, 1000);
	CHECK(is_about(cp_heap_budget.budget, 10000));
	tick_share(UINT64_C(8) << 30, 50, 1000);
	CHECK(is_about(cp_heap_budget.budget, 5000));
	CHECK_EQ(interval, 2048 * K);
	tick_share(UINT64_C(8) << 30, 50, 4000);
	CHECK(is_about(cp_heap_budget.budget, 1250));
	CHECK_EQ(interval, 8192 * K);
}

TEST(test_an_idle_program_pays_for_no_sample)
{
	begin_share(1, 512 * K);
	for (int i = 0; i < 8; i++)
		tick_share(0, 0, 1000);
	CHECK_EQ(cp_heap_budget.budget, 1);
	CHECK(interval <= 512 * K);
}

TEST(test_a_running_budget_becomes_another_one)
{
	begin(100, 512 * K);
	tick(UINT64_C(8) << 30);
	cp_heap_budget_set_share(1, samples, now_ns, cpu_ns);
	CHECK_EQ(cp_heap_budget.percent, 1);
	CHECK_EQ(cp_heap_budget.changes, 1);
	timed = timed_ns = 0;
	tick_share(UINT64_C(8) << 30, 100, 300000);
	CHECK(is_about(cp_heap_budget.budget, 5000));
	cp_heap_budget_set(70, samples, now_ns);
	CHECK_EQ(cp_heap_budget.percent, 0);
	CHECK_EQ(cp_heap_budget.budget, 70);
	cp_heap_budget_set(0, samples, now_ns);
	CHECK_EQ(cp_heap_budget.due_ns, UINT64_MAX);
}
