/* Signal masks: SIGPROF stays deliverable whatever the program blocks, and the program reads
 * back the mask that it set.
 *
 * Threads that block everything are common (workers of a server with a signal thread); they
 * are to be sampled too.
 */
#ifndef CP_MASK_H
#define CP_MASK_H

#include <signal.h>
#include <time.h>

/* sigprocmask/pthread_sigmask as the program means it. 0, or -1 with errno. Async-signal-safe. */
int cp_mask_change(int how, const sigset_t *set, sigset_t *old);

/* sigsuspend */
int cp_mask_suspend(const sigset_t *mask);

/* sigpending with what we hold back. */
int cp_mask_pending(sigset_t *set);

/* sigtimedwait (TIMEOUT NULL: sigwaitinfo): one of our own timer's signals is never returned, and
 * EINTR only where a handler of the program's may have run. */
int cp_mask_wait(const sigset_t *set, siginfo_t *si, const struct timespec *timeout);

#endif
