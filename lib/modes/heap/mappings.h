/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that the program maps by itself (mmap, mremap, brk, sbrk), with the stack that mapped it.
 * Each mapping is tracked until it is unmapped, possibly in pieces.
 *
 * The interposed functions of lib/modes/heap/hooks/mmap.c call these functions around the real
 * ones. The real calls are system calls, so a lock adds little cost. The lock is held with all
 * signals blocked, and never during the real call.
 */
#ifndef CP_MAPPINGS_H
#define CP_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"

extern uint32_t cp_mappings_on;

static inline bool cp_mappings_wanted(void)
{
	return __builtin_expect(cp_load_relaxed(&cp_mappings_on) != 0, 0);
}

/* Empty the table and start tracking. */
void cp_mappings_start(void);
void cp_mappings_stop(void);
/* Call in a fork child. The parent's mappings are not attributed to the child. Doesn't wait for any
 * lock. */
void cp_mappings_fork_child(bool on);

/* Call before a call that unmaps. Returns a time stamp: pieces that are added later were not
 * unmapped by that call. */
uint64_t cp_mappings_now(void);
/* Remove the pieces in [START, START + SIZE) that are older than NOW. */
void cp_mappings_remove(uintptr_t start, size_t size, uint64_t now);
/* Record that [START, START + SIZE) is mapped, in place of what was there, by the function that
 * returns to CALLER. Not inlined, because the stack walk starts in this function. */
void cp_mappings_add(uintptr_t start, size_t size, void *caller);

/* Returns the number of pieces that could not be recorded. */
uint64_t cp_mappings_lost(void);

#endif
