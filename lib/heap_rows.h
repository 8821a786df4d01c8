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

/* Bring R, of the heap mode or one of its companions, up to date. Under the collector's lock,
 * modules fresh. */
void cp_heap_rows_collect(struct cp_run *r);
/* What the process has in all, as of the last collect. */
const struct cp_heap_sums *cp_heap_rows_sums(const struct cp_run *r);
/* Whole objects. */
uint64_t cp_heap_rows_whole(uint64_t objects);

#endif
