/* The CPU engine "itimer", and the last resort of the others: one ITIMER_PROF for the process,
 * sampling the threads that have no clock of their own.
 *
 * It survives exec, and would kill the new program: it is paused around one. Called by cpu.c,
 * under its lock.
 */
#ifndef CP_CPU_ITIMER_H
#define CP_CPU_ITIMER_H

#include <stdbool.h>

/* Before a run. */
void cp_cpu_itimer_prepare(void);
/* Run it, unless it does or the program has it: that is said once. */
void cp_cpu_itimer_use(void);
void cp_cpu_itimer_stop(void);
void cp_cpu_itimer_pause(void);
void cp_cpu_itimer_resume(void);
/* As cp_cpu_yield_process_timer. */
bool cp_cpu_itimer_yield(bool wanted);

#endif
