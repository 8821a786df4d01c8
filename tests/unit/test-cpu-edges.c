/* SPDX-License-Identifier: BSD-3-Clause */
/* The sum has what threads have missed at their ends, whatever their start function is. */
#include "harness.h"

#include "modes/cpu/signal/cpu_signal.h"

static uint64_t gone_start;

static bool is_gone(uint64_t start)
{
	return start == gone_start;
}

/* A thread of START ends, and has missed N expiries. */
static void end(uint64_t start, uint64_t n)
{
	struct cp_cpu_edge e = { .start = start };

	CHECK(cp_cpu_edges_end(&e, n, INT64_MAX));
}

/* Main, whose start function isn't known, may have an account by the same hash. */
TEST(test_main_takes_no_account)
{
	const struct cp_cpu_edge main_edge = { .start = 0 };
	uint64_t start;

	for (uint64_t f = 1; f < 500; f++) {
		end(f, 10);
		CHECK_EQ(cp_cpu_edges_settle(&main_edge, 2), 2);
		CHECK_EQ(cp_cpu_edges_take_left(&start), 10);
		CHECK_EQ(start, f);
		CHECK_EQ(cp_cpu_edges_take_left(&start), 0);
	}
}

TEST(test_unloaded_functions_keep_their_sum)
{
	uint64_t start;

	gone_start = 4096;
	end(4096, 10);
	end(8192, 7);
	cp_cpu_edges_forget(is_gone);
	CHECK_EQ(cp_cpu_edges_take_left(&start), 7);
	CHECK_EQ(start, 8192);
	CHECK_EQ(cp_cpu_edges_take_left(&start), 10);
	CHECK_EQ(start, 0);
	CHECK_EQ(cp_cpu_edges_take_left(&start), 0);
}
