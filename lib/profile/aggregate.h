/* SPDX-License-Identifier: BSD-3-Clause */
/* Samples of one mode, summed by stack, thread, labels and tag.
 *
 * The drain fills the aggregate, the dump reads it, both under the collector's lock. Addresses
 * become locations (mapping + address) while their module is known, so the module may go away
 * afterwards. The size is bounded: beyond the limit, samples are counted as lost.
 */
#ifndef CP_AGGREGATE_H
#define CP_AGGREGATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/index.h"
#include "symbols/modules.h"
#include "base/arena.h"
#include "base/vec.h"
#include "sample/ring.h"
#include "sample/thread.h"

/* Locations without an address: the outermost frame of an incomplete stack, and the placeholder
 * for a stack where events were only counted. */
#define CP_LOCATION_TRUNCATED 0u
#define CP_LOCATION_INCOMPLETE 1u
#define CP_LOCATION_SHORT_WAITS 2u
#define CP_LOCATION_LOST_WAITS 3u
#define CP_LOCATION_NOT_SAMPLED 4u
#define CP_LOCATION_FREED 5u
#define CP_LOCATION_WOKEN 6u
#define CP_LOCATION_WAKER_UNKNOWN 7u
#define CP_LOCATION_TIMED_OUT 8u
#define CP_LOCATION_INTERRUPTED 9u
#define CP_LOCATION_HOLDER_UNKNOWN 10u
#define CP_LOCATION_FIRST 11u

struct cp_location {
	uint64_t address;  /* the address that the unwinder stored */
	uint32_t mapping;  /* number in modules, or CP_NO_MAPPING */
	uint32_t function; /* set by the naming step; 0 = not named yet */
};

#define CP_VALUES 4 /* the most values per row; a row has one per sample type of the mode */
/* The value that is no sum, but the longest event of the records that keep it. A mode whose records
 * do has fewer sample types than CP_VALUES. */
#define CP_VALUE_LONGEST (CP_VALUES - 1)
#define CP_NO_THREAD CP_INDEX_NONE

struct cp_stack {
	const uint32_t *locations; /* leaf first, in the arena */
	uint32_t depth;
	uint32_t thread;	    /* index of a thread label, or CP_NO_THREAD */
	uint32_t labels;	    /* label set, a number of labelset.h */
	uint64_t tag;		    /* defined by the mode */
	uint64_t values[CP_VALUES]; /* records set the first two: count and weight */
};

/* The values of a row at the begin of a window; 0 for a value of the moment, so that the window has
 * it as it is now. */
struct cp_aggregate_base {
	uint64_t values[CP_VALUES];
};

/* A stack as a source has it: pcs leaf first, in the form that cp_unwinder.walk stores. */
struct cp_raw_stack {
	const uint64_t *pcs;
	uint32_t depth;	   /* 1..4096; 0 = only LOCATION */
	uint32_t location; /* CP_LOCATION_SHORT_WAITS or a similar location */
	uint8_t end;	   /* enum cp_unwind_end */
	uint32_t thread, labels;
	uint64_t tag;
};

/* One thread that had samples. Two threads may have the same tid, one after the other. tid 0: all
 * threads of that name, used once there have been so many threads that a number is of no use. */
struct cp_thread_label {
	int32_t tid;
	char name[CP_THREAD_NAME];
};

/* A location that was looked up after the modules had been read READING - 1 times. READING 0 =
 * empty. */
struct cp_recent {
	uint64_t pc;
	uint32_t location, reading;
};

struct cp_aggregate {
	struct cp_modules *modules;
	struct cp_arena arena; /* stacks' locations */
	struct cp_vec locations, stacks, threads;
	struct cp_vec aside; /* owned by the mode: values of rows that are not shown now */
	struct cp_index location_index, stack_index, name_index;
	struct cp_recent *recent; /* indexed by pc; NULL = not allocated yet */
	uint32_t ended;		  /* counts threads that have ended and kept a label */
	uint64_t records; /* records added; a source that sets rows itself adds the number of
			     changes */
	uint64_t weight;  /* weight of these records */
};

void cp_aggregate_init(struct cp_aggregate *a, struct cp_modules *modules);
/* Makes the special locations if cp_aggregate_init found no memory for them. Returns 0 or
 * -ENOMEM. */
int cp_aggregate_prepare(struct cp_aggregate *a);
/* Makes a label for a thread with samples. Returns its number, or CP_INDEX_NONE without memory. */
uint32_t cp_aggregate_thread(struct cp_aggregate *a, int32_t tid);
/* Notes that a labelled thread has ended. */
void cp_aggregate_thread_ended(struct cp_aggregate *a);
/* Returns whether a thread without a label should share one now, so that many short-lived threads
 * don't fill the memory with rows. ENDED: the thread has already ended. */
bool cp_aggregate_shares(const struct cp_aggregate *a, bool ended);
/* Returns the number of the label that threads called NAME share, or CP_INDEX_NONE without
 * memory. */
uint32_t cp_aggregate_shared_thread(struct cp_aggregate *a, const char *name);
/* Adds one record of THREAD. Returns 0, or -ENOMEM if the record isn't added. */
int cp_aggregate_add(struct cp_aggregate *a, const struct cp_record *record, uint32_t thread);
/* Returns the number of S's row, or CP_INDEX_NONE without memory. A new row has all values 0. For
 * sources that sum samples themselves and set the values. The modules must be fresh if S may have
 * new addresses. */
uint32_t cp_aggregate_row(struct cp_aggregate *a, const struct cp_raw_stack *s);
/* Returns the hash of S under which the index of stacks has it. */
uint32_t cp_aggregate_hash(const struct cp_stack *s);
/* Returns the row that differs from row NUMBER in labels and tag only. */
uint32_t cp_aggregate_relabel(struct cp_aggregate *a, uint32_t number, uint32_t labels,
			      uint64_t tag);
static inline struct cp_stack *cp_aggregate_row_at(const struct cp_aggregate *a, uint32_t number)
{
	return CP_VEC_AT(&a->stacks, struct cp_stack, number);
}
/* Returns what row NUMBER has more in VALUE than at the begin of a window; BASE has a struct
 * cp_aggregate_base for each row of then, or is NULL. The longest event is no sum: if this returns
 * 0, no event of the window was longer than all earlier ones. */
static inline int64_t cp_aggregate_since(const struct cp_aggregate *a, uint32_t number,
					 unsigned value, const struct cp_vec *base)
{
	uint64_t now = cp_aggregate_row_at(a, number)->values[value];

	if (base && number < base->count)
		now -= CP_VEC_AT(base, struct cp_aggregate_base, number)->values[value];
	return (int64_t)now;
}
/* Gives up all locations. A has no rows. */
void cp_aggregate_forget_locations(struct cp_aggregate *a);
/* Releases everything except the modules. */
void cp_aggregate_release(struct cp_aggregate *a);

/* Functions of the profiler that replace one of the program and make the same calls: their frames
 * count as the program's. Ranges [low, high), filled before the first sample. */
#define CP_AGGREGATE_PROGRAMS 2
struct cp_aggregate_range {
	uintptr_t low, high;
};
extern struct cp_aggregate_range cp_aggregate_programs[CP_AGGREGATE_PROGRAMS]
	__attribute__((visibility("hidden")));

#endif
