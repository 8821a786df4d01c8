/* What free looks at: the tag, the filter. */
#include "harness.h"

#include <stdbool.h>
#include <stdint.h>

#include "sigsafe/heap_hot.h"

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
		cp_heap_filter_add(BASE + i * CP_HEAP_TAG_ALIGN);
	CHECK_EQ(looked_at(BASE, CP_HEAP_TAG_ALIGN), MANY);
	CHECK_EQ(looked_at(BASE + 16, CP_HEAP_TAG_ALIGN), 0);
	/* Others with that alignment are, in the share of the table that is taken. */
	CHECK(looked_at(2 * BASE, CP_HEAP_TAG_ALIGN) < MANY / 4);
	cp_heap_hot_rest();
	CHECK_EQ(looked_at(BASE, CP_HEAP_TAG_ALIGN), MANY);
	for (unsigned i = 0; i < MANY; i++)
		cp_heap_filter_remove(BASE + i * CP_HEAP_TAG_ALIGN);
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
	cp_heap_filter_add(odd);
	CHECK(looks(odd));
	/* One cell of a thousand. */
	CHECK(looked_at(BASE, 16) < MANY / 50);
	cp_heap_hot_rest();
	CHECK(looks(odd));
	cp_heap_hot_look(false, true);
	CHECK(looks(odd));
	cp_heap_filter_remove(odd);
	CHECK(!looks(odd));
	cp_heap_filter_add(odd + 32);
	CHECK(looks(odd + 32));
	cp_heap_filter_remove(odd + 32);
}

static void test_a_full_cell_stays_full(void)
{
	for (unsigned i = 0; i < 300; i++)
		cp_heap_filter_add(BASE);
	for (unsigned i = 0; i < 300; i++)
		cp_heap_filter_remove(BASE);
	CHECK(looks(BASE));
}

int main(void)
{
	RUN(test_everything_is_looked_at_while_nothing_is_known);
	RUN(test_nothing_is_looked_at_without_samples);
	RUN(test_tagged_blocks_are_looked_at_while_they_live);
	RUN(test_exact_mode_looks_at_everything);
	RUN(test_one_without_a_tag_is_looked_at_alone);
	RUN(test_a_full_cell_stays_full);
	return harness_end();
}
