/* Timers on the CPU clock of one thread, as the kernel makes them for any thread of the process. */
#ifndef CP_THREAD_TIMER_H
#define CP_THREAD_TIMER_H

#include <stdint.h>

#include "sigsafe/thread.h"

/* A timer on T's clock, not armed, that sends T itself SIGPROF with TAG and T's index as its value.
 * Its id, or a negative errno: -ESRCH when the thread has ended. Any context. */
int cp_thread_timer_create(const struct cp_thread *t, uint64_t tag);
/* How often the kernel looks at timers on CPU clocks. Any context. */
uint64_t cp_thread_timer_tick_ns(void);
/* What follows ERR in a line about a timer that can't be had; may be empty. */
const char *cp_thread_timer_advice(int err);

#endif
