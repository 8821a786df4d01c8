/* SPDX-License-Identifier: BSD-3-Clause */
/* The CPU engine "perf": one perf event per thread, which samples that thread's task clock.
 *
 * The kernel looks at timers only at its tick. A perf event instead samples at any rate, sees what
 * happens between two ticks, and adds the kernel's part of the stack. It has its price, so it is
 * used only where it is asked for: each switch between threads costs about 2 us more; a sample
 * taken in the kernel makes a waiting call return EINTR, as any signal does; and the first event of
 * the machine takes 10 ms to set up.
 *
 * Only threads made by libc have an event: the signal names no thread record, so the handler needs
 * the thread's own TLS. Called by cpu.c, under its lock.
 */
#ifndef CP_CPU_PERF_H
#define CP_CPU_PERF_H

#include <stdbool.h>

#include "sample/thread.h"

/* Return the reason, a static text, why no event can count kernel time, too; NULL if one can. */
const char *cp_cpu_perf_refusal(void);
/* Create and start T's event. Returns 0 or a negative errno. */
int cp_cpu_perf_create(struct cp_thread *t);
/* Delete T's event, if any. T must be the calling thread, or the source must have stopped. */
void cp_cpu_perf_delete(struct cp_thread *t);
/* Return true if T has an event. */
bool cp_cpu_perf_has(const struct cp_thread *t);

#endif
