/* SPDX-License-Identifier: BSD-3-Clause */
/* More threads than processors: eight, on one. They work for a while, then each in turn under a
 * lock. Main waits often, for a moment. Prints, in ns, the CPU time of the eight and how long they
 * took; then, by their files in /proc, how long main ran, how long it was ready to run, and how
 * long the eight were, each at least and at most: a thread may be ready to run for long before it
 * reads for the first time, and after it has read for the last time. */
#include "system.h"

int cprof_stop(void) __attribute__((weak));

#define THREADS 8
#define HELD_NS 2000000 /* of CPU time, each time the lock is held */
#define FREE_NS 400000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t until, worked, least, most;
static uint64_t ended[THREADS]; /* when they read for the last time */

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void work(uint64_t ns)
{
	uint64_t end = now(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (now(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

__attribute__((noinline)) static void alone(void)
{
	work(HELD_NS);
	__asm__ volatile("");
}

__attribute__((noinline)) static void beside(void)
{
	work(FREE_NS);
	__asm__ volatile("");
}

struct stat_of {
	unsigned long long ran, ready;
};

/* Returns how long the calling thread ran and was ready to run. */
static struct stat_of read_file(void)
{
	FILE *f = fopen("/proc/thread-self/schedstat", "r");
	struct stat_of s;

	if (!f || fscanf(f, "%llu %llu", &s.ran, &s.ready) != 2)
		exit(1);
	fclose(f);
	return s;
}

static void *worker(void *arg)
{
	struct stat_of begin = read_file(), end;

	while (now(CLOCK_MONOTONIC) < until) {
		beside();
		pthread_mutex_lock(&lock);
		alone();
		pthread_mutex_unlock(&lock);
	}
	__atomic_add_fetch(&worked, now(CLOCK_THREAD_CPUTIME_ID), __ATOMIC_RELAXED);
	*(uint64_t *)arg = now(CLOCK_MONOTONIC);
	end = read_file();
	__atomic_add_fetch(&least, end.ready - begin.ready, __ATOMIC_RELAXED);
	__atomic_add_fetch(&most, end.ready, __ATOMIC_RELAXED);
	return NULL;
}

__attribute__((noinline)) static void short_waits(void)
{
	const struct timespec moment = { 0, 100000 };

	while (now(CLOCK_MONOTONIC) < until)
		nanosleep(&moment, NULL);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	uint64_t began = now(CLOCK_MONOTONIC), lived;
	struct stat_of begin = read_file(), end, stopped;
	pthread_t threads[THREADS];
	cpu_set_t one;

	sched_getaffinity(0, sizeof(one), &one);
	for (int i = 0, kept = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &one) && kept++)
			CPU_CLR(i, &one);
	sched_setaffinity(0, sizeof(one), &one);
	until = began + (uint64_t)(argc > 1 ? atoi(argv[1]) : 3) * 1000000000u;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, worker, &ended[i]))
			return 1;
	short_waits();
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		most += now(CLOCK_MONOTONIC) - ended[i];
	}
	lived = now(CLOCK_MONOTONIC) - began;
	end = read_file();
	if (cprof_stop && cprof_stop())
		return 1;
	stopped = read_file();
	printf("%llu %llu %llu %llu %llu %llu %llu %llu\n", (unsigned long long)worked,
	       (unsigned long long)lived, end.ran - begin.ran, stopped.ran, end.ready - begin.ready,
	       stopped.ready, (unsigned long long)least, (unsigned long long)most);
	return 0;
}
