/* SPDX-License-Identifier: BSD-3-Clause */
/* The event half of the CPU source: a sample for each SIGPROF of a thread's timer or of its perf
 * event.
 */
#ifndef CP_CPU_EVENT_H
#define CP_CPU_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "host/signal/sigprof.h"
#include "sample/capture.h"
#include "sample/thread.h"

/* Set T's timer to its next expiry, or, while T has a credit (cpu_edges.h), to the next tick.
 * Returns 0 or a negative errno. The calling thread is T, or T's timer isn't running. */
int cp_cpu_event_set_timer(const struct cp_thread *t);

/* The event of WEIGHT expiries of PERIOD ns. Its count is the period, because the period may change
 * while the event is in a ring; the drain makes ns of the two (cpu_mode.c). */
static inline struct cp_event cp_cpu_event_of(uint64_t weight, uint64_t period)
{
	return (struct cp_event){ .mode = CPROF_CPU, .count = period, .weight = weight };
}

/* Written by the control half (cpu.c), read by the handler. */
struct cp_cpu_state {
	uint32_t started;   /* samples may come: from the start to the stop */
	uint32_t running;   /* samples are taken: not while the period changes */
	uint32_t perf_used; /* used since the process began: its signals may come */
	/* The filter of ProfilerStartWithOptions: returns 0 to leave a sample out. NULL: no filter.
	 */
	int (*filter)(void *argument);
	void *filter_argument;
	uint64_t period_ns;
	uint32_t shuffled; /* each expiry has a random place in its period */
	/* Called in T's handler when its event could not be made anew: gives T another clock. */
	void (*perf_failed)(struct cp_thread *t);
};
extern struct cp_cpu_state cp_cpu_state;

/* The CPU mode's row in the table of the sources of SIGPROF. */
extern const struct cp_sigprof_source cp_cpu_event_source;

#endif
