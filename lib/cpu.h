/* The control half of the CPU source: a clock a thread that counts the CPU time of that thread and
 * delivers SIGPROF to it.
 *
 * What clock, is the engine: cpu_timer.h, cpu_perf.h, cpu_itimer.h. None is kept over fork or exec
 * (the last is paused). Every function may be called from any ordinary or collector context.
 */
#ifndef CP_CPU_H
#define CP_CPU_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "sigsafe/thread.h"

/* What the started source is. */
struct cp_cpu {
	unsigned frequency;	      /* Hz asked for */
	uint64_t period_ns;	      /* between expiries, CPU time of the thread */
	enum cp_engine_choice engine; /* in force, so not AUTO */
	const char *why;	      /* and not another */
};
extern struct cp_cpu cp_cpu;

/* SIGPROF's handler, for this mode and the wall clock. 0 or a negative errno. */
int cp_cpu_install_handler(void);
/* The kernel has it still. Any context. */
bool cp_cpu_has_handler(void);
/* The engine in force, in words. */
const char *cp_cpu_engine_name(void);
/* The handler, and clocks for every registered thread. 0 or a negative errno. */
int cp_cpu_start(unsigned frequency, enum cp_engine_choice engine);
/* Delete all clocks. The handler stays, inert: a late signal must not kill. */
void cp_cpu_stop(void);
/* Say how many threads have SIGPROF blocked. Right after a start, before the program goes on:
 * later, a handler's mask would look the same. Ordinary context. */
void cp_cpu_say_blocking(void);
/* Say so, once, when the program has put another handler in SIGPROF's place behind libc's back: a
 * Go runtime does. Samples end then. Now and then, on the collector's thread. */
void cp_cpu_check_handler(void);
/* A registered thread begins or ends (on that thread, or by the sweep). */
void cp_cpu_thread_begin(struct cp_thread *t);
void cp_cpu_thread_end(struct cp_thread *t);
/* No clock exists in a fork child: forget them, and start anew for T if running. */
void cp_cpu_fork_child(struct cp_thread *t);
/* Around exec in this process: ITIMER_PROF would survive it, and a hit on the way there of this
 * thread's perf event. Either would kill the new program. */
void cp_cpu_exec_begin(void);
void cp_cpu_exec_failed(void);

/* The program asks about ITIMER_PROF (WANTED: sets it). true: it is ours, or was until now, when
 * it is given up; to the program it is not armed. */
bool cp_cpu_yield_process_timer(bool wanted);

#endif
