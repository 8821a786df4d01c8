/* SPDX-License-Identifier: BSD-3-Clause */
/* Allocates fast for a second, then slowly for two, and keeps some blocks, for heap-budget.sh.
 * Prints the bytes of each function. */
#include "host.h"

#define KEPT 4000
#define FAST_RATE 4e9 /* bytes a second */
#define FAST_SIZE ((size_t)8 << 10)
#define KEPT_SIZE ((size_t)100 << 10)
#define SLOW_SIZE ((size_t)20 << 10)

static void *kept[KEPT];
static unsigned long fast_bytes, slow_bytes;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

__attribute__((noinline, noipa)) static void fast(void)
{
	for (int i = 0; i < 100; i++) {
		void *p = malloc(FAST_SIZE);

		EXPECT(p);
		free(p);
		fast_bytes += FAST_SIZE;
	}
}

__attribute__((noinline, noipa)) static void keeps(unsigned *n)
{
	if (*n < KEPT)
		EXPECT(kept[(*n)++] = malloc(KEPT_SIZE));
}

__attribute__((noinline, noipa)) static void slow(void)
{
	void *p = malloc(SLOW_SIZE);

	EXPECT(p);
	free(p);
	slow_bytes += SLOW_SIZE;
}

int main(void)
{
	double start = now(), end = start + 1;
	unsigned n = 0;

	while (now() < end) {
		fast();
		keeps(&n);
		/* No faster than on a busy machine. */
		while ((double)fast_bytes > FAST_RATE * (now() - start) && now() < end)
			usleep(100);
	}
	end = now() + 2;
	while (now() < end) {
		slow();
		usleep(500);
	}
	/* What was kept while the interval was another one. */
	for (unsigned i = 0; i < n; i += 2)
		free(kept[i]);
	printf("fast %lu\nkeeps %lu\nslow %lu\nin_use %lu\n", fast_bytes,
	       n * (unsigned long)KEPT_SIZE, slow_bytes, n / 2 * (unsigned long)KEPT_SIZE);
	HOST_END();
}
