/* SPDX-License-Identifier: BSD-3-Clause */
/* The test that free makes: the filter. */
#include "harness.h"

#include <sys/resource.h>

#include "modes/heap/signal/heap_signal.h"
#include "modes/heap/signal/heap_hot.h"

#define BASE UINT64_C(0x7f1200000000)
#define MANY 1000
#define STEP 2064

static bool looks(uint64_t address)
{
	return cp_heap_looks((const void *)(uintptr_t)address);
}

/* How many of MANY addresses from FROM on, STEP apart, are looked at. */
static unsigned looked_at(uint64_t from, uint64_t step)
{
	unsigned n = 0;

	for (unsigned i = 0; i < MANY; i++)
		n += looks(from + i * step);
	return n;
}

TEST(test_everything_is_looked_at_while_nothing_is_known)
{
	CHECK_EQ(looked_at(BASE, 16), MANY);
}

TEST(test_nothing_is_looked_at_without_samples)
{
	cp_heap_hot_look(CP_HEAP_LOOK_NONE);
	CHECK_EQ(looked_at(BASE, 16), 0);
	cp_heap_hot_look(CP_HEAP_LOOK_FILTER);
	CHECK_EQ(looked_at(BASE, 16), 0);
}

TEST(test_a_block_is_looked_at_before_the_first_run)
{
	cp_heap_hot_look(CP_HEAP_LOOK_NONE);
	cp_heap_hot_filter_add(BASE);
	CHECK(looks(BASE));
	/* One cell of 65,536. */
	CHECK(looked_at(BASE, 16) <= 2);
	cp_heap_hot_filter_remove(BASE);
	CHECK(!looks(BASE));
}

TEST(test_sampled_blocks_are_looked_at_while_they_live)
{
	cp_heap_hot_look(CP_HEAP_LOOK_FILTER);
	for (unsigned i = 0; i < MANY; i++)
		cp_heap_hot_filter_add(BASE + i * STEP);
	CHECK_EQ(looked_at(BASE, STEP), MANY);
	/* Others are, in the share of the table that is taken. */
	CHECK(looked_at(2 * BASE, STEP) < MANY / 4);
	for (unsigned i = 0; i < MANY; i++)
		cp_heap_hot_filter_remove(BASE + i * STEP);
	CHECK_EQ(looked_at(BASE, STEP), 0);
}

TEST(test_exact_mode_looks_at_everything)
{
	cp_heap_hot_filter_add(BASE);
	cp_heap_hot_look(CP_HEAP_LOOK_ALL);
	CHECK_EQ(looked_at(BASE, 16), MANY);
	/* Blocks of the run before outlive it. */
	cp_heap_hot_look(CP_HEAP_LOOK_FILTER);
	CHECK(looks(BASE));
	CHECK(looked_at(BASE, 16) <= 2);
	cp_heap_hot_filter_remove(BASE);
	CHECK_EQ(looked_at(BASE, 16), 0);
}

/* Else each later free would look it up in vain. */
TEST(test_a_sample_without_memory_leaves_nothing_in_the_filter)
{
	const struct cp_heap_sample s = { .interval = CP_HEAP_FILTER_INTERVAL, .size = 5000 };
	struct rlimit before, none;

	getrlimit(RLIMIT_AS, &before);
	none = (struct rlimit){ 0, before.rlim_max };
	setrlimit(RLIMIT_AS, &none);
	for (unsigned i = 0; i < MANY; i++)
		cp_heap_event_commit(&s, (void *)(uintptr_t)(BASE + i * STEP));
	setrlimit(RLIMIT_AS, &before);
	CHECK_EQ(looked_at(BASE, STEP), 0);
}

TEST(test_a_full_cell_stays_full)
{
	for (unsigned i = 0; i < 300; i++)
		cp_heap_hot_filter_add(BASE);
	for (unsigned i = 0; i < 300; i++)
		cp_heap_hot_filter_remove(BASE);
	CHECK(looks(BASE));
}
