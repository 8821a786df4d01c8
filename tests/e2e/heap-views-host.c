/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes memory in use of which the test knows more than its size.
 *
 *     heap-views-host ages     blocks that are two seconds old at the end (site_old), and new ones
 *                              (site_new); prints, for both, "old|new SECONDS", to be compared
 *     heap-views-host resident   blocks of which all (site_touched), half (site_half) or nothing
 *                              (site_untouched) was written to
 *     heap-views-host grow MB  allocates (site_grow) and writes to it without end, or until MB
 *     heap-views-host spare    small blocks of which one in eight is kept (site_kept)
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

SITE static void *site_touched(void)
{
	void *p = malloc(SIZE);

	return p ? memset(p, 1, SIZE) : NULL;
}

SITE static void *site_half(void)
{
	void *p = malloc(SIZE);

	return p ? memset(p, 1, SIZE / 2) : NULL;
}

SITE static void *site_untouched(void)
{
	void *p = malloc(SIZE);

	UNTOUCHED(p);
	return p;
}

static int resident(void)
{
	static void *blocks[3][BLOCKS];

	for (unsigned i = 0; i < BLOCKS; i++) {
		blocks[0][i] = site_touched();
		blocks[1][i] = site_half();
		blocks[2][i] = site_untouched();
	}
	UNTOUCHED(blocks);
	return 0;
}

SITE static void *site_grow(void)
{
	void *p = malloc(SIZE);

	return p ? memset(p, 1, SIZE) : NULL;
}

static int grow(long mb)
{
	for (long i = 0; !mb || i < mb; i++)
		if (!site_grow())
			return 3;
	/* For as long as the collector may take to look again. */
	nanosleep(&(struct timespec){ .tv_nsec = 300000000 }, NULL);
	return 0;
}

#define SMALL 1024
#define SMALLS 65536
#define KEEPS_ONE_IN 8

SITE static void *site_kept(void)
{
	void *p = malloc(SMALL);

	return p ? memset(p, 1, SMALL) : NULL;
}

static int spare(void)
{
	static void *blocks[SMALLS];

	for (unsigned i = 0; i < SMALLS; i++)
		blocks[i] = site_kept();
	for (unsigned i = 0; i < SMALLS; i++)
		if (i % KEEPS_ONE_IN)
			free(blocks[i]);
	UNTOUCHED(blocks);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "ages"))
		return ages();
	if (!strcmp(what, "resident"))
		return resident();
	if (!strcmp(what, "spare"))
		return spare();
	if (!strcmp(what, "grow"))
		return grow(argc > 2 ? atol(argv[2]) : 0);
	fprintf(stderr, "usage: heap-views-host ages|resident|spare|grow\n");
	return 2;
}
