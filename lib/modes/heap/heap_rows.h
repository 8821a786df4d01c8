/* SPDX-License-Identifier: BSD-3-Clause */
/* Turns the stack depot's counters into rows of the heap mode's aggregates, and sums them up. */
#ifndef CP_HEAP_ROWS_H
#define CP_HEAP_ROWS_H

#include <stdint.h>

#include "output/run.h"
#include "modes/heap/heap_views.h"
#include "modes/heap/signal/stack_depot.h"

struct cp_heap_sums {
	struct cp_stack_depot_amount allocated, in_use, peak;
	uint64_t stacks;
};

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
/* For the comments (mode_ops.h, COUNT). */
enum {
	CP_HEAP_ALLOCATED_OBJECTS, /* of lifetimes: freed */
	CP_HEAP_ALLOCATED_BYTES,
	CP_HEAP_MAPPINGS_LOST,
	CP_HEAP_COUNTS
};
void cp_heap_rows_count(const struct cp_run *r, struct cp_vec *to);
/* Converts OBJECTS to whole objects. */
uint64_t cp_heap_rows_whole(uint64_t objects);

/* Functions that allocate; see drop_frames in mode_ops.h. */
#define CP_HEAP_ALLOCATES                                                                          \
	"operator new(\\[\\])?|malloc|calloc|realloc|reallocarray|memalign|aligned_alloc|"         \
	"posix_memalign|p?valloc|[mrx]allocx"

#endif
