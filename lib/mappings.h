/* What the program maps by itself: mmap, mremap, brk and sbrk, with where it did, until it is
 * unmapped, in whatever pieces.
 *
 * Called by the interposed functions of preload/mmap.c, around the real ones. Calls are system
 * calls, so a lock costs little beside them; it is held with all signals blocked, and never
 * over the real call.
 */
#ifndef CP_MAPPINGS_H
#define CP_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sigsafe/atomic.h"

extern uint32_t cp_mappings_on;

static inline bool cp_mappings_wanted(void)
{
	return __builtin_expect(cp_load_relaxed(&cp_mappings_on) != 0, 0);
}

/* Empty, from here on. */
void cp_mappings_start(void);
void cp_mappings_stop(void);
/* In a fork child: what the parent mapped is not the child's; nothing is waited for. */
void cp_mappings_fork_child(bool on);

/* Before a call that unmaps: what is added from here on is not what it unmapped. */
uint64_t cp_mappings_now(void);
/* The pieces in [START, START + SIZE) that are older than NOW are gone. */
void cp_mappings_remove(uintptr_t start, size_t size, uint64_t now);
/* [START, START + SIZE) is mapped, in place of what was there, by the function that returns to
 * CALLER. Not inlined: it is the leaf of a walk. */
void cp_mappings_add(uintptr_t start, size_t size, void *caller);

/* Pieces that could not be kept. */
uint64_t cp_mappings_lost(void);

#endif
