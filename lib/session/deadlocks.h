/* SPDX-License-Identifier: BSD-3-Clause */
/* Deadlocks: threads of which each waits for what the next one has, around a circle. Each waits
 * without a time limit for a lock that the next one holds, or for the next one's end.
 *
 * No mode is needed, because the locks say who has them (lock_owner.h). Under the collector's lock.
 */
#ifndef CP_DEADLOCKS_H
#define CP_DEADLOCKS_H

#include <stddef.h>

#include "session/thread_waits.h"

/* Number the deadlocks among the COUNT threads at T in their WAIT.DEADLOCK, from 1 on. A circle
 * counts only if none of its threads has run since it was seen, and each lock still says that the
 * next thread has it: then all of that is true at one moment, and can't end by itself. */
void cp_deadlocks_find(struct cp_thread_look *t, size_t count);

#endif
