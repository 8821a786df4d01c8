/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes memory in use of which the test knows more than its size.
 *
 *     heap-views-host ages     blocks that are two seconds old at the end (site_old), and new ones
 *                              (site_new); prints, for both, "old|new SECONDS", to be compared
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SITE __attribute__((noinline, noclone))
#define UNTOUCHED(p) __asm__ volatile("" : : "r"(p) : "memory")
#define BLOCKS 200
#define SIZE (1u << 20)

static void *kept[2][BLOCKS];

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

SITE static void site_old(void)
{
	for (unsigned i = 0; i < BLOCKS; i++)
		kept[0][i] = malloc(SIZE);
	UNTOUCHED(kept);
}

SITE static void site_new(void)
{
	for (unsigned i = 0; i < BLOCKS; i++)
		kept[1][i] = malloc(SIZE);
	UNTOUCHED(kept);
}

static int ages(void)
{
	double old, young;

	site_old();
	old = now();
	while (now() - old < 2.1)
		nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
	young = now();
	site_new();
	/* The blocks of one site are older than this, those of the other one younger than the whole
	 * process. */
	printf("old %.3f\nnew %.3f\n", now() - old, now() - young);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "ages"))
		return ages();
	fprintf(stderr, "usage: heap-views-host ages\n");
	return 2;
}
