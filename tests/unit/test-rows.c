/* SPDX-License-Identifier: BSD-3-Clause */
/* The order of samples in a file. */
#include "harness.h"

#include "output/output.h"

#define TREES 64u
#define LEAVES 64u
#define DEPTH 40u
#define STACKS (TREES * LEAVES)

static struct cp_aggregate a = { .stacks = { .size = sizeof(struct cp_stack) } };
static struct cp_rows rows;

static struct cp_stack *add(const uint32_t *locations, uint32_t depth, uint32_t thread)
{
	struct cp_stack *s = cp_vec_add(&a.stacks);

	*s = (struct cp_stack){ .locations = locations, .depth = depth, .thread = thread };
	return s;
}

static const struct cp_stack *at(size_t i)
{
	return CP_VEC_AT(&a.stacks, struct cp_stack, rows.items[i].stack);
}

static void end(void)
{
	cp_rows_release(&rows);
	cp_vec_release(&a.stacks);
}

/* Stack number I: the outer frames are those of tree I % TREES, the four next to the leaf its own.
 */
static void add_trees(void)
{
	static uint32_t locations[STACKS][DEPTH];

	for (uint32_t i = 0; i < STACKS; i++) {
		for (uint32_t k = 0; k < DEPTH; k++)
			locations[i][k] = k < 4 ? i * 8 + k : 100000 + i % TREES * 64 + k;
		add(locations[i], DEPTH, 0);
	}
}

TEST(test_each_stack_is_there_once)
{
	static bool seen[STACKS];
	const uint32_t canonical[] = { 0 };

	add_trees();
	CHECK_EQ(cp_rows_order(&rows, &a, canonical, NULL, 2), 0);
	CHECK_EQ(rows.count, STACKS);
	for (size_t i = 0; i < rows.count; i++) {
		CHECK(!seen[rows.items[i].stack]);
		seen[rows.items[i].stack] = true;
		CHECK(i == 0 || rows.items[i - 1].key <= rows.items[i].key);
	}
	end();
}

TEST(test_common_outer_frames_stand_together)
{
	const uint32_t canonical[] = { 0 };
	unsigned changes = 0;

	add_trees();
	cp_rows_order(&rows, &a, canonical, NULL, 2);
	for (size_t i = 1; i < rows.count; i++)
		changes += at(i)->locations[4] != at(i - 1)->locations[4];
	CHECK_EQ(changes, TREES - 1);
	end();
}

TEST(test_stacks_of_threads_alike_stand_together_in_their_order)
{
	static const uint32_t same[] = { 7, 8, 9 }, other[] = { 7, 8, 10 };
	/* Thread 2 is called, and numbered, like thread 0. */
	const uint32_t canonical[] = { 0, 1, 0 };
	size_t first = 0;

	add(same, 3, 0);
	add(other, 3, 0);
	add(same, 3, 1);
	add(same, 3, 2);
	add(same, 3, CP_NO_THREAD);
	cp_rows_order(&rows, &a, canonical, NULL, 2);
	while (first < 4 && rows.items[first].stack != 0)
		first++;
	CHECK(first < 4);
	CHECK_EQ(rows.items[first + 1].stack, 3);
	CHECK(rows.items[first].key == rows.items[first + 1].key);
	CHECK_EQ(rows.items[first + 1].thread, 0);
	for (size_t i = 0; i < rows.count; i++)
		CHECK(i == first || i == first + 1 || rows.items[i].key != rows.items[first].key);
	for (size_t i = 0; i < rows.count; i++)
		if (rows.items[i].stack == 4)
			CHECK(rows.items[i].thread == CP_NO_THREAD);
	end();
}
