/* SPDX-License-Identifier: BSD-3-Clause */
/* Fragmentation: what blocks keep in memory beyond their own bytes, because a page with a block on
 * it can't be given back. The page census (signal/census.h) knows all blocks of one page in N.
 *
 * A watched page's unused bytes are shared among its blocks in proportion to their bytes there, and
 * count N times. In exact mode the table of live blocks has all blocks, and takes the hooks' place.
 * The pipeline's rules apply; start and stop are called as those of the heap mode.
 */
#ifndef CP_HEAP_CENSUS_H
#define CP_HEAP_CENSUS_H

#include <stdbool.h>
#include <stdint.h>

#include "modes/heap/heap_settings.h"
#include "output/run.h"

struct cp_heap_census_sums {
	uint32_t one_in; /* N; 0: no census */
	uint64_t pages;	 /* watched ones with blocks, and in memory */
	uint64_t away;	 /* with blocks, but swapped out */
	uint64_t held;	 /* bytes that are not used on the pages with blocks, estimated */
	uint64_t error;	 /* standard error of HELD */
	uint64_t stale;	 /* blocks on which others lie: their frees were not seen */
	uint64_t before; /* blocks of an earlier run, or of the parent process */
	bool assumed;	 /* the pages' state can't be read, so all count as in memory */
};

/* N. Tests that have to know of every page change it in a copy of the library. */
extern volatile uint32_t cp_heap_census_pages;

/* Call in ordinary context, before start. */
void cp_heap_census_prepare(void);
void cp_heap_census_start(const struct cp_heap_settings *s, uint64_t seed);
void cp_heap_census_stop(void);
/* Returns why there is no census though it was asked for, or NULL. */
const char *cp_heap_census_none(void);

/* Looks at all watched pages. */
void cp_heap_census_look(struct cp_heap_census_sums *to);
/* The same, and adds values to the rows of R, the run of CPROF_HEAP_FRAGMENTATION. Returns a number
 * that is 0 without rows, and that changes with them. */
uint64_t cp_heap_census_add(struct cp_run *r);
/* Returns the sums of the last call of add. */
const struct cp_heap_census_sums *cp_heap_census_sums(void);

#endif
