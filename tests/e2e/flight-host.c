/* SPDX-License-Identifier: BSD-3-Clause */
/* A service whose requests take a tenth of a millisecond, but one in ten thousand takes a second of
 * CPU time, or "twice" two. "last": it asks for a dump of the time since just before that one
 * began. "lock": three threads' requests wait for a lock that is held for half a second, once. */
#include "cprof.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The library is preloaded. A program that is linked with it is a script in the build directory. */
#pragma weak cprof_dump_last
#pragma weak cprof_now
#pragma weak cprof_span_begin
#pragma weak cprof_span_end

#define MS 1000000ull

static volatile unsigned sink;

static inline __attribute__((always_inline)) void compute(unsigned long long ns)
{
	struct timespec t;
	unsigned long long now, until = 0;

	do {
		for (unsigned i = 0; i < 10000; i++)
			sink = sink + i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		now = (unsigned long long)t.tv_sec * 1000 * MS + (unsigned long long)t.tv_nsec;
		until = until ? until : now + ns;
	} while (now < until);
}

__attribute__((noinline)) static void parse(void)
{
	compute(MS / 10);
}

__attribute__((noinline)) static void rebuild_index(void)
{
	compute(1000 * MS);
}

static pthread_mutex_t db = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void vacuum(void)
{
	pthread_mutex_lock(&db);
	usleep(500000);
	pthread_mutex_unlock(&db);
	__asm__ volatile("");
}

__attribute__((noinline)) static void query(void)
{
	pthread_mutex_lock(&db);
	compute(MS / 10);
	pthread_mutex_unlock(&db);
	__asm__ volatile("");
}

static void *serve_queries(void *arg)
{
	for (int i = 0; i < 400; i++) {
		struct cprof_span span = cprof_span_begin("request");

		query();
		cprof_span_end(&span);
		usleep(5000);
	}
	return arg;
}

static int wait_for_lock(void)
{
	pthread_t t[3];

	for (int i = 0; i < 3; i++)
		if (pthread_create(&t[i], NULL, serve_queries, NULL))
			return 1;
	usleep(500000);
	vacuum();
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long long began = 0;

	if (argc > 1 && !strcmp(argv[1], "lock"))
		return wait_for_lock();

	for (int i = 0; i < 10000; i++) {
		unsigned long long now = cprof_now();
		struct cprof_span span = cprof_span_begin("request");

		parse();
		if (i == 9000 || (i == 9500 && argc > 1 && !strcmp(argv[1], "twice"))) {
			began = now;
			rebuild_index();
		}
		cprof_span_end(&span);
		if (i == 9000 && argc > 1 && !strcmp(argv[1], "last") &&
		    cprof_dump_last((double)(cprof_now() - began) * 1e-9 + 0.3))
			return 1;
	}
	printf("%d\n", cprof_dump_last(0));
	return 0;
}
