/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts of samples and their fate, by mode and cause. One instance per process. Samples are rare,
 * so shared relaxed counters have no measurable cost. Relaxed is enough, because the numbers are
 * independent of each other and only reported. */
#ifndef CP_COUNTERS_H
#define CP_COUNTERS_H

#include <stdint.h>

#include "base/atomic.h"
#include "sample/mode.h"

enum cp_count {
	CP_COUNT_MISSED,	 /* expiries after a thread's last kernel tick */
	CP_COUNT_NOT_SAMPLED,	 /* those of them that are in the row of CP_PC_NOT_SAMPLED */
	CP_COUNT_SIGNALS,	 /* profiling signals taken by the profiler's handler */
	CP_COUNT_SAMPLES,	 /* records put into a ring */
	CP_COUNT_EXPIRIES,	 /* timer expiries in those records (overruns included) */
	CP_COUNT_LOST_RING,	 /* expiries dropped: ring full */
	CP_COUNT_LOST_MEMORY,	 /* expiries dropped: no page for a ring */
	CP_COUNT_LOST_THREAD,	 /* expiries dropped: thread not registered */
	CP_COUNT_LOST_PAUSED,	 /* expiries not taken: cprof_thread_pause */
	CP_COUNT_TRUNCATED,	 /* stacks cut at the depth limit */
	CP_COUNT_INCOMPLETE,	 /* stacks whose start was not reached */
	CP_COUNT_TIMED,		 /* handler runs that were timed: see timing.h */
	CP_COUNT_TIMED_TICKS,	 /* the sum of their ticks */
	CP_COUNT_THREADS,	 /* threads that were given a timer */
	CP_COUNT_TIMER_FAILURES, /* threads for which timer_create failed */
	CP_COUNT_EVENTS,	 /* threads that were given a perf event */
	CP_COUNT_EVENT_NS,	 /* CPU time in handlers, spent on making perf events anew */
	CP_COUNT_EVENT_FAILURES, /* threads that got a timer because they could get no perf event */
	CP_COUNT_OWN_HITS,	 /* hits of events in the profiler's own work */
	CP_COUNT_FOREIGN_THREADS, /* threads found by the sweep or a hook, not made by
				     pthread_create */
	CP_COUNT_LOST_AGGREGATE,  /* expiries dropped: the collector's memory limit */
	CP_COUNT_LOST_LABELS,	  /* samples without their labels: too many different sets */
	CP_COUNT_LABELS_REFUSED,  /* labels that could not be set, or were cut */
	CP_COUNT_UNSEEN_FREES,	  /* blocks that were allocated again without an observed free */
	CP_COUNT_BURSTS_NS,	  /* CPU time of threads whose waits were counted */
	CP_COUNT_SHORT_BURSTS_NS, /* of it, that of threads which run for less than a tick at a time
				   */
	CP_COUNT_LOST_SPANS,	  /* spans whose latency was not kept: too many names */
	CP_COUNT_LOST_SLOW,	  /* samples of spans whose slowness can't be determined any more */
	CP_COUNT_DUMPS,		  /* files written */
	CP_COUNT_DUMP_FAILURES,	  /* files that could not be written */
	CP_COUNTS
};

/* What was told of a thread (collect/bursts.h): CPU time, and how often it began to wait. */
struct cp_bursts {
	uint64_t ran, waits;
};

extern uint64_t cp_counters[CP_MODES][CP_COUNTS];

static inline void cp_count_mode(unsigned mode, enum cp_count what, uint64_t n)
{
	cp_add_relaxed(&cp_counters[mode][what], n);
}

static inline uint64_t cp_counted_mode(unsigned mode, enum cp_count what)
{
	return cp_load_relaxed(&cp_counters[mode][what]);
}

/* Counts for the CPU mode. Threads and signals, which belong to no mode, are counted here, too. */
static inline void cp_count(enum cp_count what, uint64_t n)
{
	cp_count_mode(CPROF_CPU, what, n);
}

static inline uint64_t cp_counted(enum cp_count what)
{
	return cp_counted_mode(CPROF_CPU, what);
}

#endif
