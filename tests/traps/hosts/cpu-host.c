/* SPDX-License-Identifier: BSD-3-Clause */
/* Work whose CPU time is known: the last line on stderr is what getrusage says, in nanoseconds.
 *
 *   cpu-host threads N SECONDS     each of N threads works for so long
 *   cpu-host short N SECONDS       N threads, one after the other
 *   cpu-host unchecked N SECONDS   the same, but after half of it the kernel doesn't check their
 * timers any more, as it does for a thread that is always preempted cpu-host bursts SECONDS works
 * for a millisecond at a time, and waits for one cpu-host periodic SECONDS      first_half and
 * second_half in turns, 99 times a second
 */
#include <sys/resource.h>
#include <sys/syscall.h>

#include "tick.h"

#define TIMERS 64 /* more than the process has made */

static double seconds;
static int unchecked;

static void stop_timers(void)
{
	const struct itimerspec never = { 0 };

	for (int id = 0; id < TIMERS; id++)
		syscall(SYS_timer_settime, id, 0, &never, NULL);
}

__attribute__((noinline)) static void *work(void *arg)
{
	if (unchecked) {
		burn(seconds / 2);
		stop_timers();
		burn(seconds / 2);
	} else {
		burn(seconds);
	}
	return NULL;
}

__attribute__((noinline)) static void spin_until(double end)
{
	volatile unsigned long sum = 0;

	do
		for (int i = 0; i < 200; i++)
			sum += (unsigned long)i;
	while (host_clock(CLOCK_THREAD_CPUTIME_ID) < end);
}

__attribute__((noinline, noipa)) static void first_half(double end)
{
	spin_until(end);
	__asm__ volatile(""); /* no tail call */
}

__attribute__((noinline, noipa)) static void second_half(double end)
{
	spin_until(end);
	__asm__ volatile("");
}

/* On a grid of CPU time, so that nothing drifts. */
static void periodic(void)
{
	double start = host_clock(CLOCK_THREAD_CPUTIME_ID), each = 1 / 99.0;

	for (int i = 0; i * each < seconds; i++) {
		first_half(start + (i + 0.5) * each);
		second_half(start + (i + 1) * each);
	}
	burn_and_tick(0);
}

static void bursts(void)
{
	const struct timespec moment = { 0, 1000000 };

	while (host_clock(CLOCK_THREAD_CPUTIME_ID) < seconds) {
		spin_until(host_clock(CLOCK_THREAD_CPUTIME_ID) + 0.001);
		nanosleep(&moment, NULL);
	}
}

static void threads(int n, int together)
{
	pthread_t t[1024];

	for (int i = 0; i < n; i++) {
		EXPECT(pthread_create(&t[i], NULL, work, NULL) == 0);
		if (!together)
			pthread_join(t[i], NULL);
	}
	for (int i = 0; together && i < n; i++)
		pthread_join(t[i], NULL);
}

static long long ns(struct timeval t)
{
	return (t.tv_sec * 1000000LL + t.tv_usec) * 1000;
}

int main(int argc, char **argv)
{
	struct rusage used;

	seconds = atof(argv[argc - 1]);
	unchecked = !strcmp(argv[1], "unchecked");
	if (!strcmp(argv[1], "periodic"))
		periodic();
	else if (!strcmp(argv[1], "bursts"))
		bursts();
	else
		threads(atoi(argv[2]), !strcmp(argv[1], "threads"));
	puts("done");
	getrusage(RUSAGE_SELF, &used);
	fprintf(stderr, "%lld\n", ns(used.ru_utime) + ns(used.ru_stime));
	HOST_END();
}
