/* SPDX-License-Identifier: BSD-3-Clause */
/* What a dump adds to the rows of the heap mode from the table of live blocks: how old the blocks
 * in use are, and whether their pages are in memory.
 *
 * heap_rows.c sums up the depot's counters and then calls split, which looks at each live block
 * once. The pipeline's rules apply.
 */
#ifndef CP_HEAP_VIEWS_H
#define CP_HEAP_VIEWS_H

#include <stdbool.h>
#include <stdint.h>

#include "modes/heap/memory_table.h"
#include "modes/heap/resident.h"
#include "modes/heap/signal/stack_depot.h"
#include "output/run.h"

/* The row of an entry for which there was no memory. */
#define CP_HEAP_VIEWS_UNPLACED UINT32_MAX

/* What the mode keeps of a row besides its values. */
struct cp_heap_row {
	uint64_t objects, bytes; /* the values that are not shown now: in use, or at the peak */
	uint64_t all_objects, all_bytes; /* in use, of all ages; 0 in the rows of one age */
	/* The row of the same stack without an age, and how much too little the rows of its ages
	 * have been rounded to so far, in 1/CP_POISSON_ONE objects. */
	uint32_t base;
	int32_t rest;
	/* Objects of the value that is a sum, in 1/CP_POISSON_ONE: now, and when they were rounded
	 * before. */
	uint64_t exact, rounded;
	uint64_t size; /* the mean size of the objects; 0 = there is none */
	/* Of the bytes in use, only with the view "resident"; and what the allocator gave for them.
	 */
	uint64_t space[CP_RESIDENT_KINDS], usable;
};

/* Returns what the mode keeps of row I of A. */
static inline struct cp_heap_row *cp_heap_views_row(const struct cp_aggregate *a, uint32_t i)
{
	return CP_VEC_AT(&a->aside, struct cp_heap_row, i);
}

/* A row's tag: 0 = blocks of any age, of which those in use are those whose age isn't known; else
 * blocks in use of one age. Returns the age of such a row in seconds: 0, or a power of two that is
 * not above the blocks' ages. */
static inline int64_t cp_heap_views_age(uint64_t tag)
{
	return tag > 1 ? (int64_t)1 << (tag - 2) : 0;
}

/* Does entry E count for run R? */
bool cp_heap_views_belongs(const struct cp_stack_depot_entry *e, const struct cp_run *r);
/* Makes room in A for what the mode keeps of each row, and of one more. Returns false without
 * memory. */
bool cp_heap_views_make_room(struct cp_aggregate *a);

/* Should the next dumps say per row how much is resident? Call at the start of a run. */
void cp_heap_views_start(bool resident);
bool cp_heap_views_has_resident(void);
/* Will they also have what the allocator gave? */
bool cp_heap_views_has_usable(void);

/* Splits what is in use in R's rows by age and, where that is known, adds which part is resident.
 * Reads the process's mappings for the table below. */
void cp_heap_views_split(struct cp_run *r);
/* Call instead where no block was sampled and the process need not write a file: a child that ends
 * at once doesn't pay for reading the mappings. */
void cp_heap_views_skip(void);

/* What was found at the last split. */
struct cp_heap_views_found {
	int table_error;    /* 0, or why SUMS is not known: a negative errno */
	int resident_error; /* 0, or why nothing is known of pages: a negative errno */
	bool looked;	    /* blocks were looked up: USED is known, unless RESIDENT_ERROR */
	struct cp_memory_sums sums;
	uint64_t used[CP_RESIDENT_KINDS]; /* of the bytes in use */
	/* What the allocator gave for the bytes in use, and which of it is resident beyond them. 0:
	 * not known. */
	uint64_t usable, rounded;
};
const struct cp_heap_views_found *cp_heap_views_found(void);

#endif
