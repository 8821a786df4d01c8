/* SPDX-License-Identifier: BSD-3-Clause */
/* Nanoseconds a malloc+free pair of this process, whatever is preloaded into it.
 *
 *     bench/heap-pair [threads [depth [seconds [slice [share]]]]]
 *
 * Each thread keeps a few hundred blocks of 16 to 512 bytes and replaces one after the other;
 * DEPTH more frames are on its stack. Prints one number: the median of the threads' means over
 * slices of 2 ms, which leaves out slices in which others had the processor. SLICE: microseconds.
 * SHARE: in place of the median, the mean of the slice that so many per cent are faster than: on a
 * busy machine less than half of the slices may be undisturbed. bench/heap.sh makes a table.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BLOCKS 256
#define SLICES 4096

static unsigned depth = 1;
static double seconds = 0.3, slice_ns = 2e6;
static unsigned share = 50;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void slice(void **blocks, uint64_t *x, unsigned pairs)
{
	for (unsigned i = 0; i < pairs; i++) {
		*x = *x * UINT64_C(6364136223846793005) + 1442695040888963407;
		free(blocks[*x >> 56]);
		blocks[*x >> 56] = malloc(16 + (*x >> 40 & 511));
	}
}

static double run(void)
{
	static __thread void *blocks[BLOCKS];
	static __thread double slices[SLICES];
	uint64_t x = (uintptr_t)blocks, end = now() + (uint64_t)(seconds * 1e9);
	unsigned n = 0, pairs = 2000;

	while (n < SLICES) {
		uint64_t began = now(), took;

		if (began > end)
			break;
		slice(blocks, &x, pairs);
		took = now() - began;
		slices[n++] = (double)took / pairs;
		pairs = (unsigned)(slice_ns / (slices[n - 1] + 1)) + 100;
	}
	for (unsigned i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	qsort(slices, n, sizeof(*slices), compare);
	return slices[n * share / 100];
}

static __attribute__((noinline)) double deeper(unsigned n)
{
	volatile unsigned here = n;
	double result = n > 1 ? deeper(n - 1) : run();

	return here ? result : 0;
}

static void *thread(void *arg)
{
	*(double *)arg = deeper(depth);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned threads = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	static double results[64];
	pthread_t t[64];

	if (argc > 2)
		depth = (unsigned)atoi(argv[2]);
	if (argc > 3)
		seconds = atof(argv[3]);
	if (argc > 4)
		slice_ns = atof(argv[4]) * 1e3;
	if (argc > 5)
		share = (unsigned)atoi(argv[5]) % 100;
	for (unsigned i = 1; i < threads && i < 64; i++)
		pthread_create(&t[i], NULL, thread, &results[i]);
	thread(&results[0]);
	for (unsigned i = 1; i < threads && i < 64; i++)
		pthread_join(t[i], NULL);
	qsort(results, threads, sizeof(*results), compare);
	printf("%.2f\n", results[threads / 2]);
	return 0;
}
