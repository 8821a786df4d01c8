/* The CPU engine "timer": a POSIX timer a thread on that thread's CPU clock.
 *
 * Raw kernel timers (SYS_timer_create): SIGEV_THREAD_ID and a CPU clock of any thread of the
 * process, existing before us or made by a raw clone. They are not kept over fork or exec. Called
 * by cpu.c, under its lock.
 */
#ifndef CP_CPU_TIMER_H
#define CP_CPU_TIMER_H

#include <stdint.h>

#include "sigsafe/thread.h"

/* Before the first timer of a run, with the period set: a random phase. */
void cp_cpu_timer_prepare(void);
/* Before a fork: children are spread as threads are. */
void cp_cpu_timer_fork_begin(void);
/* When a thread's first expiry is due: in (0, period]. */
uint64_t cp_cpu_timer_first(void);
/* T's timer, running. 0 or a negative errno; -ESRCH: T has just ended. */
int cp_cpu_timer_create(struct cp_thread *t);
/* Fine for a thread that has none. */
void cp_cpu_timer_delete(struct cp_thread *t);
/* Expiries that came due after T's last kernel tick, at its end. 0 without a timer. */
uint64_t cp_cpu_timer_missed(struct cp_thread *t);

#endif
