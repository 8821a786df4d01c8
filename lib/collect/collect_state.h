/* SPDX-License-Identifier: BSD-3-Clause */
/* The collector's state; private to collect.c, collect_loop.c and collect_thread.c. Each of these
 * files calls only the files before it.
 */
#ifndef CP_COLLECT_STATE_H
#define CP_COLLECT_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/futex_lock.h"

/* clang-format off */
/* | state    | left by                                                            |
 * |----------|--------------------------------------------------------------------|
 * | NONE     | cp_collect_thread_start, by the caller that wins                   |
 * | STARTING | the same, when the collector exists or could not be made           |
 * | RUNNING  | cp_collect_thread_stop, by the caller that wins; the collector, as |
 * |          | the last task                                                      |
 * | STOPPING | cp_collect_thread_stop, when the collector was joined              |
 */
/* clang-format on */
enum {
	CP_COLLECTOR_NONE,
	CP_COLLECTOR_STARTING,
	CP_COLLECTOR_RUNNING,
	CP_COLLECTOR_STOPPING,
};

struct cp_collector {
	struct cp_futex_lock lock;
	const struct cp_collect_work *work;
	uint32_t state;
	uint32_t raw_task; /* in RUNNING: the task has no libc thread (worker.h) */
	uint32_t joining;  /* a thread of the profiler that the sweep can't know yet */
	uint32_t requests; /* CP_REQUEST_*, not yet served */
	uint32_t wakeups;  /* futex: changed with every request */
	int32_t thread_tid;
};

extern struct cp_collector cp_collector; /* collect.c */

/* Wake the collector's loop, so that it looks for requests. Any context. */
void cp_collect_wake(void);
/* Add REQUESTS and wake the collector, which runs. */
void cp_collect_post(uint32_t requests);
/* The collector's loop. Runs in the worker, or in the thread where there is no worker; see struct
 * cp_worker_work. */
bool cp_collect_loop(void);
/* Where libc will not end the process: end the calling task, which is the last one, with the status
 * of the last ended thread. The kernel takes that status as the process's (Linux < 5.17: main's).
 * Otherwise do nothing. */
void cp_collect_loop_end_as_last(void);

#endif
