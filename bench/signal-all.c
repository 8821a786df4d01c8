/* SPDX-License-Identifier: BSD-3-Clause */
/* The program with which bench/wall.sh compares: N threads that wait, and a signal to each at HZ,
 * whose handler does nothing. Prints the CPU time, in ns, of SECONDS.
 *
 *   signal-all N HZ SECONDS
 */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static sem_t never;

static void nothing(int sig)
{
}

static void *wait_for_ever(void *arg)
{
	for (;;)
		sem_wait(&never);
	return arg;
}

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = nothing, .sa_flags = SA_RESTART };
	int n = argc > 3 ? atoi(argv[1]) : 0;
	pthread_t *threads = calloc((size_t)n + 1, sizeof(*threads));
	double period, end, begin_cpu;
	pthread_attr_t attr;

	if (!n || !threads)
		return 2;
	period = 1 / atof(argv[2]);
	sem_init(&never, 0, 0);
	sigaction(SIGPROF, &act, NULL);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 1 << 16);
	for (int i = 0; i < n; i++)
		if (pthread_create(&threads[i], &attr, wait_for_ever, NULL))
			return 1;
	usleep(300000);
	begin_cpu = now(CLOCK_PROCESS_CPUTIME_ID);
	end = now(CLOCK_MONOTONIC) + atof(argv[3]);
	for (double next = now(CLOCK_MONOTONIC); next < end; next += period) {
		double left = next - now(CLOCK_MONOTONIC);

		if (left > 0)
			usleep((useconds_t)(left * 1e6));
		for (int i = 0; i < n; i++)
			pthread_kill(threads[i], SIGPROF);
	}
	printf("%.0f\n", (now(CLOCK_PROCESS_CPUTIME_ID) - begin_cpu) * 1e9);
	return 0;
}
