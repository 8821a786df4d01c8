/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the profiles before a signal ends the process; see host.h. */
#include "host/host.h"

#include <errno.h>
#include <limits.h>

#include "host/real.h"

#define DUMPS_CORE                                                                                 \
	(CP_SIGBIT(SIGQUIT) | CP_SIGBIT(SIGILL) | CP_SIGBIT(SIGTRAP) | CP_SIGBIT(SIGABRT) |        \
	 CP_SIGBIT(SIGBUS) | CP_SIGBIT(SIGFPE) | CP_SIGBIT(SIGSEGV) | CP_SIGBIT(SIGXCPU) |         \
	 CP_SIGBIT(SIGXFSZ) | CP_SIGBIT(SIGSYS))
/* Default action "terminate" (signal(7)); cp_fatal_signals adds the real-time signals. */
#define TERMINATES                                                                                 \
	(CP_SIGBIT(SIGHUP) | CP_SIGBIT(SIGINT) | CP_SIGBIT(SIGUSR1) | CP_SIGBIT(SIGUSR2) |         \
	 CP_SIGBIT(SIGPIPE) | CP_SIGBIT(SIGALRM) | CP_SIGBIT(SIGTERM) | CP_SIGBIT(SIGSTKFLT) |     \
	 CP_SIGBIT(SIGVTALRM) | CP_SIGBIT(SIGIO) | CP_SIGBIT(SIGPWR))
#define FAULTS                                                                                     \
	(CP_SIGBIT(SIGSEGV) | CP_SIGBIT(SIGBUS) | CP_SIGBIT(SIGFPE) | CP_SIGBIT(SIGILL) |          \
	 (CP_BREAKPOINT_HAPPENS_AGAIN ? CP_SIGBIT(SIGTRAP) : 0))

/* The first process of a pid namespace ignores signals without a handler, and its system calls are
 * not interrupted; with the profiler's handler they would be. Only a signal that the kernel forces
 * on a thread ends this process. A fault has the profiler's handler, because the fault happens
 * again. Where a breakpoint doesn't happen again, it has no handler, because the signal that the
 * profiler would send instead ends nothing. The same is true of a forbidden call. */
uint64_t cp_fatal_signals(int pid)
{
	uint64_t signals = DUMPS_CORE | TERMINATES;

	if (pid == 1)
		return FAULTS;
	for (int sig = SIGRTMIN; sig <= SIGRTMAX; sig++)
		signals |= CP_SIGBIT(sig);
	return signals;
}

/* Returns whether the fault happens again after the handler's return: true for a real fault, false
 * for a signal that a process has sent. */
static bool happens_again(int sig, const siginfo_t *si)
{
	return (FAULTS & CP_SIGBIT(sig)) &&
	       (sig == SIGTRAP ? si->si_code == TRAP_BRKPT : si->si_code > 0);
}

/* The thread that is about to end the process, 0 = none; and its process, because a fork's child
 * has a copy. */
static uint32_t dying;
static int dying_in;

/* In DYING: the profile is written, and the process ends at once. If it doesn't, a seccomp filter
 * has ended that thread alone, or it has left a handler that another thread has just set. */
#define HAS_WRITTEN (1U << 31)
#define GONE_WITHIN_NS 5000000000u

static void set_dying(uint32_t thread)
{
	cp_store_relaxed(&dying_in, cp_sys_getpid());
	cp_store_release(&dying, thread);
	cp_sys_futex_wake(&dying, INT_MAX);
}

/* Ends the process by SIG's default action. Returns as cp_fatal_handler does; true to let a fault
 * happen again. */
static bool die(int sig, siginfo_t *si)
{
	struct sigaction standard = { .sa_handler = SIG_DFL }, before;
	uint64_t bit = CP_SIGBIT(sig);
	const struct timespec now = { 0 };

	CP_REAL(sigaction)(sig, &standard, &before);
	/* A real fault happens again by itself, and the core dump shows it as it was. */
	if (happens_again(sig, si))
		return true;
	set_dying((uint32_t)cp_sys_gettid() | HAS_WRITTEN);
	/* The kernel queues one signal per number. The queued SIGPROF may be from one of the
	 * profiler's timers, and the kernel drops it if the timer has been set again since. */
	while (sig == SIGPROF && cp_sys4(SYS_rt_sigtimedwait, &bit, NULL, &now, sizeof(bit)) == sig)
		;
	/* A seccomp filter that was there before the profiler may allow only tgkill. */
	if (cp_sys4(SYS_rt_tgsigqueueinfo, cp_sys_getpid(), cp_sys_gettid(), sig, si) < 0)
		cp_sys3(SYS_tgkill, cp_sys_getpid(), cp_sys_gettid(), sig);
	cp_sys_sigmask(SIG_UNBLOCK, &bit, NULL);
	/* The process still runs, because another thread has just changed SIG's action. */
	cp_sys_sigmask(SIG_BLOCK, &bit, NULL);
	CP_REAL(sigaction)(sig, &before, NULL);
	return false;
}

static const struct cp_signal_work *work;

void cp_fatal_begin(const struct cp_signal_work *w)
{
	work = w;
}

void cp_fatal_await(void)
{
	static const struct timespec a_while = { .tv_nsec = 100000000 };
	uint64_t until = 0, now;
	uint32_t thread;

	while ((thread = cp_load_acquire(&dying)) != 0 &&
	       (thread & ~HAS_WRITTEN) != (uint32_t)cp_sys_gettid() &&
	       cp_load_relaxed(&dying_in) == cp_sys_getpid()) {
		now = cp_sys_clock_ns(CLOCK_MONOTONIC);
		if (!until || !(thread & HAS_WRITTEN))
			until = now + GONE_WITHIN_NS;
		if (now >= until)
			return;
		cp_sys_futex_wait(&dying, thread, &a_while);
	}
}

void cp_fatal_handler(int sig, siginfo_t *si, void *context)
{
	bool ours = cp_profiled_is_ours();
	int saved = errno;

	if (cp_sys_getpid() == 1 && !happens_again(sig, si))
		return;
	/* Whether a fault ends the process isn't known here: it happens again later. */
	if (!happens_again(sig, si))
		set_dying((uint32_t)cp_sys_gettid());
	work->end((DUMPS_CORE & CP_SIGBIT(sig)) != 0);
	if (!die(sig, si) && ours)
		work->go_on();
	if (!happens_again(sig, si))
		set_dying(0);
	errno = saved;
}
