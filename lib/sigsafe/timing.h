/* What handlers and hooks cost, taken without a system call: the processor's counter runs at a
 * constant rate, which is measured against the clock over the whole run (lib/run.c).
 *
 * The counter goes on while a thread is preempted, and a handler comes with the kernel's tick, as
 * preemption does: a run that takes many times as long as those before it says nothing of what
 * handlers cost, and is left out.
 */
#ifndef CP_TIMING_H
#define CP_TIMING_H

#include <stdint.h>

#include "sigsafe/arch.h"
#include "sigsafe/counters.h"

#define CP_TIMING_LEARN 16 /* runs until the mean tells anything */
#define CP_TIMING_MAX 16   /* times the mean */

static inline uint64_t cp_timing_begin(void)
{
	return cp_ticks();
}

static inline void cp_timing_end(enum cp_mode mode, uint64_t began)
{
	uint64_t took = cp_ticks() - began, n = cp_counted_mode(mode, CP_COUNT_TIMED);

	if (n >= CP_TIMING_LEARN &&
	    took / CP_TIMING_MAX > cp_counted_mode(mode, CP_COUNT_TIMED_TICKS) / n)
		return;
	cp_count_mode(mode, CP_COUNT_TIMED, 1);
	cp_count_mode(mode, CP_COUNT_TIMED_TICKS, took);
}

#endif
