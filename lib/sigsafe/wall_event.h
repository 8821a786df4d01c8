/* The event half of the wall clock: the stack of a running thread.
 *
 * The signal comes from a timer on the thread's own CPU clock, which the kernel looks at only while
 * the thread runs, and delivers on its way back to the program. A signal sent by another thread
 * could find this one blocked a moment later, and its call would fail with EINTR.
 */
#ifndef CP_WALL_EVENT_H
#define CP_WALL_EVENT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "sigsafe/atomic.h"

/* Above the index of the thread's record in the timer's value, as CP_CPU_TAG. */
#define CP_WALL_TAG UINT64_C(0x6370776c6c000000) /* "cpwll" */

extern uint32_t cp_wall_running; /* samples are taken */

extern uint32_t cp_wall_ended; /* threads have: the pacer wants a drain */

static inline void cp_wall_thread_ended(void)
{
	cp_store_release(&cp_wall_ended, 1);
}

/* Take SIGPROF if it is the wall clock's. In the handler. */
bool cp_wall_event(const siginfo_t *si, const ucontext_t *uc);

#endif
