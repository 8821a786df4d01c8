/* SPDX-License-Identifier: BSD-3-Clause */
/* The control half of the CPU source: one clock per thread, which counts the thread's CPU time and
 * sends it SIGPROF.
 *
 * The engine determines the clock: cpu_timer.h, cpu_perf.h. A thread without a clock is not
 * sampled, and counted. No clock is kept over fork or exec. Every function may be called from any
 * ordinary or collector context.
 */
#ifndef CP_CPU_H
#define CP_CPU_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "modes/cpu/cpu_settings.h"
#include "sample/thread.h"

/* The started source. */
struct cp_cpu {
	unsigned frequency;	      /* Hz asked for */
	uint64_t period_ns;	      /* between expiries, CPU time of the thread */
	enum cp_engine_choice engine; /* in force, so not AUTO */
	const char *why;	      /* why this engine and not another */
	bool started;		      /* until the stop, also while the period changes */
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
/* Delete all clocks. The handler stays, inert: a late signal must not kill. */
void cp_cpu_stop(void);
/* Tell how long threads run at a time (collect/bursts.h). */
void cp_cpu_tell_bursts(void);
/* Note how many threads have SIGPROF blocked. Call right after a start, before the program goes on;
 * later, a handler's mask would look the same. Ordinary context. */
void cp_cpu_note_blocking(void);
/* Begin or end the clock of a registered thread. Call on that thread or in the sweep. */
void cp_cpu_thread_begin(struct cp_thread *t);
void cp_cpu_thread_end(struct cp_thread *t);
/* Forget all clocks in a fork child, where none exist, and start anew for T if the source runs. */
void cp_cpu_fork_child(struct cp_thread *t);
/* Call around exec in this process. A pending signal of this thread's perf event would survive exec
 * and kill the new program. */
void cp_cpu_exec_begin(void);
void cp_cpu_exec_failed(void);

#endif
