/* What is written before a signal ends the process; see fatal.h. */
#include "fatal.h"

#include <errno.h>
#include <stdbool.h>

#include "real.h"
#include "session.h"
#include "sigsafe/disposition.h"
#include "sigsafe/sys.h"

#define DUMPS_CORE                                                                                 \
	(CP_SIGBIT(SIGQUIT) | CP_SIGBIT(SIGILL) | CP_SIGBIT(SIGTRAP) | CP_SIGBIT(SIGABRT) |        \
	 CP_SIGBIT(SIGBUS) | CP_SIGBIT(SIGFPE) | CP_SIGBIT(SIGSEGV) | CP_SIGBIT(SIGXCPU) |         \
	 CP_SIGBIT(SIGXFSZ) | CP_SIGBIT(SIGSYS))
/* Default action "terminate" (signal(7)); the real-time signals follow. */
#define TERMINATES                                                                                 \
	(CP_SIGBIT(SIGHUP) | CP_SIGBIT(SIGINT) | CP_SIGBIT(SIGUSR1) | CP_SIGBIT(SIGUSR2) |         \
	 CP_SIGBIT(SIGPIPE) | CP_SIGBIT(SIGALRM) | CP_SIGBIT(SIGTERM) | CP_SIGBIT(SIGSTKFLT) |     \
	 CP_SIGBIT(SIGVTALRM) | CP_SIGBIT(SIGIO) | CP_SIGBIT(SIGPWR))
#define FAULTS (CP_SIGBIT(SIGSEGV) | CP_SIGBIT(SIGBUS) | CP_SIGBIT(SIGFPE) | CP_SIGBIT(SIGILL))

/* The first process of a pid namespace lives through what it has no handler for, and its system
 * calls go on: of ours it would not. Only what the kernel forces on a thread ends it. A fault has
 * our handler, because it happens again; a breakpoint or a forbidden call has none: what we would
 * send in its place ends nothing. */
uint64_t cp_fatal_signals(int pid)
{
	uint64_t signals = DUMPS_CORE | TERMINATES;

	if (pid == 1)
		return FAULTS;
	for (int sig = SIGRTMIN; sig <= SIGRTMAX; sig++)
		signals |= CP_SIGBIT(sig);
	return signals;
}

/* A real one, which nobody has sent, does when the handler returns. */
static bool happens_again(int sig, const siginfo_t *si)
{
	return (FAULTS & CP_SIGBIT(sig)) && si->si_code > 0;
}

/* Returns as cp_fatal_handler does: true to let a fault happen again. */
static bool die(int sig, siginfo_t *si)
{
	struct sigaction standard = { .sa_handler = SIG_DFL }, before;
	uint64_t bit = CP_SIGBIT(sig);

	CP_REAL(sigaction)(sig, &standard, &before);
	/* The core then shows it as it was. */
	if (happens_again(sig, si))
		return true;
	cp_sys4(SYS_rt_tgsigqueueinfo, cp_sys_getpid(), cp_sys_gettid(), sig, si);
	cp_sys_sigmask(SIG_UNBLOCK, &bit, NULL);
	/* Still here: another thread has just changed what the signal does. */
	cp_sys_sigmask(SIG_BLOCK, &bit, NULL);
	CP_REAL(sigaction)(sig, &before, NULL);
	return false;
}

void cp_fatal_handler(int sig, siginfo_t *si, void *context)
{
	bool ours = cp_session_is_ours();
	int saved = errno;

	if (cp_sys_getpid() == 1 && !happens_again(sig, si))
		return;
	if (ours)
		cp_session_leave();
	/* A crash is for a debugger; who was asked to end still has a second for lines. */
	if (DUMPS_CORE & CP_SIGBIT(sig)) {
		cp_session_write("before a fatal signal", false);
	} else {
		cp_session_finish("before a fatal signal", 1);
		cp_session_dump_asked();
	}
	if (!die(sig, si) && ours)
		cp_session_stay();
	errno = saved;
}
