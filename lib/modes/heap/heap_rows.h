/* SPDX-License-Identifier: BSD-3-Clause */
/* Turns the stack depot's counters into rows of the heap mode's aggregates, and sums them up. */
#ifndef CP_HEAP_ROWS_H
#define CP_HEAP_ROWS_H

#include <stdint.h>

#include "output/run.h"
#include "modes/heap/signal/stack_depot.h"

struct cp_heap_sums {
	struct cp_stack_depot_amount allocated, in_use, peak;
	uint64_t stacks;
};

/* What the mode keeps of a row besides its values. */
struct cp_heap_row {
	uint64_t objects, bytes; /* the values that are not shown now: in use, or at the peak */
	uint64_t all_objects, all_bytes; /* in use, of all ages; 0 in the rows of one age */
	/* The row of the same stack without an age, and how much too little the rows of its ages
	 * have been rounded to so far, in 1/CP_POISSON_ONE objects. */
	uint32_t base;
	int32_t rest;
};

/* Returns what the mode keeps of row I of A. */
static inline struct cp_heap_row *cp_heap_rows_at(const struct cp_aggregate *a, uint32_t i)
{
	return CP_VEC_AT(&a->aside, struct cp_heap_row, i);
}

/* A row's tag: 0 = blocks of any age, of which those in use are those whose age isn't known; else
 * blocks in use of one age. Returns the age of such a row in seconds: 0, or a power of two that is
 * not above the blocks' ages. */
static inline int64_t cp_heap_rows_age(uint64_t tag)
{
	return tag > 1 ? (int64_t)1 << (tag - 2) : 0;
}

/* Add rows for the stacks that are new to R, the run of the heap mode or of its mappings. Call with
 * the collector's lock held and with modules freshly read. */
void cp_heap_rows_collect(struct cp_run *r);
/* Sum up the counters now, unless they were summed since the last collect, and show the sums in the
 * rows. */
void cp_heap_rows_settle(struct cp_run *r);
/* Make the rows hold the values of R's file, as of the last sum. The heap's in-use and peak values
 * are summed at the same time; this swaps them if the rows hold the other ones. */
void cp_heap_rows_show(const struct cp_run *r);
/* Returns the totals of the process, as of the last sum. */
const struct cp_heap_sums *cp_heap_rows_sums(const struct cp_run *r);
/* Converts OBJECTS to whole objects. */
uint64_t cp_heap_rows_whole(uint64_t objects);

#endif
