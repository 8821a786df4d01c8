/* Samples of one mode, summed by stack, thread, labels and tag.
 *
 * Filled by the drain, read by the dump, both under the collector's lock. Addresses
 * become locations (mapping + address) while their module is known, so a module may
 * go away afterwards. Bounded: past the limit samples are counted as lost.
 */
#ifndef CP_AGGREGATE_H
#define CP_AGGREGATE_H

#include <stdbool.h>
#include <stdint.h>

#include "index.h"
#include "modules.h"
#include "sigsafe/pages.h"
#include "sigsafe/ring.h"
#include "sigsafe/thread.h"

/* Locations that stand for no address: the outermost frame of a stack that is not whole, and what
 * is in the place of a stack where events were only counted. */
#define CP_LOCATION_TRUNCATED 0u
#define CP_LOCATION_INCOMPLETE 1u
#define CP_LOCATION_SHORT_WAITS 2u
#define CP_LOCATION_LOST_WAITS 3u
#define CP_LOCATION_FIRST 4u

struct cp_location {
	uint64_t address;  /* as the unwinder stored it */
	uint32_t mapping;  /* number in modules, or CP_NO_MAPPING */
	uint32_t function; /* owned by the naming step; 0 = not named yet */
};

#define CP_VALUES 4 /* a row has at most; as many as the mode has sample types */
#define CP_NO_THREAD CP_INDEX_NONE

struct cp_stack {
	const uint32_t *locations; /* leaf first, in the arena */
	uint32_t depth;
	uint32_t thread;	    /* index of a label, or CP_NO_THREAD */
	uint32_t labels;	    /* a number of labelset.h */
	uint64_t tag;		    /* the mode's */
	uint64_t values[CP_VALUES]; /* records: count and weight in the first two */
};

/* A stack as a source has it: pcs leaf first, in the form cp_unwinder.walk stores them. */
struct cp_raw_stack {
	const uint64_t *pcs;
	uint32_t depth;	   /* 1..4096; 0 = LOCATION is all there is */
	uint32_t location; /* CP_LOCATION_SHORT_WAITS and such */
	uint8_t end;	   /* enum cp_unwind_end */
	uint32_t thread, labels;
	uint64_t tag;
};

/* One thread that had samples. Two may have the same tid, one after the other. tid 0: all those of
 * that name, after so many threads that a number tells nothing any more. */
struct cp_thread_label {
	int32_t tid;
	char name[CP_THREAD_NAME];
};

/* A location that was looked up when the modules had been read READING - 1 times. 0 = none. */
struct cp_recent {
	uint64_t pc;
	uint32_t location, reading;
};

struct cp_aggregate {
	struct cp_modules *modules;
	struct cp_arena arena; /* stacks' locations */
	struct cp_vec locations, stacks, threads;
	struct cp_vec aside; /* the mode's: values of rows that are not shown now */
	struct cp_index location_index, stack_index, name_index;
	struct cp_recent *recent; /* by pc; NULL = none yet */
	uint32_t ended;		  /* threads with a label of their own that are gone */
	uint64_t records;	  /* taken in; a source that sets rows itself adds what changed */
	uint64_t weight;	  /* of them */
};

void cp_aggregate_init(struct cp_aggregate *a, struct cp_modules *modules);
/* Make the special locations, where init found no memory for them. 0 or -ENOMEM. */
int cp_aggregate_prepare(struct cp_aggregate *a);
/* A label for a thread with samples: its number. CP_INDEX_NONE without memory. */
uint32_t cp_aggregate_thread(struct cp_aggregate *a, int32_t tid);
/* Its thread is gone. */
void cp_aggregate_thread_ended(struct cp_aggregate *a);
/* Whether a thread without a label is to share one now, so that many short threads don't fill the
 * memory with rows. ENDED: it is gone already. */
bool cp_aggregate_shares(const struct cp_aggregate *a, bool ended);
/* The label that threads called NAME share: its number. CP_INDEX_NONE without memory. */
uint32_t cp_aggregate_shared_thread(struct cp_aggregate *a, const char *name);
/* Add one record of thread THREAD. 0, or -ENOMEM: not added. */
int cp_aggregate_add(struct cp_aggregate *a, const struct cp_record *record, uint32_t thread);
/* The number of S's row, new ones with all values 0: for sources that sum for themselves, and set
 * the values. Modules must be fresh where S's addresses may be new. CP_INDEX_NONE without memory.
 */
uint32_t cp_aggregate_row(struct cp_aggregate *a, const struct cp_raw_stack *s);
/* The row that differs from row NUMBER in labels and tag only. */
uint32_t cp_aggregate_relabel(struct cp_aggregate *a, uint32_t number, uint32_t labels,
			      uint64_t tag);
static inline struct cp_stack *cp_aggregate_row_at(const struct cp_aggregate *a, uint32_t number)
{
	return CP_VEC_AT(&a->stacks, struct cp_stack, number);
}
/* Everything but the modules goes. */
void cp_aggregate_release(struct cp_aggregate *a);

#endif
