/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that decides itself what is profiled: everything between start and stop.
 *
 *     cc -O2 -g 01-linked.c -o 01-linked $(pkg-config --cflags --libs libcprof)
 *     ./01-linked
 *       -> samples taken: yes, lost: 0
 *     cprof top 01-linked.pb
 *       -> (9[0-9]|100)[0-9.]*%  sum_of_squares
 *     cprof tags 01-linked.pb
 *       -> squares
 */
#include <cprof.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static uint32_t numbers[4096];

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) static uint32_t prepare(uint32_t seed)
{
	for (size_t i = 0; i < 4096; i++)
		numbers[i] = seed = seed * 1664525u + 1013904223u;
	return seed;
}

__attribute__((noinline)) static uint32_t sum_of_squares(uint32_t sum)
{
	for (size_t i = 0; i < 4096; i++)
		sum += numbers[i] * numbers[i];
	return sum;
}

/* WORK again and again for some CPU time; each on the result before, or one would do for all. */
static uint32_t spend(double seconds, uint32_t (*work)(uint32_t))
{
	double end = cpu_seconds() + seconds;
	uint32_t result = 0;

	while (cpu_seconds() < end)
		for (int i = 0; i < 100; i++)
			result = work(result);
	return result;
}

int main(void)
{
	struct cprof_options options = CPROF_OPTIONS_INIT;
	struct cprof_stats stats = { .size = sizeof(stats) };
	uint32_t result;
	int err;

	spend(0.2, prepare); /* not profiled yet */

	options.cpu_path = "01-linked.pb";
	options.frequency = 250;
	options.labels = "phase=squares";
	err = cprof_start(&options);
	if (err) {
		fprintf(stderr, "no profile: %s\n", strerror(-err));
		return 1;
	}

	result = spend(0.5, sum_of_squares);

	cprof_thread_pause(); /* hide this part from the profile */
	spend(0.1, prepare);
	cprof_thread_resume();

	err = cprof_stop();
	if (err) {
		fprintf(stderr, "the profile could not be written: %s\n", strerror(-err));
		return 1;
	}
	cprof_get_stats(&stats);
	printf("result %u\n", result & 1);
	printf("samples taken: %s, lost: %llu\n", stats.samples ? "yes" : "no",
	       (unsigned long long)(stats.lost_ring + stats.lost_memory + stats.lost_thread));
	return 0;
}
