/* SPDX-License-Identifier: BSD-3-Clause */
/* Interrupted calls that the profiler's handlers would restart although the program's handlers must
 * end them.
 *
 * When two signals arrive at once, only the first one delivered decides whether the interrupted
 * call restarts. A signal sent to the thread, as the profiler's are, is delivered first. The
 * profiler's handlers have SA_RESTART, so the program's handler would run and its call would go on,
 * forever if the alarm was meant to end the call. The kernel also does not know the flags of a
 * handler of the program that the profiler calls. So the profiler's handlers treat the call as the
 * kernel would have.
 *
 * Async-signal-safe; for handlers that run with all signals blocked.
 */
#ifndef CP_RESTART_H
#define CP_RESTART_H

#include <ucontext.h>

/* Call before a handler of the profiler returns to UC. If it would restart a call, and a pending
 * signal that will be delivered there has a handler without SA_RESTART, the call ends with EINTR.
 */
void cp_restart_check(ucontext_t *uc);

/* End the interrupted call at UC: a handler of the program without SA_RESTART was called for the
 * signal. */
void cp_restart_end(ucontext_t *uc);

#endif
