/* SPDX-License-Identifier: BSD-3-Clause */
/* The CPU mode's part of a thread's record: the thread's clock. */
#ifndef CP_CPU_THREAD_H
#define CP_CPU_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "modes/cpu/signal/cpu_edges.h"
#include "sample/counters.h"
#include "sample/perf_event.h"
#include "sample/thread.h"

struct cp_cpu_thread {
	int32_t timer; /* kernel timer id; CP_NO_TIMER */
	/* The thread's CPU time is cut into periods, and the timer expires once in each. Written by
	 * the timer's handler. */
	uint64_t due;	  /* the next expiry, on the thread's CPU clock */
	uint64_t within;  /* its place in its period: (0, period] */
	uint64_t random;  /* state of the generator of places */
	uint64_t owed_ns; /* for the next sample: expiries of an earlier period, unsignalled */
	/* Of cpu.c, while the period changes: what the thread had. */
	bool had_clock, had_timer;
	uint64_t period_before;
	struct cp_bursts bursts; /* of cpu.c */
	struct cp_cpu_edge edge;
	struct cp_perf perf; /* used instead of a timer */
};

/* The initial values: neither timer nor event. */
extern const struct cp_cpu_thread cp_cpu_thread_part CP_THREAD_PART;

static inline struct cp_cpu_thread *cp_cpu_of(const struct cp_thread *t)
{
	return cp_thread_part(t, &cp_cpu_thread_part);
}

#endif
