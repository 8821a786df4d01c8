/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests as spans: samples carry the name, and each name's latencies are in the comments. They
 * count from the time at which a request was due: one that had to wait for another was slow for its
 * user.
 *
 *     cc -O2 -g 07-spans.c -o 07-spans $(pkg-config --cflags --libs libcprof)
 *     CPUPROFILE=07-spans.pb ./07-spans
 *       -> checkout: 50 of them
 *     cprof info 07-spans.pb
 *       -> span checkout: 50, p50 [0-9.]+ ms
 *     cprof spans 07-spans.pb
 *       -> 50 .*checkout
 *     cprof top -tagfocus=span=checkout 07-spans.pb
 *       -> compute
 */
#include <cprof.h>
#include <stdint.h>
#include <stdio.h>

static volatile unsigned long sum;

__attribute__((noinline)) static void compute(uint64_t ns)
{
	uint64_t end = cprof_now() + ns;

	while (cprof_now() < end)
		for (unsigned i = 0; i < 1000; i++)
			sum += i;
}

int main(void)
{
	struct cprof_span_stats stats = { .size = sizeof(stats) };
	uint64_t due = cprof_now();

	for (int i = 0; i < 50; i++) {
		struct cprof_span span;

		while (cprof_now() < due)
			;
		span = cprof_span_begin_at("checkout", due);
		compute(i == 20 ? 40000000 : 5000000);
		cprof_span_end(&span);
		due += 10000000;
	}
	cprof_get_span_stats("checkout", &stats);
	printf("checkout: %llu of them, half within %llu ms, the slowest %llu ms\n",
	       (unsigned long long)stats.count, (unsigned long long)stats.p50_ns / 1000000,
	       (unsigned long long)stats.max_ns / 1000000);
	return 0;
}
