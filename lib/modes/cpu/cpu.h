/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of lib/modes/cpu/, by the file that implements them. */
#ifndef CP_MODES_CPU_CPU_H
#define CP_MODES_CPU_CPU_H

#include <signal.h>

#include "sample/thread.h"

/* cpu_mode.c
 *
 * The CPU mode's settings.
 */

enum cp_engine_choice { CP_ENGINE_AUTO, CP_ENGINE_TIMER, CP_ENGINE_PERF };

struct cp_cpu_settings {
	unsigned frequency;	      /* CPUPROFILE_FREQUENCY, Hz, 1-10000 */
	enum cp_engine_choice engine; /* CPROF_CPU_ENGINE */
};

struct cp_config_mode;

/* The table: variables, options, defaults. */
extern const struct cp_config_mode cp_cpu_settings;

/* cpu.c
 *
 * The control half of the CPU source: one clock per thread, which counts the thread's CPU time and
 * sends it SIGPROF.
 *
 * The engine determines the clock: cpu_timer.c, cpu.c. A thread without a clock is not
 * sampled, and counted. No clock is kept over fork or exec. Every function may be called from any
 * ordinary or collector context.
 */

/* The source's state since its start. */
struct cp_cpu {
	unsigned frequency;	      /* Hz asked for */
	uint64_t period_ns;	      /* CPU time of a thread between two expiries */
	enum cp_engine_choice engine; /* the engine in use, never AUTO */
	const char *why;	      /* why this engine and not another */
	bool started;		      /* set until the stop, also while the period changes */
};
extern struct cp_cpu cp_cpu;

/* Return the name of the engine in force, in words. */
const char *cp_cpu_engine_name(void);
/* Install the handler and create clocks for all registered threads. Returns 0 or a negative errno.
 */
int cp_cpu_start(unsigned frequency, enum cp_engine_choice engine);
/* Go on with clocks of another FREQUENCY. A thread's first expiry of the new period is at a random
 * moment of it, as at a start, so no moment has more or fewer samples for the change. */
void cp_cpu_set_frequency(unsigned frequency);
/* Delete all clocks. The handler stays and does nothing: a late signal must not end the process. */
void cp_cpu_stop(void);
/* Look at the CPU clocks of all threads. Tell how long threads run at a time (collect/collect.h),
 * and count what threads used after the kernel's last tick, and after their end was told: that part
 * of CPU_NS, the ns of the program's CPU time since the start, which is no thread's. In the
 * collector. */
void cp_cpu_settle(uint64_t cpu_ns);
/* Return the expiries that T has used by the last settle and no sample counts; they are T's last
 * stack's. Mostly 0. In the collector. */
uint64_t cp_cpu_take_owed(struct cp_thread *t);
/* Begin or end the clock of a registered thread. Call on that thread or in the sweep. */
void cp_cpu_thread_begin(struct cp_thread *t);
void cp_cpu_thread_end(struct cp_thread *t);
/* Begin the clock of thread T, the calling one, again after cp_cpu_thread_end. */
void cp_cpu_thread_again(struct cp_thread *t);
/* Free the lock of the clocks in a fork child, where whoever held it is not. */
void cp_cpu_fork_locks(void);
/* Forget all clocks in a fork child, where none exist, and start anew for T if the source runs. */
void cp_cpu_fork_child(struct cp_thread *t);
/* Call around exec in this process. A pending signal of this thread's perf event would survive exec
 * and kill the new program. With DUMPS, for a dump by this thread, nothing is suspended. */
void cp_cpu_suspend(bool dumps);
void cp_cpu_resume(void);

/* cpu_timer.c
 *
 * The CPU engine "timer": one POSIX timer per thread, on that thread's CPU clock.
 *
 * The timers are raw kernel timers (SYS_timer_create): they take SIGEV_THREAD_ID and a CPU clock of
 * any thread of the process, also of one that existed before the profiler or was made by a raw
 * clone. They are not kept over fork or exec. Called by cpu.c, under its lock.
 */

/* Draw a random phase. Call before the first timer of a run, with the period set. */
void cp_cpu_timer_prepare(void);
/* The period of cp_cpu_state has changed. No timer runs. */
void cp_cpu_timer_period_changed(void);
/* Advance the phase before a fork, so that children are spread as threads are. */
void cp_cpu_timer_fork_begin(void);
/* Return the time until a thread's first expiry, in ns: in (0, period]. */
uint64_t cp_cpu_timer_first(void);
/* Return the most expiries that a thread may be credited with at its begin (cpu_signal.h), unless
 * others have missed more. */
int64_t cp_cpu_timer_credit(void);
/* Create and start T's timer, which counts what T uses from its CPU clock FROM on. With BEFORE, the
 * period in ns of the timer that T had until now, T gets no credit for its begin, but keeps one
 * that it had; 0: T had no timer. Returns 0 or a negative errno; -ESRCH if T has just ended. */
int cp_cpu_timer_create(struct cp_thread *t, uint64_t from, uint64_t before);
/* Delete T's timer, if any. */
void cp_cpu_timer_delete(struct cp_thread *t);
/* Return the expiries after T's last kernel tick, until its CPU clock NOW, that are not told yet. 0
 * without a timer. */
uint64_t cp_cpu_timer_missed(const struct cp_thread *t, uint64_t now);
/* Return how many periods N of T's expiries are, rounded at random so that sums are true. */
uint64_t cp_cpu_timer_in_periods(const struct cp_thread *t, uint64_t n, uint64_t now);
/* Return the most that these usually are: a few ticks. */
uint64_t cp_cpu_timer_usually_missed(void);

#endif
