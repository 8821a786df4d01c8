/* SPDX-License-Identifier: BSD-3-Clause */
/* For programs whose CPU time must have samples, however short it is. */
#ifndef TESTS_LIB_TICK_H
#define TESTS_LIB_TICK_H

#include <sys/syscall.h>
#include <sys/time.h>

#include "host.h"

static volatile sig_atomic_t host_ticked;

static void host_on_tick(int sig)
{
	(void)sig;
	host_ticked = 1;
}

/* Burns for SECONDS, and on until the kernel has looked at the thread's CPU timers: for a thread
 * that is always preempted, some kernels (6.18.44) do so once in several 100 ms. */
__attribute__((noinline)) static void burn_and_tick(double seconds)
{
	struct itimerval soon = { { 0, 0 }, { 0, 1 } };
	struct sigaction sa, old;

	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = host_on_tick;
	burn(seconds);
	host_ticked = 0;
	EXPECT(sigaction(SIGVTALRM, &sa, &old) == 0 && setitimer(ITIMER_VIRTUAL, &soon, NULL) == 0);
	while (!host_ticked)
		burn(0.001);
	EXPECT(sigaction(SIGVTALRM, &old, NULL) == 0);
}

/* The kernel doesn't check the timers of the process any more, as it does for long with those of a
 * thread that is always preempted. */
__attribute__((unused)) static void host_stop_timers(void)
{
	const struct itimerspec never = { 0 };

	for (int id = 0; id < 64; id++)
		syscall(SYS_timer_settime, id, 0, &never, NULL);
}

#endif
