/* SPDX-License-Identifier: BSD-3-Clause */
/* Times handlers and hooks without a system call. The processor's counter runs at a constant rate,
 * which is measured against the clock over the whole run (lib/output/run.c).
 *
 * The counter goes on while a thread is preempted. A handler comes with the kernel's tick, and so
 * does preemption. A handler run that takes many times as long as the earlier ones says nothing
 * about the cost of handlers, and is left out.
 */
#ifndef CP_TIMING_H
#define CP_TIMING_H

#include <stdint.h>

#include "sample/counters.h"
#include "sample/ticks.h"

#define CP_TIMING_LEARN 16 /* runs until the mean is meaningful */
#define CP_TIMING_MAX 16   /* multiple of the mean from which a run is left out */

static inline uint64_t cp_timing_begin(void)
{
	return cp_ticks();
}

static inline void cp_timing_end(enum cprof_mode mode, uint64_t began)
{
	uint64_t now = cp_ticks(), took = now - began, n = cp_counted_mode(mode, CP_COUNT_TIMED);

	/* The program forbids the counter, so nothing is timed. */
	if (!now)
		return;
	if (n >= CP_TIMING_LEARN &&
	    took / CP_TIMING_MAX > cp_counted_mode(mode, CP_COUNT_TIMED_TICKS) / n)
		return;
	cp_count_mode(mode, CP_COUNT_TIMED, 1);
	cp_count_mode(mode, CP_COUNT_TIMED_TICKS, took);
}

#endif
