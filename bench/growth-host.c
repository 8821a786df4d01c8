/* SPDX-License-Identifier: BSD-3-Clause */
/* What grows with a program: bench/growth.sh runs this with and without profiles.
 *
 *     growth-host threads N    makes N threads that wait. Prints us a thread to make them; us of
 * CPU time a second of the whole process while all wait; resident KiB; us of CPU time a
 * thread to end them
 *     growth-host blocks N     allocates N blocks of 16 to 240 bytes and replaces some, at random
 * places. Prints ns a free and malloc; resident KiB; KiB of the blocks
 *     growth-host stacks N     a malloc and its free on each of N different stacks. Prints ns a
 * pair; resident KiB; ms from the begin of main to its end
 *     growth-host crowd N      makes 900 threads a second that end at once, for N seconds. Prints
 * resident KiB after half of them; at the end
 *     growth-host alive N      makes N threads that wait, and ends while they do. Prints ms from
 * the begin of main to its end
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

/* Makes N threads that wait, until they do. Returns the seconds that it took to make them. */
static double make_waiting(pthread_t *all, unsigned n)
{
	double began = now(CLOCK_MONOTONIC), made;
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	sem_init(&ended, 0, 0);
	for (unsigned i = 0; i < n; i++)
		if (pthread_create(&all[i], &attr, wait_for_end, NULL))
			exit(1);
	made = now(CLOCK_MONOTONIC) - began;
	/* Their start is not part of their cost while they wait, nor is the first look at each: a
	 * profiler that takes 5 % of a core for it has seen 2,000 a second. */
	sleep(1 + n / 1000);
	return made;
}

static int threads(unsigned n)
{
	pthread_t *all = calloc(n, sizeof(*all));
	double began, made = make_waiting(all, n), used, joined;
	unsigned long kib;

	used = now(CLOCK_PROCESS_CPUTIME_ID);
	sleep(WAIT_SECONDS);
	used = now(CLOCK_PROCESS_CPUTIME_ID) - used;
	kib = resident();
	began = now(CLOCK_PROCESS_CPUTIME_ID);
	for (unsigned i = 0; i < n; i++)
		sem_post(&ended);
	for (unsigned i = 0; i < n; i++)
		pthread_join(all[i], NULL);
	joined = now(CLOCK_PROCESS_CPUTIME_ID) - began;
	printf("%.3f %.1f %lu %.3f\n", made * 1e6 / n, used * 1e6 / WAIT_SECONDS, kib,
	       joined * 1e6 / n);
	return 0;
}

static int alive(unsigned n)
{
	double began = now(CLOCK_MONOTONIC);

	make_waiting(calloc(n, sizeof(pthread_t)), n);
	printf("%.1f\n", (now(CLOCK_MONOTONIC) - began) * 1e3);
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

typedef void turn(unsigned bits, unsigned left);
static turn turn_left, turn_right;
static turn *const turns[] = { turn_left, turn_right };
static volatile unsigned turned;

static __attribute__((noinline)) void turn_on(unsigned bits, unsigned left)
{
	if (left)
		turns[bits & 1](bits >> 1, left - 1);
	else
		free(malloc(64));
	turned++;
}

static __attribute__((noinline)) void turn_left(unsigned bits, unsigned left)
{
	turn_on(bits, left);
	turned += 2;
}

static __attribute__((noinline)) void turn_right(unsigned bits, unsigned left)
{
	turn_on(bits, left);
	turned += 3;
}

/* The odd factor makes neighbours have little in common. */
static int stacks(unsigned n)
{
	double began = now(CLOCK_MONOTONIC), took;

	for (unsigned i = 0; i < n; i++)
		turn_on((unsigned)(i * UINT64_C(2654435761) % n), 20);
	took = now(CLOCK_MONOTONIC) - began;
	printf("%.1f %lu %.1f\n", took * 1e9 / n, resident(), took * 1e3);
	return 0;
}

static void *end_at_once(void *arg)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&mutex);
	for (unsigned i = 0; i < 20000; i++)
		turned++;
	pthread_mutex_unlock(&mutex);
	if (write(*(int *)arg, arg, 1) < 0)
		return NULL;
	return arg;
}

static int crowd(unsigned seconds)
{
	enum { RATE = 900, AT_ONCE = 8 };
	double began = now(CLOCK_MONOTONIC);
	unsigned long half = 0;
	pthread_t some[AT_ONCE];
	char bytes[AT_ONCE];
	int ends[2];

	if (pipe(ends))
		return 1;
	for (unsigned made = 0; made < seconds * RATE; made += AT_ONCE) {
		while (now(CLOCK_MONOTONIC) - began < (double)made / RATE)
			usleep(500);
		for (unsigned i = 0; i < AT_ONCE; i++)
			if (pthread_create(&some[i], NULL, end_at_once, &ends[1]))
				return 1;
		for (unsigned i = 0; i < AT_ONCE; i++)
			pthread_join(some[i], NULL);
		if (read(ends[0], bytes, AT_ONCE) < 0)
			return 1;
		if (!half && made >= seconds * RATE / 2)
			half = resident();
	}
	printf("%lu %lu\n", half, resident());
	return 0;
}

int main(int argc, char **argv)
{
	unsigned n = argc == 3 ? (unsigned)atoi(argv[2]) : 0;

	if (n && !strcmp(argv[1], "threads"))
		return threads(n);
	if (n && !strcmp(argv[1], "blocks"))
		return blocks(n);
	if (n && !strcmp(argv[1], "stacks"))
		return stacks(n);
	if (n && !strcmp(argv[1], "crowd"))
		return crowd(n);
	if (n && !strcmp(argv[1], "alive"))
		return alive(n);
	fprintf(stderr, "usage: growth-host threads|blocks|stacks|crowd|alive N\n");
	return 2;
}
