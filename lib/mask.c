/* The program's view of its masks; see mask.h. */
#include "mask.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "real.h"
#include "run.h"
#include "session.h"
#include "sigsafe/cpu_event.h"
#include "sigsafe/sys.h"
#include "sigsafe/thread.h"

/* One of the program's own SIGPROFs came while it believed it blocked: now it gets it. */
static void deliver_pending(void)
{
	siginfo_t si;

	if (!cp_self.prof_pending || cp_self.prof_blocked)
		return;
	cp_self.prof_pending = 0;
	memset(&si, 0, sizeof(si));
	si.si_signo = SIGPROF;
	si.si_code = cp_self.prof_code;
	si.si_value.sival_ptr = cp_self.prof_value;
	cp_sys4(SYS_rt_tgsigqueueinfo, cp_sys_getpid(), cp_sys_gettid(), SIGPROF, &si);
}

static int change(int how, const sigset_t *set, sigset_t *old)
{
	bool blocked = cp_self.prof_blocked, mentions;
	sigset_t without;
	int err;

	if (set) {
		without = *set;
		mentions = sigismember(set, SIGPROF) == 1;
		if (how == SIG_BLOCK || how == SIG_SETMASK)
			sigdelset(&without, SIGPROF);
		set = &without;
	}
	err = CP_REAL(pthread_sigmask)(how, set, old);
	if (err)
		return err;
	if (old && blocked)
		sigaddset(old, SIGPROF);
	if (!set)
		return 0;
	if (how == SIG_SETMASK)
		cp_self.prof_blocked = mentions;
	else if (mentions)
		cp_self.prof_blocked = how == SIG_BLOCK;
	deliver_pending();
	return 0;
}

int cp_mask_change(int how, const sigset_t *set, sigset_t *old)
{
	int err;

	/* A thread that believes SIGPROF blocked must be able to unblock it after a stop. */
	if (!cp_session_is_ours() && !cp_self.prof_blocked)
		return CP_REAL(sigprocmask)(how, set, old);
	err = change(how, set, old);
	if (err) {
		errno = err;
		return -1;
	}
	return 0;
}

int cp_mask_pending(sigset_t *set)
{
	int err = CP_REAL(sigpending)(set);

	if (!err && cp_self.prof_pending)
		sigaddset(set, SIGPROF);
	return err;
}

static bool is_own_sample(const siginfo_t *si)
{
	return si->si_signo == SIGPROF && si->si_code == SI_TIMER &&
	       ((uint64_t)(uintptr_t)si->si_value.sival_ptr & CP_CPU_TAG_MASK) == CP_CPU_TAG;
}

/* What the program waits for may have been held back by us. */
static bool take_pending(const sigset_t *set, siginfo_t *si)
{
	if (!cp_self.prof_pending || sigismember(set, SIGPROF) != 1)
		return false;
	cp_self.prof_pending = 0;
	memset(si, 0, sizeof(*si));
	si->si_signo = SIGPROF;
	si->si_code = cp_self.prof_code;
	si->si_value.sival_ptr = cp_self.prof_value;
	return true;
}

static struct timespec left_until(uint64_t deadline)
{
	uint64_t now = cp_run_clock(CLOCK_MONOTONIC), left = deadline > now ? deadline - now : 0;

	return (struct timespec){ (time_t)(left / 1000000000u), (long)(left % 1000000000u) };
}

int cp_mask_wait(const sigset_t *set, siginfo_t *si, const struct timespec *timeout)
{
	uint64_t deadline = 0;
	struct timespec left;
	siginfo_t own;
	int sig;

	if (!si)
		si = &own;
	if (!cp_session_is_ours())
		return CP_REAL(sigtimedwait)(set, si, timeout);
	if (take_pending(set, si))
		return SIGPROF;
	if (timeout)
		deadline = cp_run_clock(CLOCK_MONOTONIC) + (uint64_t)timeout->tv_sec * 1000000000u +
			   (uint64_t)timeout->tv_nsec;
	left = timeout ? *timeout : (struct timespec){ 0 };
	for (;;) {
		sig = CP_REAL(sigtimedwait)(set, si, timeout ? &left : NULL);
		if (sig != SIGPROF || !is_own_sample(si))
			return sig;
		if (timeout)
			left = left_until(deadline);
	}
}
