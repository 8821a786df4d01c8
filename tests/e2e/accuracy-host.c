/* SPDX-License-Identifier: BSD-3-Clause */
/* Ground truth: four functions with 50, 30, 15 and 5 % of the CPU time, in every thread.
 * Usage: accuracy-host CPU-SECONDS [THREADS [TURN-MS]]. Prints the share that each really had, by
 * the threads' CPU clocks, and the figures of getrusage for the whole process.
 *
 * The functions take turns of random length, far from the kernel's tick and from the
 * sampling period, so that nothing runs in step; who is furthest behind its share is next.
 */
#include <sys/resource.h>

#include "system.h"

#define FUNCTIONS 4
#define THREADS_MAX 256

/* Mean length of a turn. Far under the sampling period, samples are independent of each
 * other; far over it, each turn is measured to a period. */
static unsigned turn_us = 1000;

struct worker {
	pthread_t thread;
	uint64_t budget_ns, random, spent_ns[FUNCTIONS];
};

static const unsigned wanted[FUNCTIONS] = { 50, 30, 15, 5 };

/* The same code four times; the constant keeps the linker from folding them. */
#define FUNCTION(name, seed)                                                                       \
	__attribute__((noinline)) uint64_t name(unsigned units);                                   \
	__attribute__((noinline)) uint64_t name(unsigned units)                                    \
	{                                                                                          \
		uint64_t x = seed;                                                                 \
                                                                                                   \
		for (unsigned i = 0; i < units * 500; i++) {                                       \
			x ^= x << 13;                                                              \
			x ^= x >> 7;                                                               \
			x ^= x << 17;                                                              \
			__asm__ volatile("" : "+r"(x));                                            \
		}                                                                                  \
		return x;                                                                          \
	}

FUNCTION(takes_50, 88172645463325252u)
FUNCTION(takes_30, 88172645463325253u)
FUNCTION(takes_15, 88172645463325254u)
FUNCTION(takes_5, 88172645463325255u)

static uint64_t (*const functions[FUNCTIONS])(unsigned) = { takes_50, takes_30, takes_15, takes_5 };
static const char *const names[FUNCTIONS] = { "takes_50", "takes_30", "takes_15", "takes_5" };

static uint64_t thread_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static unsigned next_random(struct worker *w)
{
	w->random = w->random * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(w->random >> 33);
}

static int next_function(const struct worker *w)
{
	uint64_t least = UINT64_MAX;
	int next = 0;

	for (int i = 0; i < FUNCTIONS; i++)
		if (w->spent_ns[i] / wanted[i] < least) {
			least = w->spent_ns[i] / wanted[i];
			next = i;
		}
	return next;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	uint64_t begin = thread_ns(), now = begin;

	while (now - begin < w->budget_ns) {
		int f = next_function(w);
		uint64_t before = now,
			 end = now + 1000 * (uint64_t)(next_random(w) % (2 * turn_us));

		do
			functions[f](1 + next_random(w) % 1000);
		while ((now = thread_ns()) < end);
		w->spent_ns[f] += now - before;
	}
	return NULL;
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static void print(const struct worker *workers, int threads)
{
	double sums[FUNCTIONS] = { 0 }, all = 0;
	struct rusage used;

	for (int f = 0; f < FUNCTIONS; f++)
		for (int i = 0; i < threads; i++)
			sums[f] += (double)workers[i].spent_ns[f];
	for (int f = 0; f < FUNCTIONS; f++)
		all += sums[f];
	for (int f = 0; f < FUNCTIONS; f++)
		printf("%s %.4f\n", names[f], 100 * sums[f] / all);
	getrusage(RUSAGE_SELF, &used);
	printf("total %.6f\n", seconds(used.ru_utime) + seconds(used.ru_stime));
}

int main(int argc, char **argv)
{
	static struct worker workers[THREADS_MAX];
	double total = argc > 1 ? atof(argv[1]) : 2;
	int threads = argc > 2 ? atoi(argv[2]) : 2;

	if (argc > 3)
		turn_us = 1000 * (unsigned)atoi(argv[3]);
	if (turn_us < 1 || threads < 1 || threads > THREADS_MAX)
		return 3;
	for (int i = 0; i < threads; i++) {
		struct worker *w = &workers[i];

		w->budget_ns = (uint64_t)(total * 1e9) / (unsigned)threads;
		w->random = (uint64_t)time(NULL) * 2654435761u + (unsigned)i;
		if (i && pthread_create(&w->thread, NULL, work, w))
			return 3;
	}
	work(&workers[0]);
	for (int i = 1; i < threads; i++)
		pthread_join(workers[i].thread, NULL);
	print(workers, threads);
	return 0;
}
