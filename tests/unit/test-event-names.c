/* SPDX-License-Identifier: BSD-3-Clause */
/* perf's names of events: what the kernel is asked for. */
#include "harness.h"

#include <linux/perf_event.h>

#include "modes/event/event_names.h"

static void check(const char *text, const char *name, unsigned type, uint64_t config, bool user)
{
	struct cp_event_name e = { 0 };

	CHECK(cp_event_names_find(text, &e));
	CHECK_STR(e.text, name);
	CHECK_EQ(e.what.type, type);
	CHECK_EQ(e.what.config, config);
	CHECK_EQ(e.what.user, user);
	CHECK(e.period > 0);
	/* Hardware's come too fast to be sampled each time. */
	CHECK(e.least > (type == PERF_TYPE_SOFTWARE ? 0 : 999) && e.least <= e.period);
}

TEST(test_names_are_perfs)
{
	check("page-faults", "page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, false);
	check("faults", "page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, false);
	check("cpu-cycles", "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false);
	check("cache-misses:u", "cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES,
	      true);
}

TEST(test_caches_have_operations_and_misses)
{
	check("LLC-loads", "LLC-loads", PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_LL, false);
	check("dTLB-store-misses:u", "dTLB-store-misses", PERF_TYPE_HW_CACHE,
	      PERF_COUNT_HW_CACHE_DTLB | PERF_COUNT_HW_CACHE_OP_WRITE << 8 |
		      PERF_COUNT_HW_CACHE_RESULT_MISS << 16,
	      true);
	check("L1-dcache-prefetches", "L1-dcache-prefetches", PERF_TYPE_HW_CACHE,
	      PERF_COUNT_HW_CACHE_L1D | PERF_COUNT_HW_CACHE_OP_PREFETCH << 8, false);
	check("node-prefetch-misses", "node-prefetch-misses", PERF_TYPE_HW_CACHE,
	      PERF_COUNT_HW_CACHE_NODE | PERF_COUNT_HW_CACHE_OP_PREFETCH << 8 |
		      PERF_COUNT_HW_CACHE_RESULT_MISS << 16,
	      false);
}

TEST(test_a_processors_number_is_hexadecimal)
{
	check("r01c2", "r01c2", PERF_TYPE_RAW, 0x1c2, false);
}

TEST(test_other_texts_are_no_event)
{
	static const char *const bad[] = { "",
					   "page-fault",
					   "context-switches",
					   "cpu-clock",
					   "page-faults:k",
					   "page-faults:",
					   "page-faults:uu",
					   "LLC",
					   "LLC-",
					   "LLC-load",
					   "LLC-loadss",
					   "LLC-prefetchs",
					   "L3-loads",
					   "r",
					   "r1g",
					   "r123456789abcdef01",
					   "a-name-that-is-longer-than-all-names-of-events" };

	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CHECK(!cp_event_names_is_good(bad[i]));
}
