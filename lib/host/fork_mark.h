/* SPDX-License-Identifier: BSD-3-Clause */
/* Tell whether this memory is a copy that an unannounced fork made. No fork handler runs in a child
 * that clone() makes as fork would. A child that shares the memory, such as a vfork's, sees the
 * same mark as the parent.
 */
#ifndef CP_FORK_MARK_H
#define CP_FORK_MARK_H

#include <stdbool.h>

/* Set the mark. Call at each start, and in the child of a known fork. Ordinary context. */
void cp_fork_mark_set(void);
/* Announce (true) that a known fork is about to copy the memory or has copied it. The announcement
 * holds in the child until cp_fork_mark_set, whatever other fork handlers do there first. */
void cp_fork_mark_expect(bool fork);
/* Return true if the mark was set and the memory was then copied without an announcement.
 * Async-signal-safe. */
bool cp_fork_mark_is_gone(void);

#endif
