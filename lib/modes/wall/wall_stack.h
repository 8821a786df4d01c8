/* SPDX-License-Identifier: BSD-3-Clause */
/* Tells what another thread is doing: whether it waits in the kernel, and on which stack.
 *
 * No signal is needed: the kernel shows pc and sp of a waiting thread, and the pacer copies and
 * walks the thread's stack. Called by the wall clock's pacer, under the collector's lock.
 */
#ifndef CP_WALL_STACK_H
#define CP_WALL_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "modes/wall/wall_cause.h"
#include "sample/ring.h"

enum cp_wall_doing {
	CP_WALL_RUNS,
	CP_WALL_QUEUES, /* is ready to run, but has no processor */
	CP_WALL_WAITS,	/* the record has its stack */
	CP_WALL_WOKEN,	/* was ready to run, after a wait where it waits again */
	CP_WALL_HIDDEN, /* unknown this time */
	CP_WALL_DENIED, /* unknown at any time: /proc is missing or not accessible */
	CP_WALL_ENDED,	/* the thread no longer exists */
};

/* Return the CPU time of thread TID of this process, in ns; UINT64_MAX if it has ended. */
uint64_t cp_wall_stack_clock_of(int tid);

/* Tell what thread TID is doing. If it waits, TO gets its stack of at most MAX_DEPTH frames, and
 * *CLOCK its CPU time, which did not change meanwhile, and *CALL the call that it waits in. */
/* Return true if TID, which does not run and whose CPU clock is at CLOCK, is ready to run. */
bool cp_wall_stack_is_ready(int tid, uint64_t clock);

enum cp_wall_doing cp_wall_stack_look(int tid, struct cp_record *to, unsigned max_depth,
				      uint64_t *clock, struct cp_wall_call *call);

#endif
