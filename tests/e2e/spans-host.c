/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests of which a few are slow, in two threads; nested spans.
 *
 * spans-host prints "slow MS" and "all MS": the sum of its slow requests, and of all
 * requests, without those inside others; and "p90 MS": the eighteenth of its twenty
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cprof.h"

enum { THREADS = 2, EACH = 10 };

static volatile unsigned long sink;
static uint64_t slow_ns, all_ns, lasted_ns[THREADS * EACH];
static unsigned requests;

static void wait_ms(long ms)
{
	struct timespec t = { 0, ms * 1000000 };

	nanosleep(&t, NULL);
}

static __attribute__((noinline)) void run_ms(uint64_t ms)
{
	uint64_t end = cprof_now() + ms * 1000000;

	while (cprof_now() < end)
		for (unsigned i = 0; i < 1000; i++)
			sink += i;
}

/* Half of it waits, half runs; the part inside has a span of its own. */
static __attribute__((noinline)) void request(unsigned ms)
{
	struct cprof_span s = cprof_span_begin("request"), inner;
	uint64_t lasted, of_inner;

	wait_ms(ms / 2);
	inner = cprof_span_begin("inner");
	wait_ms(2);
	of_inner = cprof_span_end(&inner);
	run_ms(ms / 2);
	lasted = cprof_span_end(&s);
	lasted_ns[__atomic_fetch_add(&requests, 1, __ATOMIC_RELAXED)] = lasted;
	__atomic_fetch_add(&all_ns, lasted - of_inner, __ATOMIC_RELAXED);
	if (lasted >= 100000000)
		__atomic_fetch_add(&slow_ns, lasted - of_inner, __ATOMIC_RELAXED);
}

static void *serve(void *unused)
{
	for (int i = 0; i < EACH; i++)
		request(i % 5 == 4 ? 200 : 10);
	return unused;
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int main(void)
{
	pthread_t threads[THREADS];
	struct cprof_span open;

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, serve, NULL))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	/* One that is open at the end is not slow: nobody knows yet. */
	open = cprof_span_begin("open");
	wait_ms(150);
	qsort(lasted_ns, requests, sizeof(*lasted_ns), compare);
	printf("slow %llu\nall %llu\np90 %llu\n", (unsigned long long)slow_ns / 1000000,
	       (unsigned long long)all_ns / 1000000,
	       (unsigned long long)lasted_ns[requests * 9 / 10 - 1] / 1000000);
	return open.name == NULL;
}
