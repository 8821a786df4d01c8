/* Samples, summed by stack and thread.
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

/* Locations that stand for no address: the outermost frame of a stack that is not whole. */
#define CP_LOCATION_TRUNCATED 0u
#define CP_LOCATION_INCOMPLETE 1u
#define CP_LOCATION_FIRST 2u

struct cp_location {
	uint64_t address;  /* as the unwinder stored it */
	uint32_t mapping;  /* number in modules, or CP_NO_MAPPING */
	uint32_t function; /* owned by the naming step; 0 = not named yet */
};

struct cp_stack {
	const uint32_t *locations; /* leaf first, in the arena */
	uint32_t depth;
	uint32_t thread; /* index of a label */
	uint64_t count;	 /* samples */
	uint64_t weight; /* in the source's unit */
};

/* One thread that had samples. Two may have the same tid, one after the other. tid 0: all those of
 * that name, after so many threads that a number tells nothing any more. */
struct cp_thread_label {
	int32_t tid;
	char name[CP_THREAD_NAME];
};

struct cp_aggregate {
	struct cp_modules *modules;
	struct cp_arena arena; /* stacks' locations */
	struct cp_vec locations, stacks, threads;
	struct cp_index location_index, stack_index, name_index;
	uint32_t ended;		  /* threads with a label of their own that are gone */
	uint64_t records, weight; /* taken in, in all */
};

void cp_aggregate_init(struct cp_aggregate *a, struct cp_modules *modules);
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
/* Everything but the modules goes. */
void cp_aggregate_release(struct cp_aggregate *a);

#endif
