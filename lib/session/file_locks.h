/* SPDX-License-Identifier: BSD-3-Clause */
/* Which process holds the lock of a file (flock, fcntl) that a thread waits for, as /proc/locks
 * tells. For thread_waits.c, under the collector's lock. */
#ifndef CP_FILE_LOCKS_H
#define CP_FILE_LOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "modes/wall/wall_cause.h"

/* Return true if CALL waits for the lock of a file. */
bool cp_file_locks_waits(const struct cp_wall_call *call);
/* Return the pid of the process that took the lock that thread TID waits for in CALL; it may have
 * ended, and left the lock to a child. 0: unknown: the lock belongs to an open file (F_OFD_SETLKW),
 * to a process of another pid namespace, or to several, or nobody has it any more. Reads all of
 * /proc/locks. */
int cp_file_locks_holder(const struct cp_wall_call *call, int tid);

#endif
