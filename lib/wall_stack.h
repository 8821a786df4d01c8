/* What another thread is doing: whether it waits in the kernel, and on which stack.
 *
 * Without a signal: the kernel shows pc and sp of a thread that waits, and its stack is copied and
 * walked from here. Called by the wall clock's pacer, under the collector's lock.
 */
#ifndef CP_WALL_STACK_H
#define CP_WALL_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "sigsafe/ring.h"

enum cp_wall_doing {
	CP_WALL_RUNS,	/* or stands in the scheduler's queue */
	CP_WALL_WAITS,	/* the record has its stack */
	CP_WALL_HIDDEN, /* it can't be told this time */
	CP_WALL_DENIED, /* nor any other time: /proc is not there, or not for us */
	CP_WALL_ENDED,	/* there is no such thread any more */
};

/* CPU time of thread TID of this process, in ns; UINT64_MAX: it has ended. */
uint64_t cp_wall_clock_of(int tid);

/* Look at TID. When it waits, TO gets its stack of at most MAX_DEPTH frames, and *CLOCK its CPU
 * time, at which it stood all the while; *URING is set when it waits in io_uring_enter. */
enum cp_wall_doing cp_wall_look(int tid, struct cp_record *to, unsigned max_depth, uint64_t *clock,
				bool *uring);

#endif
