/* SPDX-License-Identifier: BSD-3-Clause */
/* Signals: dispositions, sending, masks. The sigaction family sees the program's own handlers,
 * never the profiler's (host.h).
 */
#include <errno.h>
#include <string.h>

#include "base/libc.h"
#include "hooks/hooks.h"
#include "host/host.h"
#include "host/real.h"

/* Signals that siginterrupt made interrupting; for them signal() omits SA_RESTART. */
static uint64_t interrupting;

INTERPOSE int sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	return cp_signals_sigaction(sig, act, old);
}

static sighandler_t install(int sig, sighandler_t handler, int flags)
{
	struct sigaction act, old;

	if (handler == SIG_ERR || sig < 1 || sig > 64) {
		errno = EINVAL;
		return SIG_ERR;
	}
	memset(&act, 0, sizeof(act));
	act.sa_handler = handler;
	act.sa_flags = flags;
	if (CP_LIBC_SIGNAL_IS_BSD && !(flags & SA_NODEFER))
		sigaddset(&act.sa_mask, sig);
	return cp_signals_sigaction(sig, &act, &old) < 0 ? SIG_ERR : old.sa_handler;
}

static sighandler_t bsd(int sig, sighandler_t handler)
{
	bool interrupts =
		CP_LIBC_SIGNAL_IS_BSD && sig > 0 && sig < 65 && (interrupting & CP_SIGBIT(sig));

	return install(sig, handler, interrupts ? 0 : SA_RESTART);
}

INTERPOSE sighandler_t signal(int sig, sighandler_t handler)
{
	return bsd(sig, handler);
}

INTERPOSE sighandler_t bsd_signal(int sig, sighandler_t handler);
INTERPOSE sighandler_t bsd_signal(int sig, sighandler_t handler)
{
	return bsd(sig, handler);
}

INTERPOSE sighandler_t ssignal(int sig, sighandler_t handler)
{
	return bsd(sig, handler);
}

INTERPOSE sighandler_t __sysv_signal(int sig, sighandler_t handler)
{
	if (!CP_LIBC_SIGNAL_IS_BSD)
		return bsd(sig, handler);
	return install(sig, handler, SA_RESETHAND | SA_NODEFER | SA_INTERRUPT);
}

INTERPOSE sighandler_t sysv_signal(int sig, sighandler_t handler)
{
	return install(sig, handler, SA_RESETHAND | SA_NODEFER | SA_INTERRUPT);
}

INTERPOSE int siginterrupt(int sig, int interrupt)
{
	struct sigaction act;

	if (cp_signals_sigaction(sig, NULL, &act) < 0)
		return -1;
	if (interrupt) {
		interrupting |= CP_SIGBIT(sig);
		act.sa_flags &= ~SA_RESTART;
	} else {
		interrupting &= ~CP_SIGBIT(sig);
		act.sa_flags |= SA_RESTART;
	}
	return cp_signals_sigaction(sig, &act, NULL);
}

INTERPOSE int sigignore(int sig)
{
	struct sigaction act;

	memset(&act, 0, sizeof(act));
	act.sa_handler = SIG_IGN;
	return cp_signals_sigaction(sig, &act, NULL);
}

/* System V's sigset: SIG_HOLD only blocks; any other handler is installed and the signal unblocked.
 * Returns SIG_HOLD if the signal was blocked, otherwise the old disposition. */
INTERPOSE sighandler_t sigset(int sig, sighandler_t handler)
{
	struct sigaction act, old;
	sigset_t set, before;

	sigemptyset(&set);
	if (sigaddset(&set, sig) < 0)
		return SIG_ERR;
	if (handler == SIG_HOLD) {
		if (cp_mask_view_change(SIG_BLOCK, &set, &before) < 0)
			return SIG_ERR;
		if (sigismember(&before, sig))
			return SIG_HOLD;
		return cp_signals_sigaction(sig, NULL, &old) < 0 ? SIG_ERR : old.sa_handler;
	}
	memset(&act, 0, sizeof(act));
	act.sa_handler = handler;
	if (cp_signals_sigaction(sig, &act, &old) < 0 ||
	    cp_mask_view_change(SIG_UNBLOCK, &set, &before) < 0)
		return SIG_ERR;
	return sigismember(&before, sig) ? SIG_HOLD : old.sa_handler;
}

static int result_of(long r)
{
	if (r >= 0)
		return 0;
	errno = (int)-r;
	return -1;
}

int cp_signal_altstack(const stack_t *ss, stack_t *old)
{
	return result_of(cp_signals_sigaltstack(ss, old));
}

INTERPOSE int sigaltstack(const stack_t *restrict ss, stack_t *restrict old)
{
	int refused = cp_libc_refuses_altstack(ss);

	return refused ? result_of(-refused) : cp_signal_altstack(ss, old);
}

/* Signals to a thread. A SIGPROF to the calling thread goes through host/send_self.c. */

static bool killed(int sig)
{
	return sig == SIGPROF && cp_send_self_prof(SI_TKILL, (union sigval){ .sival_ptr = NULL });
}

INTERPOSE int raise(int sig)
{
	return killed(sig) ? 0 : CP_REAL(raise)(sig);
}

INTERPOSE int gsignal(int sig)
{
	return killed(sig) ? 0 : CP_REAL(raise)(sig);
}

/* libc has tgkill only since 2.30. */
INTERPOSE int tgkill(pid_t pid, pid_t tid, int sig);
INTERPOSE int tgkill(pid_t pid, pid_t tid, int sig)
{
	long r;

	if (cp_send_self_if_prof(pid, tid, sig))
		return 0;
	r = cp_sys3(SYS_tgkill, pid, tid, sig);
	if (r >= 0)
		return 0;
	errno = (int)-r;
	return -1;
}

INTERPOSE int pthread_sigqueue(pthread_t thread, int sig, const union sigval value)
{
	if (sig == SIGPROF && pthread_equal(thread, pthread_self()) &&
	    cp_send_self_prof(SI_QUEUE, value))
		return 0;
	return CP_REAL(pthread_sigqueue)(thread, sig, value);
}

/* libc has two: the one that programs were linked with before glibc 2.34 returns ESRCH for a thread
 * that has ended and was not joined. Both versions are hidden here, so no program is linked with
 * them by -lcprof. They are there whatever libc the library is built with. */
static bool killed_self(pthread_t thread, int sig)
{
	return pthread_equal(thread, pthread_self()) && killed(sig);
}

CP_LIBC_SYMVER(pthread_kill_before_2_34, "pthread_kill@" CP_LIBC_OLDEST)
INTERPOSE int pthread_kill_before_2_34(pthread_t thread, int sig)
{
	return killed_self(thread, sig) ? 0 : CP_REAL(pthread_kill_before_2_34)(thread, sig);
}

CP_LIBC_SYMVER(pthread_kill_of_2_34, "pthread_kill@GLIBC_2.34")
INTERPOSE int pthread_kill_of_2_34(pthread_t thread, int sig)
{
	return killed_self(thread, sig) ? 0 : CP_REAL(pthread_kill)(thread, sig);
}

/* Signal masks, and waits for signals. */

INTERPOSE int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	return cp_mask_view_change(how, set, old);
}

INTERPOSE int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	return cp_mask_view_change_thread(how, set, old);
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
	/* libc's function also sets errno. */
	if (got < 0)
		return CP_LIBC_SIGWAIT_ERROR;
	give(sig, got);
	errno = saved;
	return 0;
}
