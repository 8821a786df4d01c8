/* SPDX-License-Identifier: BSD-3-Clause */
/* Signals to a thread. A SIGPROF to the calling thread goes through host/send_self.c. */
#include <errno.h>

#include "hooks/hooks.h"
#include "host/host.h"
#include "host/real.h"

static bool killed(int sig)
{
	return sig == SIGPROF &&
	       cp_send_self_self_signal(SI_TKILL, (union sigval){ .sival_ptr = NULL });
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

	if (cp_send_self_tgkill(pid, tid, sig))
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
	    cp_send_self_self_signal(SI_QUEUE, value))
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
