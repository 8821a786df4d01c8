/* SPDX-License-Identifier: BSD-3-Clause */
/* The CPU engine "itimer", and the last resort of the others: one ITIMER_PROF for the process,
 * which samples the threads that have no clock of their own.
 *
 * ITIMER_PROF survives exec and would kill the new program, so it is paused around exec. Called by
 * cpu.c, under its lock.
 */
#ifndef CP_CPU_ITIMER_H
#define CP_CPU_ITIMER_H

#include <stdbool.h>
#include <stdint.h>

/* Call before a run. ASKED: the user asked for this engine. */
void cp_cpu_itimer_prepare(bool asked);
/* Run the timer, unless it runs already or the program has it. In the latter case, report that if
 * the user asked for this engine, otherwise note it. */
void cp_cpu_itimer_use(void);
/* The period of cp_cpu_state, which was FROM ns, has changed: go on with the new one, if the timer
 * is the profiler's. The time since the last hit is counted with the next one. */
void cp_cpu_itimer_period_changed(uint64_t from);
void cp_cpu_itimer_stop(void);
void cp_cpu_itimer_pause(void);
void cp_cpu_itimer_resume(void);
/* Same as cp_cpu_yield_process_timer. */
bool cp_cpu_itimer_yield(bool wanted);

#endif
