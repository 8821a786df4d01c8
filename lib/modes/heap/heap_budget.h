/* SPDX-License-Identifier: BSD-3-Clause */
/* An interval between samples that follows the program: CPROF_HEAP_BUDGET samples a second, or as
 * many as a share of the program's CPU time pays for.
 *
 * The collector looks four times a second how many samples came. Where they are too many the
 * interval grows, where they are far too few it shrinks, always by powers of two. A sample counts
 * for the interval that it was drawn with, so sums stay unbiased: what comes next does not depend
 * on what a thread is about to allocate. Called under the collector's lock.
 */
#ifndef CP_HEAP_BUDGET_H
#define CP_HEAP_BUDGET_H

#include <stdint.h>

struct cp_heap_budget {
	uint64_t budget;  /* samples a second; 0 = the interval stays */
	unsigned percent; /* of the CPU time, from which BUDGET follows; 0: BUDGET stays */
	uint64_t cpu_ns;  /* at the last look */
	uint64_t timed, timed_ns, sample_ns; /* likewise; what a sample took between looks */
	uint64_t least, most;		     /* bounds of the interval, bytes */
	uint64_t smallest, largest;	     /* intervals that were in force */
	uint64_t changes;
	uint64_t average;		 /* samples a second, over the last ticks */
	uint64_t samples, at_ns, due_ns; /* at the last look; when the next one is due */
};
extern struct cp_heap_budget cp_heap_budget;

/* Begin with INTERVAL, above 1. SAMPLES were counted so far. BUDGET 0: never due. */
void cp_heap_budget_start(uint64_t budget, uint64_t interval, uint64_t samples, uint64_t now_ns);
/* The same with PERCENT of the CPU time. The process has used CPU_NS so far. */
void cp_heap_budget_start_share(unsigned percent, uint64_t interval, uint64_t samples,
				uint64_t now_ns, uint64_t cpu_ns);
/* Go on with BUDGET, or with PERCENT of the CPU time, as above. What was seen of intervals stays.
 */
void cp_heap_budget_set(uint64_t budget, uint64_t samples, uint64_t now_ns);
void cp_heap_budget_set_share(unsigned percent, uint64_t samples, uint64_t now_ns, uint64_t cpu_ns);
/* Before a tick: the process has used CPU_NS so far; TIMED samples took TIMED_NS. Sets BUDGET, if
 * it is a share. */
void cp_heap_budget_pay(uint64_t cpu_ns, uint64_t timed, uint64_t timed_ns, uint64_t now_ns);
/* The program asks for INTERVAL itself. */
void cp_heap_budget_see(uint64_t interval);
/* Return the interval to go on with: INTERVAL is in force, SAMPLES were counted so far. */
uint64_t cp_heap_budget_tick(uint64_t interval, uint64_t samples, uint64_t now_ns);

#endif
