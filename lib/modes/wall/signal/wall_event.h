/* SPDX-License-Identifier: BSD-3-Clause */
/* The event half of the wall clock: the stack of a running thread.
 *
 * The signal comes from a timer on the thread's own CPU clock. The kernel checks the timer only
 * while the thread runs, and delivers the signal on the way back to the program. A signal sent by
 * another thread could instead find this thread blocked a moment later, and its call would fail
 * with EINTR.
 */
#ifndef CP_WALL_EVENT_H
#define CP_WALL_EVENT_H

#include <stdint.h>

#include "base/atomic.h"
#include "host/signal/sigprof.h"

extern uint32_t cp_wall_running; /* samples are taken */

extern uint32_t cp_wall_ended; /* threads have ended: the pacer wants a drain */

static inline void cp_wall_thread_ended(void)
{
	cp_store_release(&cp_wall_ended, 1);
}

/* The wall mode's row in the table of the sources of SIGPROF. */
extern const struct cp_sigprof_source cp_wall_event_source;

#endif
