/* SPDX-License-Identifier: BSD-3-Clause */
/* For programs whose CPU time must have samples, however short it is. */
#ifndef TESTS_LIB_TICK_H
#define TESTS_LIB_TICK_H

#include "system.h"

#ifdef __GLIBC__
#define HOST_SIGEV_TID _sigev_un._tid
#else
#define HOST_SIGEV_TID sigev_notify_thread_id
#endif

struct host_tick {
	int of; /* another thread, which works meanwhile; 0: the calling one */
	int timer, waits;
	uint64_t mask; /* from before */
};

/* Returns whether the kernel has looked at a thread's CPU timers since the first call, for which
 * all else of T is 0, and is again when it has, or the thread can't have a timer. For a thread that
 * is always preempted, some kernels (6.18.44) look once in several 100 ms. The signal is blocked,
 * past the profiler, so nothing is interrupted. */
__attribute__((unused)) static int host_ticked(struct host_tick *t)
{
	const uint64_t signal = UINT64_C(1) << (SIGVTALRM - 1);
	const struct timespec at_once = { 0, 0 };
	const struct itimerspec soon = { { 0, 0 }, { 0, 1 } };
	struct sigevent event;
	int err = errno;
	clockid_t clock;

	if (t->waits) {
		if (syscall(SYS_rt_sigtimedwait, &signal, NULL, &at_once, 8) != SIGVTALRM) {
			errno = err;
			return 0;
		}
		syscall(SYS_timer_delete, t->timer);
	} else {
		memset(&event, 0, sizeof(event));
		event.sigev_notify = SIGEV_THREAD_ID;
		event.sigev_signo = SIGVTALRM;
		event.HOST_SIGEV_TID = (int)syscall(SYS_gettid);
		syscall(SYS_rt_sigprocmask, SIG_BLOCK, &signal, &t->mask, 8);
		clock = t->of ? (clockid_t)((~(unsigned)t->of << 3) | 6) : CLOCK_THREAD_CPUTIME_ID;
		t->waits = !syscall(SYS_timer_create, clock, &event, &t->timer) &&
			   !syscall(SYS_timer_settime, t->timer, 0, &soon, NULL);
		if (t->waits)
			return 0;
	}
	t->waits = 0;
	if (!(t->mask & signal))
		syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &signal, NULL, 8);
	return 1;
}

/* The kernel doesn't check the timers of the process any more, as it does for long with those of a
 * thread that is always preempted. */
__attribute__((unused)) static void host_stop_timers(void)
{
	const struct itimerspec never = {};

	for (int id = 0; id < 64; id++)
		syscall(SYS_timer_settime, id, 0, &never, NULL);
}

#endif
