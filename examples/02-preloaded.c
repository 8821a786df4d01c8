/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that knows nothing of the profiler: two threads, one of them busier.
 *
 *     cc -O2 -g -pthread 02-preloaded.c -o 02-preloaded
 *     LD_PRELOAD=libcprof.so CPUPROFILE=02-preloaded.pb ./02-preloaded
 *       -> 148933 primes
 *     cprof top 02-preloaded.pb
 *       -> count_primes
 *       -> count_bits
 *     cprof tags 02-preloaded.pb
 *       -> primes
 *
 * And while it runs: kill -USR2 PID leaves 02-preloaded.0001.pb.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>

__attribute__((noinline)) static unsigned count_primes(unsigned limit)
{
	unsigned found = 0;

	for (unsigned n = 2; n < limit; n++) {
		unsigned d = 2;

		while (d * d <= n && n % d)
			d++;
		found += d * d > n;
	}
	return found;
}

__attribute__((noinline)) static unsigned long count_bits(unsigned long limit)
{
	unsigned long bits = 0;

	for (unsigned long n = 0; n < limit; n++)
		for (unsigned long m = n; m; m &= m - 1)
			bits++;
	return bits;
}

static void *primes(void *result)
{
	*(unsigned *)result = count_primes(2000000);
	return NULL;
}

static void *bits(void *result)
{
	*(unsigned long *)result = count_bits(12000000);
	return NULL;
}

int main(void)
{
	pthread_t a, b;
	unsigned found = 0;
	unsigned long counted = 0;

	pthread_create(&a, NULL, primes, &found);
	pthread_setname_np(a, "primes");
	pthread_create(&b, NULL, bits, &counted);
	pthread_setname_np(b, "bits");
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("%u primes, %lu bits\n", found, counted);
	return 0;
}
