/* SPDX-License-Identifier: BSD-3-Clause */
/* What grows with a program: bench/growth.sh runs this with and without profiles.
 *
 *     growth-host threads N    makes N threads that wait. Prints us a thread to make them; us of
 * CPU time a second of the whole process while all wait; resident KiB; us a thread to end them
 *     growth-host blocks N     allocates N blocks of 16 to 240 bytes and replaces some, at random
 * places. Prints ns a free and malloc; resident KiB; KiB of the blocks
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WAIT_SECONDS 1
#define REPLACED_SECONDS 0.3

static sem_t ended;

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static unsigned long resident(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	unsigned long kib = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "VmRSS: %lu", &kib);
	if (f)
		fclose(f);
	return kib;
}

static void *wait_for_end(void *arg)
{
	sem_wait(&ended);
	return arg;
}

static int threads(unsigned n)
{
	pthread_t *all = calloc(n, sizeof(*all));
	double began, made, used, joined;
	unsigned long kib;
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	sem_init(&ended, 0, 0);
	began = now(CLOCK_MONOTONIC);
	for (unsigned i = 0; i < n; i++)
		if (pthread_create(&all[i], &attr, wait_for_end, NULL))
			return 1;
	made = now(CLOCK_MONOTONIC) - began;
	/* Their start is not part of their cost while they wait. */
	sleep(1 + n / 5000);
	used = now(CLOCK_PROCESS_CPUTIME_ID);
	sleep(WAIT_SECONDS);
	used = now(CLOCK_PROCESS_CPUTIME_ID) - used;
	kib = resident();
	began = now(CLOCK_MONOTONIC);
	for (unsigned i = 0; i < n; i++)
		sem_post(&ended);
	for (unsigned i = 0; i < n; i++)
		pthread_join(all[i], NULL);
	joined = now(CLOCK_MONOTONIC) - began;
	printf("%.3f %.1f %lu %.3f\n", made * 1e6 / n, used * 1e6 / WAIT_SECONDS, kib,
	       joined * 1e6 / n);
	return 0;
}

static uint64_t next(uint64_t *x)
{
	*x = *x * UINT64_C(6364136223846793005) + 1442695040888963407;
	return *x >> 32;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int blocks(unsigned n)
{
	enum { SLICES = 100000, PAIRS = 500 };
	static double slices[SLICES];
	char **all = malloc(n * sizeof(*all));
	uint64_t x = 1, bytes = 0;
	unsigned taken = 0;
	double end;

	for (unsigned i = 0; i < n; i++) {
		size_t size = 16 + next(&x) % 225;

		bytes += size;
		all[i] = malloc(size);
		memset(all[i], 1, size);
	}
	end = now(CLOCK_MONOTONIC) + REPLACED_SECONDS;
	while (taken < SLICES && (!taken || now(CLOCK_MONOTONIC) < end)) {
		double began = now(CLOCK_MONOTONIC);

		for (unsigned i = 0; i < PAIRS; i++) {
			uint64_t at = next(&x) % n;

			free(all[at]);
			all[at] = malloc(16 + next(&x) % 225);
		}
		slices[taken++] = (now(CLOCK_MONOTONIC) - began) * 1e9 / PAIRS;
	}
	qsort(slices, taken, sizeof(*slices), by_value);
	printf("%.2f %lu %lu\n", slices[taken / 2], resident(), (unsigned long)(bytes >> 10));
	fflush(stdout);
	_exit(0);
}

int main(int argc, char **argv)
{
	unsigned n = argc == 3 ? (unsigned)atoi(argv[2]) : 0;

	if (n && !strcmp(argv[1], "threads"))
		return threads(n);
	if (n && !strcmp(argv[1], "blocks"))
		return blocks(n);
	fprintf(stderr, "usage: growth-host threads|blocks N\n");
	return 2;
}
