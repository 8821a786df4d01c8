/* SPDX-License-Identifier: BSD-3-Clause */
/* For programs whose CPU time must have samples, however short it is. */
#ifndef TESTS_LIB_TICK_H
#define TESTS_LIB_TICK_H

#include "host.h"

#ifdef __GLIBC__
#define HOST_SIGEV_TID _sigev_un._tid
#else
#define HOST_SIGEV_TID sigev_notify_thread_id
#endif

/* Returns whether the kernel has looked at the calling thread's CPU timers since the first call,
 * for which *TIMER is -1, and is again when it has, or the thread can't have a timer. For a thread
 * that is always preempted, some kernels (6.18.44) look once in several 100 ms. The signal is
 * blocked, so nothing is interrupted. */
__attribute__((unused)) static int host_ticked(int *timer)
{
	const struct timespec at_once = { 0, 0 };
	const struct itimerspec soon = { { 0, 0 }, { 0, 1 } };
	struct sigevent event;
	sigset_t signal;

	sigemptyset(&signal);
	sigaddset(&signal, SIGVTALRM);
	if (*timer >= 0) {
		if (sigtimedwait(&signal, NULL, &at_once) != SIGVTALRM)
			return 0;
		syscall(SYS_timer_delete, *timer);
	} else {
		memset(&event, 0, sizeof(event));
		event.sigev_notify = SIGEV_THREAD_ID;
		event.sigev_signo = SIGVTALRM;
		event.HOST_SIGEV_TID = (int)syscall(SYS_gettid);
		pthread_sigmask(SIG_BLOCK, &signal, NULL);
		if (!syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, timer) &&
		    !syscall(SYS_timer_settime, *timer, 0, &soon, NULL))
			return 0;
	}
	*timer = -1;
	pthread_sigmask(SIG_UNBLOCK, &signal, NULL);
	return 1;
}

/* Burns for SECONDS, and on until the kernel has looked. */
__attribute__((noinline, unused)) static void burn_and_tick(double seconds)
{
	int tick = -1;

	burn(seconds);
	while (!host_ticked(&tick))
		burn(0.001);
}

/* The kernel doesn't check the timers of the process any more, as it does for long with those of a
 * thread that is always preempted. */
__attribute__((unused)) static void host_stop_timers(void)
{
	const struct itimerspec never = { { 0, 0 }, { 0, 0 } };

	for (int id = 0; id < 64; id++)
		syscall(SYS_timer_settime, id, 0, &never, NULL);
}

#endif
