/* SPDX-License-Identifier: BSD-3-Clause */
/* Work whose CPU time is known: the last line on stderr is what getrusage says, in nanoseconds.
 *
 *   cpu-host threads N SECONDS     each of N threads works for so long
 *   cpu-host short N SECONDS       N threads, one after the other
 *   cpu-host paused N SECONDS      the same, with sampling paused in every second one
 *   cpu-host unchecked N SECONDS   the same; the kernel doesn't check timers in their second half
 *   cpu-host left N SECONDS        N threads and main work so, and are there when the process ends
 *   cpu-host bursts SECONDS        works for a millisecond at a time, and waits for one
 *   cpu-host periodic SECONDS      first_half and second_half in turns, 99 times a second
 *
 * stderr tells the CPU time in ns, without that of paused threads.
 */
#define HOST_BURNS_EXACTLY
#include <stdatomic.h>
#include <sys/resource.h>

#include "host.h"

static double seconds;
static int unchecked, pauses, left;
static atomic_int done;
static double paused_for; /* seconds */
static int (*pause_thread)(void);

__attribute__((noinline)) static void *work(void *arg)
{
	bool paused = arg && pauses && pause_thread && pause_thread() == 0;

	burn(seconds / 2);
	if (unchecked)
		host_stop_timers();
	burn(seconds / 2);
	if (paused)
		paused_for += host_clock(CLOCK_THREAD_CPUTIME_ID);
	atomic_fetch_add(&done, 1);
	while (left && arg)
		pause();
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
		EXPECT(pthread_create(&t[i], NULL, work,
				      left || (pauses && i % 2) ? &t[i] : NULL) == 0);
		if (!together)
			pthread_join(t[i], NULL);
	}
	for (int i = 0; together && !left && i < n; i++)
		pthread_join(t[i], NULL);
	if (left)
		work(NULL);
	while (left && atomic_load(&done) <= n)
		usleep(1000);
}

static long long ns(struct timeval t)
{
	return (t.tv_sec * 1000000LL + t.tv_usec) * 1000;
}

int main(int argc, char **argv)
{
	struct rusage used;

	seconds = atof(argv[argc - 1]);
	left = !strcmp(argv[1], "left");
	unchecked = left || !strcmp(argv[1], "unchecked");
	pauses = !strcmp(argv[1], "paused");
	*(void **)&pause_thread = dlsym(RTLD_DEFAULT, "cprof_thread_pause");
	if (!strcmp(argv[1], "periodic"))
		periodic();
	else if (!strcmp(argv[1], "bursts"))
		bursts();
	else
		threads(atoi(argv[2]), left || !strcmp(argv[1], "threads"));
	puts("done");
	getrusage(RUSAGE_SELF, &used);
	fprintf(stderr, "%lld\n",
		ns(used.ru_utime) + ns(used.ru_stime) - (long long)(paused_for * 1e9));
	HOST_END();
}
