/* What happened to samples, counted by mode and cause. One instance a process; samples are
 * rare, so shared relaxed counters cost nothing that could be measured. Relaxed is
 * enough: the numbers are independent of each other and only reported.
 */
#ifndef CP_COUNTERS_H
#define CP_COUNTERS_H

#include <stdint.h>

#include "sigsafe/atomic.h"
#include "sigsafe/mode.h"

enum cp_count {
	CP_COUNT_TAILS,	   /* expiries after a thread's last kernel tick, given to its last stack */
	CP_COUNT_SIGNALS,  /* profiling signals taken by our handler */
	CP_COUNT_SAMPLES,  /* records put into a ring */
	CP_COUNT_EXPIRIES, /* timer expiries that these stand for (overruns included) */
	CP_COUNT_LOST_RING,	  /* expiries dropped: ring full */
	CP_COUNT_LOST_MEMORY,	  /* expiries dropped: no page for a ring */
	CP_COUNT_LOST_THREAD,	  /* expiries dropped: thread not registered */
	CP_COUNT_LOST_PAUSED,	  /* expiries not taken: cprof_thread_pause */
	CP_COUNT_TRUNCATED,	  /* stacks cut at the depth limit */
	CP_COUNT_INCOMPLETE,	  /* stacks whose start was not reached */
	CP_COUNT_TIMED,		  /* handler runs whose time was taken: see timing.h */
	CP_COUNT_TIMED_TICKS,	  /* and the sum of it */
	CP_COUNT_THREADS,	  /* threads that were given a timer */
	CP_COUNT_TIMER_FAILURES,  /* threads for which timer_create failed */
	CP_COUNT_EVENTS,	  /* threads that were given a perf event */
	CP_COUNT_EVENT_NS,	  /* CPU time of making them anew, in handlers */
	CP_COUNT_EVENT_FAILURES,  /* threads that got a timer because there was no event for them */
	CP_COUNT_FOREIGN_THREADS, /* found by the sweep or a hook, not made by pthread_create */
	CP_COUNT_LOST_AGGREGATE,  /* expiries dropped: the collector's memory limit */
	CP_COUNT_LOST_LABELS,	  /* samples without their labels: too many different sets */
	CP_COUNT_LABELS_REFUSED,  /* labels that could not be set, or were cut */
	CP_COUNT_UNSEEN_FREES,	  /* blocks that were given out again without a free that we saw */
	CP_COUNT_LOST_SPANS,	  /* spans whose latency was not kept: too many names */
	CP_COUNT_LOST_SLOW,	  /* samples of spans that can't be told to be slow */
	CP_COUNT_DUMPS,		  /* files written */
	CP_COUNT_DUMP_FAILURES,	  /* files that could not be written */
	CP_COUNTS
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

/* Of the CPU mode, and what is no mode's: threads, signals. */
static inline void cp_count(enum cp_count what, uint64_t n)
{
	cp_count_mode(CP_MODE_CPU, what, n);
}

static inline uint64_t cp_counted(enum cp_count what)
{
	return cp_counted_mode(CP_MODE_CPU, what);
}

#endif
