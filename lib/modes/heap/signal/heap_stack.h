/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the depot entry of a sampled allocation's stack. heap_event.c calls this inside malloc.
 *
 * When every allocation is sampled, the stack comes from a cached walk if the same walk was made
 * before (stack_cache.h), else from a walk shortened by the previous one (tail_cache.h), else from
 * the unwinder. The first threads have their own buffers and entries, and then touch no memory that
 * other threads write.
 */
#ifndef CP_HEAP_STACK_H
#define CP_HEAP_STACK_H

#include <stdbool.h>

#include "modes/heap/signal/stack_depot.h"
#include "modes/heap/signal/heap_event.h"
#include "modes/heap/signal/unwind_buffer.h"
#include "sample/unwinder.h"

/* The addresses of libcprof, set before the first run. */
extern uintptr_t cp_heap_stack_own_low, cp_heap_stack_own_high;

/* Returns the entry of the stack, or NULL if there is no memory. IN's registers are those of the
 * function that was called at S->caller, or of a function below it. CALLER 0: libcprof's own frames
 * are left out. The rest of IN is set here. */
struct cp_stack_depot_entry *cp_heap_stack_find(const struct cp_heap_sample *s,
						struct cp_unwind_input *in);

/* Returns the entry of blocks of OF that are freed from the calling function, in class CLASS of
 * lifetimes.h. Its stack: the free's, CP_STACK_DEPOT_MARK, and OF's. Returns NULL if there is no
 * memory. */
struct cp_stack_depot_entry *cp_heap_stack_find_freed(const struct cp_stack_depot_entry *of,
						      uint32_t class);

/* When samples are frequent, threads count separately: the first threads each in their own entries,
 * all others in this many shared shards. */
#define CP_HEAP_SHARDS 8u
#define CP_HEAP_OWNERS 16u
/* Shard numbers: an owner's shard is the number of its record plus 1. Shared shards have this bit
 * set. 0 belongs to no stack. */
#define CP_HEAP_NOBODYS 0x40u

/* A record, and so its number, belongs to one thread until that thread has ended. */
static inline bool cp_heap_stack_owns(const struct cp_thread *t)
{
	return t && t->index < CP_HEAP_OWNERS;
}

/* Is E in the calling thread's shard? Then no other thread finds E while the calling thread lives.
 */
static inline bool cp_heap_stack_is_own(const struct cp_stack_depot_entry *e)
{
	return e->shard == cp_self.heap.shard;
}

/* The calling thread ends: another thread will get its record and the entries that it owns. */
static inline void cp_heap_stack_disown(void)
{
	cp_self.heap.own = NULL;
	cp_self.heap.shard = 0;
}

#endif
