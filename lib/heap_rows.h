/* From the depot's counters to rows of the heap mode's aggregates, and their sums. */
#ifndef CP_HEAP_ROWS_H
#define CP_HEAP_ROWS_H

#include <stdint.h>

#include "run.h"
#include "sigsafe/depot.h"

struct cp_heap_sums {
	struct cp_depot_amount allocated, in_use, peak;
	uint64_t stacks;
};

/* Rows for the stacks that are new to R, of the heap mode or its mappings. Under the collector's
 * lock, modules fresh. */
void cp_heap_rows_collect(struct cp_run *r);
/* Sum up what was counted until now, if that wasn't done since the last collect, and show it. */
void cp_heap_rows_settle(struct cp_run *r);
/* The rows' values are those of R's file from here on, as of the last sum: of a heap what is in use
 * and the peak are summed together, and change places. */
void cp_heap_rows_show(const struct cp_run *r);
/* What the process has in all, as of the last sum. */
const struct cp_heap_sums *cp_heap_rows_sums(const struct cp_run *r);
/* Whole objects. */
uint64_t cp_heap_rows_whole(uint64_t objects);

#endif
