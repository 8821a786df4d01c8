/* The CPU engine "perf": a perf event a thread, which samples that thread's task clock.
 *
 * Unlike timers, which the kernel looks at only at its tick, it samples at any rate, sees what
 * happens between two ticks, and adds the kernel's part of the stack. It has its price, so it is
 * used only where it is asked for: each switch between threads costs about 2 us more, a sample
 * taken in the kernel makes a call that waits return EINTR as any signal does, and the first
 * event of the machine takes 10 ms to set up.
 *
 * Only threads of libc's making have one: the signal names no thread record, so the handler needs a
 * TLS of its own. Called by cpu.c, under its lock.
 */
#ifndef CP_CPU_PERF_H
#define CP_CPU_PERF_H

#include <stdbool.h>

#include "sigsafe/thread.h"

/* Why there can be no event that counts kernel time, too; NULL: there can. Static text. */
const char *cp_cpu_perf_refusal(void);
/* T's event, running. 0 or a negative errno. */
int cp_cpu_perf_create(struct cp_thread *t);
/* Fine for a thread that has none. T is the calling thread, or the source doesn't run any more. */
void cp_cpu_perf_delete(struct cp_thread *t);
/* Whether T has one. */
bool cp_cpu_perf_has(const struct cp_thread *t);

#endif
