/* Signals to a thread: a SIGPROF to the calling one goes by send.h. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "interpose.h"
#include "real.h"
#include "send.h"
#include "sigsafe/sys.h"

static bool killed(int sig)
{
	return sig == SIGPROF && cp_send_to_self(SI_TKILL, (union sigval){ .sival_ptr = NULL });
}

INTERPOSE int raise(int sig)
{
	return killed(sig) ? 0 : CP_REAL(raise)(sig);
}

INTERPOSE int gsignal(int sig)
{
	return killed(sig) ? 0 : CP_REAL(raise)(sig);
}

/* libc's only since 2.30. */
INTERPOSE int tgkill(pid_t pid, pid_t tid, int sig);
INTERPOSE int tgkill(pid_t pid, pid_t tid, int sig)
{
	long r;

	if (cp_send_tgkill(pid, tid, sig))
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
	    cp_send_to_self(SI_QUEUE, value))
		return 0;
	return CP_REAL(pthread_sigqueue)(thread, sig, value);
}

/* To a thread that has ended, and was not joined, those versions that older programs are linked
 * with say ESRCH: they stay libc's. A hidden version is what no program is linked with by -lcprof.
 */
#ifdef __GLIBC__
#if __GLIBC_PREREQ(2, 34)
#define AS_OF_2_34 "pthread_kill@GLIBC_2.34"
#if __has_attribute(symver)
#define SYMVER __attribute__((symver(AS_OF_2_34)))
#else
#define SYMVER
__asm__(".symver pthread_kill_of_2_34, " AS_OF_2_34);
#endif

INTERPOSE int pthread_kill_of_2_34(pthread_t thread, int sig);
SYMVER INTERPOSE int pthread_kill_of_2_34(pthread_t thread, int sig)
{
	if (pthread_equal(thread, pthread_self()) && killed(sig))
		return 0;
	return CP_REAL(pthread_kill)(thread, sig);
}
#endif
#endif
