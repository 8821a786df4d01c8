/* The collector's state; private to collect.c, collect_loop.c and collect_thread.c, each of which
 * calls those before it only.
 */
#ifndef CP_COLLECT_STATE_H
#define CP_COLLECT_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "collect.h"
#include "sigsafe/lock.h"

/* | state    | left by                                                            |
 * |----------|--------------------------------------------------------------------|
 * | NONE     | cp_collect_start, by whom wins                                     |
 * | STARTING | the same, when it exists or could not be made                      |
 * | RUNNING  | cp_collect_stop, by whom wins; the collector, as the last one;     |
 * |          | cp_collect_attend, to STARTING                                     |
 * | STOPPING | cp_collect_stop, when it was joined                                | */
enum {
	CP_COLLECTOR_NONE,
	CP_COLLECTOR_STARTING,
	CP_COLLECTOR_RUNNING,
	CP_COLLECTOR_STOPPING,
};

struct cp_collector {
	struct cp_lock lock;
	const struct cp_collect_work *work;
	uint32_t state;
	uint32_t bare;	   /* in RUNNING: a task without a thread of libc's */
	uint32_t joining;  /* a thread of ours that the sweep can't know yet */
	uint32_t requests; /* CP_REQUEST_*, not yet served */
	uint32_t bell;	   /* futex: rung with every request */
	int32_t thread_tid;
};

extern struct cp_collector cp_collector; /* collect.c */

/* Ends the loop's sleep, so that it looks. Any context. */
void cp_collect_ring(void);
/* Ask the collector, which runs. */
void cp_collect_post(uint32_t requests);
/* What of REQUESTS the program or its user asked for: before an end, or just behind it. */
void cp_collect_serve_rest(uint32_t requests);

/* In the worker, or in the thread where there is none: see struct cp_worker_work. */
bool cp_collect_loop(void);
/* Where libc won't end the process it ends with the task of ours that calls this, the last one: the
 * kernel takes its status for the process's (Linux < 5.17: main's). */
void cp_collect_end_as_last(void);

#endif
