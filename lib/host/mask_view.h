/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal masks: SIGPROF stays deliverable whatever the program blocks, and the program reads back
 * the mask that it set.
 *
 * Threads that block all signals are common (workers of a server with a signal thread). They are
 * sampled too.
 */
#ifndef CP_MASK_VIEW_H
#define CP_MASK_VIEW_H

#include <signal.h>
#include <time.h>

/* sigprocmask and pthread_sigmask on the program's view of the mask. Return 0, or -1 with errno.
 * Async-signal-safe. */
int cp_mask_view_change(int how, const sigset_t *set, sigset_t *old);

/* sigsuspend */
int cp_mask_view_suspend(const sigset_t *mask);

/* sigpending, including a deferred SIGPROF. */
int cp_mask_view_pending(sigset_t *set);

/* sigtimedwait; with TIMEOUT NULL, sigwaitinfo. Never returns the signal of one of the profiler's
 * timers. Returns EINTR only if a handler of the program may have run. */
int cp_mask_view_wait(const sigset_t *set, siginfo_t *si, const struct timespec *timeout);

#endif
