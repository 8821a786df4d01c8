/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of the heap mode where memory is short. */
#include "harness.h"

#include <sys/resource.h>

#include "modes/heap/heap.h"
#include "output/output.h"
#include "sample/sample.h"

static struct cp_modules modules;
static struct cp_run run;

static void begin(void)
{
	cp_modules_init(&modules);
	CHECK_EQ(cp_modules_refresh(&modules), 0);
	run.mode = CPROF_HEAP;
	run.ops = cp_modes[CPROF_HEAP];
	run.rows = &run;
	cp_aggregate_init(&run.aggregate, &modules);
}

/* Different stacks of the same three addresses: a row is all that each one needs. */
static struct cp_stack_depot_entry *stack(unsigned number, uint64_t interval)
{
	uint64_t pcs[8], hash = number + 1;

	for (unsigned i = 0; i < 8; i++, number /= 3)
		pcs[i] = (uint64_t)(uintptr_t)&begin + 1 + number % 3;
	return cp_stack_depot_find(&(struct cp_stack_depot_key){
		.pcs = pcs, .hash = hash * 0x9e3779b97f4a7c15u, .depth = 8, .interval = interval });
}

static void allocate(unsigned number)
{
	cp_stack_depot_allocated(stack(number, 1), 0, 1);
}

static void collect(void)
{
	cp_stack_depot_take_fresh();
	cp_heap_rows_collect(&run);
}

static void limit_memory(rlim_t to)
{
	struct rlimit l;

	getrlimit(RLIMIT_AS, &l);
	l.rlim_cur = to;
	setrlimit(RLIMIT_AS, &l);
}

/* A row without values would be in the file: its functions without a sample. In a child: returns 0
 * if all went as it should. */
static int run_short_of_memory(void)
{
	uint32_t rows = 0;

	begin();
	do {
		allocate(rows++);
		collect();
	} while (run.aggregate.aside.count < run.aggregate.aside.room);
	allocate(rows);
	/* Only the values aside lack room. */
	if (!cp_vec_extend(&run.aggregate.stacks, 2 * rows))
		return 4;
	run.aggregate.stacks.count = rows;
	limit_memory(0);
	collect();
	limit_memory(RLIM_INFINITY);
	if (run.aggregate.stacks.count != rows)
		return 1;
	collect();
	cp_heap_rows_settle(&run);
	for (unsigned i = 0; i < run.aggregate.stacks.count; i++)
		if (cp_aggregate_row_at(&run.aggregate, i)->values[1] != 1)
			return 2;
	return run.aggregate.stacks.count == rows + 1 ? 0 : 3;
}

TEST(test_a_row_that_has_no_values_does_not_stay)
{
	int status, pid = fork();

	if (!pid)
		_exit(run_short_of_memory());
	waitpid(pid, &status, 0);
	CHECK_EQ(status, 0);
}

#define STACKS 300u
#define SIZE 700000u
#define INTERVAL (UINT64_C(512) << 10)

static uint64_t sum(unsigned value)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < run.aggregate.stacks.count; i++)
		all += cp_aggregate_row_at(&run.aggregate, i)->values[value];
	return all;
}

static void sample_of(unsigned number, uint64_t size, bool freed)
{
	uint64_t objects, bytes;

	cp_poisson_stands_for(size, INTERVAL, &objects, &bytes);
	if (freed)
		cp_stack_depot_freed(stack(number, INTERVAL), objects, bytes);
	else
		cp_stack_depot_allocated(stack(number, INTERVAL), objects, bytes);
}

static void settle(void)
{
	collect();
	cp_heap_rows_settle(&run);
}

/* A sampled block of this size stands for 1.357. */
TEST(test_fractions_of_objects_are_carried_over_rows)
{
	uint64_t objects, bytes, size;

	begin();
	cp_poisson_stands_for(SIZE, INTERVAL, &objects, &bytes);
	for (unsigned i = 0; i < STACKS; i++)
		sample_of(i, SIZE, false);
	settle();
	CHECK_EQ(sum(0), cp_heap_rows_whole(STACKS * objects));
	CHECK_EQ(sum(2), cp_heap_rows_whole(STACKS * objects));
	CHECK_EQ(sum(1), STACKS * bytes);
	for (unsigned i = 0; i < run.aggregate.stacks.count; i++) {
		size = cp_heap_views_row(&run.aggregate, i)->size;
		CHECK_EQ(size, SIZE);
	}
	/* What is freed takes away what its sample had added. */
	for (unsigned i = 0; i < STACKS; i++)
		sample_of(i, SIZE, true);
	settle();
	CHECK_EQ(sum(0), cp_heap_rows_whole(STACKS * objects));
	CHECK_EQ(sum(2), 0);
	CHECK_EQ(sum(3), 0);
	for (unsigned i = 0; i < run.aggregate.stacks.count; i++)
		CHECK_EQ(cp_aggregate_row_at(&run.aggregate, i)->values[2], 0);
}

/* Or a window, which is the difference of two settled sums, would have rows below 0, or objects of
 * a stack that allocated nothing. */
TEST(test_a_sum_never_gets_less)
{
	uint64_t before[STACKS], exact[STACKS], objects, bytes, start = sum(0);
	unsigned rows = (unsigned)run.aggregate.stacks.count;

	cp_poisson_stands_for(SIZE, INTERVAL, &objects, &bytes);
	CHECK_EQ(rows, STACKS);
	for (unsigned round = 1; round <= 20; round++) {
		for (unsigned i = 0; i < rows; i++) {
			before[i] = cp_aggregate_row_at(&run.aggregate, i)->values[0];
			exact[i] = cp_heap_views_row(&run.aggregate, i)->exact;
		}
		for (unsigned i = round; i < STACKS; i += 7)
			sample_of(i, SIZE, false);
		settle();
		for (unsigned i = 0; i < rows; i++) {
			uint64_t now = cp_aggregate_row_at(&run.aggregate, i)->values[0];
			bool sampled = exact[i] != cp_heap_views_row(&run.aggregate, i)->exact;

			CHECK(now >= before[i] && (sampled || now == before[i]));
			CHECK(now <= before[i] + 2);
		}
	}
	CHECK(sum(0) > start);
	CHECK_EQ(sum(0), cp_heap_rows_whole(cp_heap_rows_sums(&run)->allocated.objects));
}
