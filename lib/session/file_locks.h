/* SPDX-License-Identifier: BSD-3-Clause */
/* Which process holds the lock of a file (flock, fcntl) that a thread waits for, as /proc/locks
 * tells.
 *
 * While the kernel writes that file, it stops all changes of locks, so the file is not read under
 * the collector's lock, and once for all threads. Under the lock the waiting threads are noted;
 * then, without it, the file is read; and under the lock again, a thread that has waited all the
 * time is told who holds its lock.
 */
#ifndef CP_FILE_LOCKS_H
#define CP_FILE_LOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "modes/wall/wall_cause.h"

/* More threads that wait for a file's lock are not told the holder. */
#define CP_FILE_LOCKS_MAX 32u

struct cp_file_lock_wait {
	uint64_t clock, inode; /* CLOCK: of the thread; no INODE: the file is unknown */
	const char *type;
	int tid, fd;
	int pid;    /* of the process that waits, as /proc/locks shows it */
	int holder; /* 0: nothing found; -1: several processes */
};

struct cp_file_locks {
	uint32_t count;
	bool read;
	struct cp_file_lock_wait waits[CP_FILE_LOCKS_MAX];
};

/* If CALL waits for a file's lock: return the pid of the process that took it (it may have ended
 * and left the lock to a child), or 0. 0: L isn't read yet, and the wait is noted; or the holder is
 * unknown: thread TID has run since, so that its CPU clock isn't CLOCK any more; or the lock
 * belongs to an open file (F_OFD_SETLKW), to a process of another pid namespace, or to several; or
 * nobody has it any more. */
int cp_file_locks_holder(struct cp_file_locks *l, const struct cp_wall_call *call, int tid,
			 uint64_t clock);
/* Find the holders for what is noted in L. Reads all of /proc/locks. Not under a lock. */
void cp_file_locks_read(struct cp_file_locks *l);

#endif
