/* The stack of a sampled allocation, as its entry in the depot. Called inside malloc, by
 * heap_event.c.
 *
 * Where all is sampled: the walk is replayed if the same was made before (replay.h), else shortened
 * by the one before (memo.h), else made by the unwinder. The first threads have a buffer and
 * entries of their own, and touch nothing then that others write.
 */
#ifndef CP_HEAP_STACK_H
#define CP_HEAP_STACK_H

#include <stdbool.h>

#include "sigsafe/depot.h"
#include "sigsafe/heap_event.h"
#include "sigsafe/scratch.h"
#include "sigsafe/unwind.h"

/* IN's registers are those of the function that was called at S->caller, or below it; the rest of
 * it is set here. NULL: no memory. */
struct cp_depot_entry *cp_heap_stack_find(const struct cp_heap_sample *s,
					  struct cp_unwind_input *in);

/* Threads count apart when samples are frequent: the first ones each in entries of its own, the
 * others in these. */
#define CP_HEAP_SHARDS 8u
#define CP_HEAP_OWNERS 16u
/* Numbers of shards: an owner's is that of its record plus 1, those of nobody's own have this bit;
 * 0 is of no stack. */
#define CP_HEAP_NOBODYS 0x40u

/* A record is one thread's until that has ended, and so is its number. */
static inline bool cp_heap_stack_owns(const struct cp_thread *t)
{
	return t && t->index < CP_HEAP_OWNERS;
}

/* Nobody but the calling thread gets E from here, as long as it lives. */
static inline bool cp_heap_stack_is_own(const struct cp_depot_entry *e)
{
	return e->shard == cp_self.heap.shard;
}

/* The calling thread ends: its record, and with it what it owns, will be another's. */
static inline void cp_heap_stack_disown(void)
{
	cp_self.heap.own = NULL;
	cp_self.heap.shard = 0;
}

#endif
