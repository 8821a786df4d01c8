/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal masks and waits for signals; see lib/host/host.h. */
#include <errno.h>
#include <string.h>

#include "host/host.h"
#include "host/real.h"

INTERPOSE int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	return cp_mask_view_change(how, set, old);
}

INTERPOSE int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	int saved = errno, err = 0;

	/* pthread_sigmask returns its error instead of setting errno. */
	if (cp_mask_view_change(how, set, old) < 0)
		err = errno;
	errno = saved;
	return err;
}

INTERPOSE int sigpending(sigset_t *set)
{
	return cp_mask_view_pending(set);
}

INTERPOSE int sigsuspend(const sigset_t *mask)
{
	return cp_mask_view_suspend(mask);
}

static int hold(int how, int sig)
{
	sigset_t set;

	sigemptyset(&set);
	if (sigaddset(&set, sig) < 0)
		return -1;
	return cp_mask_view_change(how, &set, NULL);
}

INTERPOSE int sighold(int sig)
{
	return hold(SIG_BLOCK, sig);
}

INTERPOSE int sigrelse(int sig)
{
	return hold(SIG_UNBLOCK, sig);
}

/* BSD's functions have masks of 32 signals. */
static int change32(int how, int mask)
{
	sigset_t set, old;
	unsigned bits = (unsigned)mask, before = 0;

	sigemptyset(&set);
	for (int sig = 1; sig <= 32; sig++)
		if (bits & 1u << (sig - 1))
			sigaddset(&set, sig);
	if (cp_mask_view_change(how, &set, &old) < 0)
		return -1;
	for (int sig = 1; sig <= 32; sig++)
		if (sigismember(&old, sig) == 1)
			before |= 1u << (sig - 1);
	return (int)before;
}

INTERPOSE int sigblock(int mask)
{
	return change32(SIG_BLOCK, mask);
}

INTERPOSE int sigsetmask(int mask)
{
	return change32(SIG_SETMASK, mask);
}

INTERPOSE int sigtimedwait(const sigset_t *set, siginfo_t *si, const struct timespec *timeout)
{
	return cp_mask_view_wait(set, si, timeout);
}

INTERPOSE int sigwaitinfo(const sigset_t *set, siginfo_t *si)
{
	return cp_mask_view_wait(set, si, NULL);
}

/* Not inlined: a write to a bad address, through the register of the frame, would be a SIGBUS. */
__attribute__((noinline)) static void give(int *to, int sig)
{
	*to = sig;
}

INTERPOSE int sigwait(const sigset_t *set, int *sig)
{
	int saved = errno, got;

	if (!cp_profiled_is_ours())
		return CP_REAL(sigwait)(set, sig);
	do
		got = cp_mask_view_wait(set, NULL, NULL);
	while (got < 0 && errno == EINTR);
	/* libc's function returns the error and also sets errno. */
	if (got < 0)
		return errno;
	give(sig, got);
	errno = saved;
	return 0;
}
