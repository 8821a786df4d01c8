/* SPDX-License-Identifier: BSD-3-Clause */
/* The CPU engine "timer": one POSIX timer per thread, on that thread's CPU clock.
 *
 * The timers are raw kernel timers (SYS_timer_create): they take SIGEV_THREAD_ID and a CPU clock of
 * any thread of the process, also of one that existed before the profiler or was made by a raw
 * clone. They are not kept over fork or exec. Called by cpu.c, under its lock.
 */
#ifndef CP_CPU_TIMER_H
#define CP_CPU_TIMER_H

#include <stdint.h>

#include "sample/thread.h"

/* Draw a random phase. Call before the first timer of a run, with the period set. */
void cp_cpu_timer_prepare(void);
/* The period of cp_cpu_state has changed. No timer runs. */
void cp_cpu_timer_period_changed(void);
/* Advance the phase before a fork, so that children are spread as threads are. */
void cp_cpu_timer_fork_begin(void);
/* Return the time until a thread's first expiry, in ns: in (0, period]. */
uint64_t cp_cpu_timer_first(void);
/* Return the most expiries that a thread may be credited with at its begin (cpu_edges.h), unless
 * others have missed more. */
int64_t cp_cpu_timer_credit(void);
/* Create and start T's timer. Returns 0 or a negative errno; -ESRCH if T has just ended. */
int cp_cpu_timer_create(struct cp_thread *t);
/* The same in the middle of T's life: T gets no credit for its begin, but keeps one that it had, in
 * periods of BEFORE ns. */
int cp_cpu_timer_again(struct cp_thread *t, uint64_t before);
/* Delete T's timer, if any. */
void cp_cpu_timer_delete(struct cp_thread *t);
/* Return the number of expiries after T's last kernel tick. Call at T's end, with its CPU clock
 * NOW. 0 without a timer. */
uint64_t cp_cpu_timer_missed(struct cp_thread *t, uint64_t now);

#endif
