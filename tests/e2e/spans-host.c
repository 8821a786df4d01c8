/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests of which a few are slow, in two threads; nested spans.
 *
 * spans-host prints "all MS": the sum of its requests, without the spans inside them; and "p90 MS":
 * the eighteenth of its twenty; "cpu MS" and "bytes N": what the threads used in the requests
 *
 * spans-host short: 20,000 short spans, whose length varies. Prints "cpu NS" of the same work
 * without spans, "bytes N" in all of them, and what cprof_get_span_stats says: "stats CPU_NS
 * WAIT_NS BYTES"
 */
#include "system.h"

#include "clock.h"
#include "cprof.h"

enum { THREADS = 2, EACH = 10 };

static volatile unsigned long sink;
static uint64_t cpu_ns, bytes;
static uint64_t all_ns, lasted_ns[THREADS * EACH];
static unsigned requests;

static void wait_ms(long ms)
{
	struct timespec t = { 0, ms * 1000000 };

	nanosleep(&t, NULL);
}

static void take(size_t size)
{
	void *volatile p = malloc(size);

	free(p);
}

static void allocate(size_t size)
{
	take(size);
	__atomic_fetch_add(&bytes, size, __ATOMIC_RELAXED);
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
	uint64_t lasted, of_inner, cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	for (unsigned i = 0; i < 1000; i++)
		allocate(10 + i);
	wait_ms(ms / 2);
	inner = cprof_span_begin("inner");
	wait_ms(2);
	of_inner = cprof_span_end(&inner);
	run_ms(ms / 2);
	lasted = cprof_span_end(&s);
	__atomic_fetch_add(&cpu_ns, clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu, __ATOMIC_RELAXED);
	lasted_ns[__atomic_fetch_add(&requests, 1, __ATOMIC_RELAXED)] = lasted;
	__atomic_fetch_add(&all_ns, lasted - of_inner, __ATOMIC_RELAXED);
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

/* One piece of code for both: a second copy of the loop may take half or twice the time. */
static __attribute__((noinline)) void work(int i)
{
	for (unsigned k = (unsigned)i * 7919 % 13 * 1000; k; k--)
		sink += k;
}

/* Spans and the same work without them take turns of a hundred, because the processor's speed
 * changes. */
static int serve_short(void)
{
	struct cprof_span_stats s = { .size = sizeof(s) };
	uint64_t ran = 0;

	for (int turn = 0; turn < 20000; turn += 100) {
		uint64_t began;

		for (int i = turn; i < turn + 100; i++) {
			struct cprof_span span = cprof_span_begin("short");

			work(i);
			if (i % 10 == 0)
				allocate((unsigned)i % 13 * 100);
			cprof_span_end(&span);
		}
		began = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		for (int i = turn; i < turn + 100; i++) {
			work(i);
			if (i % 10 == 0)
				take((unsigned)i % 13 * 100);
		}
		ran += clock_ns(CLOCK_THREAD_CPUTIME_ID) - began;
	}
	cprof_get_span_stats("short", &s);
	printf("cpu %llu\nbytes %llu\nstats %llu %llu %llu\n", (unsigned long long)ran,
	       (unsigned long long)bytes, (unsigned long long)s.cpu_ns,
	       (unsigned long long)s.wait_ns, (unsigned long long)s.allocated_bytes);
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	struct cprof_span open;

	if (argc > 1 && !strcmp(argv[1], "short"))
		return serve_short();
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, serve, NULL))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	/* One that is open at the end has no length yet. */
	open = cprof_span_begin("open");
	wait_ms(150);
	qsort(lasted_ns, requests, sizeof(*lasted_ns), compare);
	printf("cpu %llu\nbytes %llu\n", (unsigned long long)cpu_ns / 1000000,
	       (unsigned long long)bytes);
	printf("all %llu\np90 %llu\n", (unsigned long long)all_ns / 1000000,
	       (unsigned long long)lasted_ns[requests * 9 / 10 - 1] / 1000000);
	return open.name == NULL;
}
