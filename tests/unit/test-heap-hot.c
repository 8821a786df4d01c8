/* SPDX-License-Identifier: BSD-3-Clause */
/* The tests that free makes: the tag, the filter. */
#include "harness.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "modes/heap/signal/heap_event.h"
#include "modes/heap/signal/heap_hot.h"

#define BASE UINT64_C(0x7f1200000000)
#define MANY 1000

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

static void test_everything_is_looked_at_while_nothing_is_known(void)
{
	CHECK_EQ(looked_at(BASE, 16), MANY);
}

static void test_nothing_is_looked_at_without_samples(void)
{
	cp_heap_hot_rest();
	CHECK_EQ(looked_at(BASE, 16), 0);
	cp_heap_hot_look(false, true);
	CHECK_EQ(looked_at(BASE, 16), 0);
	CHECK_EQ(looked_at(BASE, CP_HEAP_TAG_ALIGN), 0);
}

static void test_tagged_blocks_are_looked_at_while_they_live(void)
{
	for (unsigned i = 0; i < MANY; i++)
		cp_heap_hot_filter_add(BASE + i * CP_HEAP_TAG_ALIGN);
	CHECK_EQ(looked_at(BASE, CP_HEAP_TAG_ALIGN), MANY);
	CHECK_EQ(looked_at(BASE + 16, CP_HEAP_TAG_ALIGN), 0);
	/* Others with that alignment are, in the share of the table that is taken. */
	CHECK(looked_at(2 * BASE, CP_HEAP_TAG_ALIGN) < MANY / 4);
	cp_heap_hot_rest();
	CHECK_EQ(looked_at(BASE, CP_HEAP_TAG_ALIGN), MANY);
	for (unsigned i = 0; i < MANY; i++)
		cp_heap_hot_filter_remove(BASE + i * CP_HEAP_TAG_ALIGN);
	CHECK_EQ(looked_at(BASE, CP_HEAP_TAG_ALIGN), 0);
}

static void test_exact_mode_looks_at_everything(void)
{
	cp_heap_hot_look(true, false);
	CHECK_EQ(looked_at(BASE, 16), MANY);
	cp_heap_hot_rest();
	CHECK_EQ(looked_at(BASE, 16), 0);
}

static void test_one_without_a_tag_is_looked_at_alone(void)
{
	uint64_t odd = BASE + 0x10010;

	cp_heap_hot_look(false, true);
	cp_heap_hot_filter_add(odd);
	CHECK(looks(odd));
	/* One cell of 65,536. */
	CHECK(looked_at(BASE, 16) <= 1);
	cp_heap_hot_rest();
	CHECK(looks(odd));
	cp_heap_hot_look(false, true);
	CHECK(looks(odd));
	cp_heap_hot_filter_remove(odd);
	CHECK(!looks(odd));
	cp_heap_hot_filter_add(odd + 32);
	CHECK(looks(odd + 32));
	cp_heap_hot_filter_remove(odd + 32);
}

/* As glibc maps large ones. */
#define MAPPED 0x010

static void test_only_bits_that_no_odd_block_has_are_tested(void)
{
	uint64_t a = BASE + 0x21000 + MAPPED, b = BASE + 0x35000 + MAPPED, c = BASE + 0x47230;

	cp_heap_hot_filter_add(a);
	cp_heap_hot_filter_add(b);
	CHECK_EQ(cp_heap_hot.look.mask, (CP_HEAP_TAG_ALIGN - 1) & ~MAPPED);
	cp_heap_hot_filter_add(c);
	CHECK_EQ(cp_heap_hot.look.mask, (CP_HEAP_TAG_ALIGN - 1) & ~(0x230 | MAPPED));
	cp_heap_hot_filter_remove(a);
	CHECK(!looks(a) && looks(b) && looks(c));
	cp_heap_hot_filter_remove(c);
	CHECK(looks(b));
	cp_heap_hot_filter_remove(b);
	CHECK_EQ(cp_heap_hot.look.mask, CP_HEAP_TAG_ALIGN - 1);
}

static void test_odd_blocks_outlive_a_run_that_looks_at_all(void)
{
	uint64_t a = BASE + 0x21000 + MAPPED;

	cp_heap_hot_filter_add(a);
	cp_heap_hot_look(true, false);
	CHECK_EQ(looked_at(BASE, 16), MANY);
	cp_heap_hot_look(false, true);
	CHECK(looks(a));
	CHECK_EQ(cp_heap_hot.look.mask, (CP_HEAP_TAG_ALIGN - 1) & ~MAPPED);
	cp_heap_hot_filter_remove(a);
	CHECK_EQ(cp_heap_hot.look.mask, CP_HEAP_TAG_ALIGN - 1);
}

/* Else each later free would look it up in vain. */
static void test_a_sample_without_memory_leaves_no_odd_block(void)
{
	const struct cp_heap_sample s = { .interval = CP_HEAP_TAG_INTERVAL, .size = 5000 };
	struct rlimit before, none;

	cp_heap_hot_look(false, true);
	getrlimit(RLIMIT_AS, &before);
	none = (struct rlimit){ 0, before.rlim_max };
	setrlimit(RLIMIT_AS, &none);
	for (unsigned i = 0; i < MANY; i++)
		cp_heap_event_commit(&s, (void *)(uintptr_t)(BASE + 16 + i * CP_HEAP_TAG_ALIGN));
	cp_heap_event_commit(&s, (void *)(uintptr_t)(BASE + CP_HEAP_TAG_ALIGN));
	setrlimit(RLIMIT_AS, &before);
	CHECK_EQ(looked_at(BASE + 16, CP_HEAP_TAG_ALIGN), 0);
	CHECK_EQ(cp_heap_hot.look.odd, 0);
	/* One with a tag may be larger than its size says. */
	CHECK(looks(BASE + CP_HEAP_TAG_ALIGN));
	cp_heap_hot_filter_remove(BASE + CP_HEAP_TAG_ALIGN);
}

static void test_so_many_odd_ones_that_nobody_knows_are_looked_at_for_good(void)
{
	uint64_t a = BASE + 0x21000 + MAPPED;

	for (unsigned i = 0; i < 70000; i++)
		cp_heap_hot_filter_add(a);
	for (unsigned i = 0; i < 69999; i++)
		cp_heap_hot_filter_remove(a);
	CHECK(looks(a));
}

static void test_a_full_cell_stays_full(void)
{
	for (unsigned i = 0; i < 300; i++)
		cp_heap_hot_filter_add(BASE);
	for (unsigned i = 0; i < 300; i++)
		cp_heap_hot_filter_remove(BASE);
	CHECK(looks(BASE));
}

int main(void)
{
	RUN(test_everything_is_looked_at_while_nothing_is_known);
	RUN(test_nothing_is_looked_at_without_samples);
	RUN(test_tagged_blocks_are_looked_at_while_they_live);
	RUN(test_exact_mode_looks_at_everything);
	RUN(test_one_without_a_tag_is_looked_at_alone);
	RUN(test_only_bits_that_no_odd_block_has_are_tested);
	RUN(test_odd_blocks_outlive_a_run_that_looks_at_all);
	RUN(test_a_sample_without_memory_leaves_no_odd_block);
	RUN(test_a_full_cell_stays_full);
	RUN(test_so_many_odd_ones_that_nobody_knows_are_looked_at_for_good);
	return harness_end();
}
