/* SPDX-License-Identifier: BSD-3-Clause */
/* The page census with pages of 64 KiB, larger than those of most kernels: which blocks are on
 * which page. tests/e2e/heap-census.sh has the kernel's own size. */
#include "harness.h"

#include "modes/heap/signal/census.h"

#define BITS 16
#define PAGE (UINT64_C(1) << BITS)
#define FIRST (PAGE * 1000)

static unsigned pages, blocks;
static uint64_t before;

static void count(const struct cp_census_page *p, void *number)
{
	if (p->number != *(const uint64_t *)number)
		return;
	pages++;
	before = p->before;
	for (uint64_t i = 0; i < PAGE / CP_CENSUS_GRAIN; i++)
		blocks += p->blocks[i] != 0;
}

static unsigned blocks_of(uint64_t number)
{
	pages = blocks = 0;
	cp_census_each(count, &number);
	CHECK_EQ(pages, 1);
	return blocks;
}

static void add(uint64_t address, uint64_t size)
{
	cp_census_add(address, &(struct cp_census_block){ size, 7 });
}

TEST(test_blocks_4_KiB_apart_are_on_one_large_page)
{
	struct cp_census_block b;

	cp_census_begin(1, BITS, 1);
	CHECK_EQ(cp_census_page_size(), PAGE);
	for (uint64_t at = 0; at < PAGE; at += 4096)
		add(FIRST + at, 100);
	CHECK_EQ(blocks_of(FIRST >> BITS), 16);
	CHECK(cp_census_has(FIRST + 4096, 100) && !cp_census_has(FIRST + 4096 + 8, 1));
	CHECK(cp_census_remove(FIRST + 4096, &b));
	CHECK_EQ(b.size, 100);
	CHECK_EQ(b.id, 7);
	CHECK_EQ(blocks_of(FIRST >> BITS), 15);
	CHECK_EQ(cp_census_lost().unseen, 0);
	cp_census_end();
}

TEST(test_a_block_reaches_into_the_next_large_page)
{
	struct cp_census_block b;

	cp_census_begin(1, BITS, 1);
	add(FIRST + PAGE - 64, 8192);
	add(FIRST + PAGE + 8192, 16);
	CHECK_EQ(blocks_of((FIRST >> BITS) + 1), 1);
	CHECK_EQ(before, FIRST + PAGE - 64);
	CHECK(cp_census_remove(FIRST + PAGE - 64, &b) && b.size == 8192);
	CHECK_EQ(blocks_of((FIRST >> BITS) + 1), 1);
	CHECK_EQ(before, 0);
	cp_census_end();
}

/* A new run forgets the blocks of the earlier one, in all of a page. */
TEST(test_a_new_run_begins_with_empty_pages)
{
	cp_census_begin(1, BITS, 1);
	add(FIRST + PAGE - 8, 8);
	cp_census_end();
	cp_census_begin(1, BITS, 2);
	CHECK_EQ(blocks_of(FIRST >> BITS), 0);
	cp_census_end();
}

#ifdef __aarch64__
/* The top byte of an address may hold the block's memory tag. */
TEST(test_a_tagged_block_is_on_its_page)
{
	const uint64_t tag = UINT64_C(0x0b) << 56;
	struct cp_census_block b;

	cp_census_begin(1, BITS, 1);
	add(FIRST + 4096 + tag, 16);
	CHECK_EQ(blocks_of(FIRST >> BITS), 1);
	CHECK(cp_census_has(FIRST + 4096 + tag, 16));
	CHECK(cp_census_remove(FIRST + 4096 + tag, &b));
	CHECK_EQ(blocks_of(FIRST >> BITS), 0);
	cp_census_end();
}
#endif
