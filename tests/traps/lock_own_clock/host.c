/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that has a clock_gettime of its own, as libraries have that tell a program other times:
 * it takes a lock, which many threads want, and its seconds are a thousandth of a second.
 */
#include "system.h"

#define THREADS 4
#define CALLS 300
#define SLOWER 1000u /* times */

static pthread_mutex_t clock_mutex = PTHREAD_MUTEX_INITIALIZER;

static uint64_t real_ns(void)
{
	struct timespec t;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Held for long enough that others come meanwhile. */
__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *t)
{
	uint64_t now;

	(void)clock;
	pthread_mutex_lock(&clock_mutex);
	usleep(100);
	now = real_ns() / SLOWER;
	pthread_mutex_unlock(&clock_mutex);
	t->tv_sec = (time_t)(now / 1000000000u);
	t->tv_nsec = (long)(now % 1000000000u);
	return 0;
}

static void *ask(void *arg)
{
	struct timespec t;

	for (int i = 0; i < CALLS; i++)
		clock_gettime(CLOCK_MONOTONIC, &t);
	return arg;
}

int main(void)
{
	uint64_t began = real_ns();
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, ask, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	fprintf(stderr, "took %llu\n", (unsigned long long)(real_ns() - began));
	puts("done");
	return 0;
}
