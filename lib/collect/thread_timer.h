/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernel timers on the CPU clock of one thread; the kernel makes them for any thread of the
 * process.
 */
#ifndef CP_THREAD_TIMER_H
#define CP_THREAD_TIMER_H

#include <stdint.h>

#include "sample/mode.h"
#include "sample/thread.h"

/* Create a timer on T's clock, not armed, that sends SIGPROF to T for MODE (host/signal/sigprof.h).
 * Returns its id, or a negative errno: -ESRCH when the thread has ended. Any context. */
int cp_thread_timer_create(const struct cp_thread *t, enum cprof_mode mode);
/* Return the interval, in ns, at which the kernel checks timers on CPU clocks. Any context. */
uint64_t cp_thread_timer_tick_ns(void);
/* Return the advice to print after ERR in a message that a timer can't be had; may be empty. */
const char *cp_thread_timer_advice(int err);

#endif
