/* SPDX-License-Identifier: BSD-3-Clause */
/* For the programs that the trap scripts run with and without the profiler. They check themselves:
 * an error is printed, and makes the exit status 1; their output must be the same in both runs.
 */
#ifndef TRAP_HOST_H
#define TRAP_HOST_H

#include "tick.h"

__attribute__((unused)) static int host_failures;

/* May be used in a signal handler as far as nothing fails. */
#define EXPECT(condition)                                                                          \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			__atomic_add_fetch(&host_failures, 1, __ATOMIC_RELAXED);                   \
			printf("line %d: not so: %s\n", __LINE__, #condition);                     \
		}                                                                                  \
	} while (0)

#define HOST_END()                                                                                 \
	do {                                                                                       \
		fflush(stdout);                                                                    \
		return host_failures ? 1 : 0;                                                      \
	} while (0)

static inline double host_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

#ifdef __cplusplus
extern "C" {
#endif
int cprof_stop(void) __attribute__((weak));
#ifdef __cplusplus
}
#endif

/* So much CPU time of the calling thread; 50 ms and more are to have samples, and go on until the
 * kernel has looked. A tenth of it in the run without the profiler, where nobody samples it, unless
 * the program says that it has timers of its own.
 */
#ifdef HOST_HAS_TIMERS
#define HOST_BARE_PART 1
#else
#define HOST_BARE_PART 10
#endif
/* HOST_BURNS_EXACTLY: no more than that. */
#ifdef HOST_BURNS_EXACTLY
#define HOST_TICKS 0
#else
#define HOST_TICKS 1
#endif
__attribute__((noinline, unused)) static void burn(double seconds)
{
	double end =
		host_clock(CLOCK_THREAD_CPUTIME_ID) + seconds / (cprof_stop ? 1 : HOST_BARE_PART);
	volatile unsigned long sum = 0;
	struct host_tick tick = {};

	do
		for (unsigned long i = 0; i < 20000; i++)
			sum += i;
	while (host_clock(CLOCK_THREAD_CPUTIME_ID) < end ||
	       (HOST_TICKS && cprof_stop && seconds >= 0.05 && !host_ticked(&tick)));
}

/* The same, however short it is, and without the profiler, too. */
__attribute__((noinline, unused)) static void burn_and_tick(double seconds)
{
	struct host_tick tick = {};

	burn(seconds);
	while (!host_ticked(&tick))
		burn(0.001);
}

/* Returns whether a storm goes on: until CLOCK is at END, or, if END is 0, until the input ends. */
__attribute__((unused)) static int host_goes_on(clockid_t clock, double end)
{
	struct pollfd input = { .fd = 0, .events = POLLIN, .revents = 0 };

	return end > 0 ? host_clock(clock) < end : poll(&input, 1, 0) == 0;
}

#endif
