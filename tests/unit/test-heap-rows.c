/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of the heap mode where memory is short. */
#include "harness.h"

#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "modes/heap/heap_rows.h"
#include "output/mode_ops.h"

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
static void allocate(unsigned number)
{
	uint64_t pcs[8], hash = number + 1;

	for (unsigned i = 0; i < 8; i++, number /= 3)
		pcs[i] = (uint64_t)(uintptr_t)&begin + 1 + number % 3;
	cp_stack_depot_allocated(cp_stack_depot_find(&(struct cp_stack_depot_key){
					 .pcs = pcs,
					 .hash = hash * 0x9e3779b97f4a7c15u,
					 .depth = 8,
					 .interval = 1 }),
				 0, 1);
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

static void test_a_row_that_has_no_values_does_not_stay(void)
{
	int status, pid = fork();

	if (!pid)
		_exit(run_short_of_memory());
	waitpid(pid, &status, 0);
	CHECK_EQ(status, 0);
}

int main(void)
{
	RUN(test_a_row_that_has_no_values_does_not_stay);
	return harness_end();
}
