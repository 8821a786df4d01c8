/* Requests of which a few are slow, in two threads; nested spans.
 *
 *   spans-host           prints "slow MS" and "all MS": what its slow requests lasted together, and
 * all of them, without what is inside
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "cprof.h"

static volatile unsigned long sink;
static uint64_t slow_ns, all_ns;

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
	__atomic_fetch_add(&all_ns, lasted - of_inner, __ATOMIC_RELAXED);
	if (lasted >= 100000000)
		__atomic_fetch_add(&slow_ns, lasted - of_inner, __ATOMIC_RELAXED);
}

static void *serve(void *unused)
{
	for (int i = 0; i < 10; i++)
		request(i % 5 == 4 ? 200 : 10);
	return unused;
}

int main(void)
{
	pthread_t threads[2];
	struct cprof_span open;

	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, serve, NULL))
			return 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	/* One that is open at the end is not slow: nobody knows yet. */
	open = cprof_span_begin("open");
	wait_ms(150);
	printf("slow %llu\nall %llu\n", (unsigned long long)slow_ns / 1000000,
	       (unsigned long long)all_ns / 1000000);
	return open.name == NULL;
}
