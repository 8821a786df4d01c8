/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes memory in use of which the test knows more than its size.
 *
 *     heap-views-host ages     blocks that are two seconds old at the end (site_old), and new ones
 *                              (site_new); prints, for both, "old|new SECONDS", to be compared
 *     heap-views-host resident   blocks of which all (site_touched), half (site_half) or nothing
 *                              (site_untouched) was written to
 *     heap-views-host grow MB  allocates (site_grow) and writes to it without end, or until MB
 *     heap-views-host lifetimes  blocks with known lifetimes; prints, for each function that makes
 *                              them and each power of two ns, the least and the most number of
 *                              blocks that lived so long: "SITE POWER LEAST MOST"
 *     heap-views-host usable   blocks of odd sizes (site_odd_sizes); prints the bytes that the
 *                              allocator gave for them
 *     heap-views-host spare    small blocks of which one in eight is kept (site_kept)
 */
#include <malloc.h>

#include "system.h"

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

/* It writes another value than site_touched, because compilers make one function of equal ones. */
SITE static void *site_grow(void)
{
	void *p = malloc(SIZE);

	return p ? memset(p, 2, SIZE) : NULL;
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

#define ODD_SIZES 20000

SITE static void *site_odd_sizes(size_t size)
{
	void *p = malloc(size);

	return p ? memset(p, 3, size) : NULL;
}

static int usable(void)
{
	static void *blocks[ODD_SIZES];
	size_t sum = 0;

	for (unsigned i = 0; i < ODD_SIZES; i++) {
		blocks[i] = site_odd_sizes(1 + (size_t)i * 7919 % (i % 100 ? 2000 : 200000));
		sum += malloc_usable_size(blocks[i]);
	}
	UNTOUCHED(blocks);
	printf("%zu\n", sum);
	return 0;
}

/* A block is made between two readings of the clock, and freed between two others, so its lifetime
 * is known to lie between two values. */
struct span {
	void *p;
	uint64_t before, after; /* ns, around malloc */
};

#define POWERS 64
#define RESOLUTION 8192 /* ns: the profiler takes the middle of such a unit for a block's birth */

static unsigned least[4][POWERS], most[4][POWERS];

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static unsigned power_of(uint64_t ns)
{
	return ns >= RESOLUTION ? 63 - (unsigned)__builtin_clzll(ns) : 0;
}

static void lived(unsigned site, uint64_t short_ns, uint64_t long_ns)
{
	unsigned low = power_of(short_ns > RESOLUTION / 2 ? short_ns - RESOLUTION / 2 : 0);
	unsigned high = power_of(long_ns + RESOLUTION / 2);

	least[site][low] += low == high;
	for (unsigned i = low; i <= high; i++)
		most[site][i]++;
}

/* The sizes differ, so that the compiler does not make one function of all. */
#define MAKER(name, size)                                                                          \
	SITE static struct span name(void)                                                         \
	{                                                                                          \
		struct span s = { .before = now_ns() };                                            \
                                                                                                   \
		s.p = malloc(size);                                                                \
		UNTOUCHED(s.p);                                                                    \
		s.after = now_ns();                                                                \
		return s;                                                                          \
	}

MAKER(site_exponential, 100)
MAKER(site_bimodal, 101)
MAKER(site_handed_over, 102)
MAKER(site_kept_alive, 103)

static void unmake(unsigned site, const struct span *s)
{
	uint64_t before = now_ns();

	free(s->p);
	lived(site, before - s->after, now_ns() - s->before);
}

static void pause_ms(unsigned ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = (long)ms * 1000000 }, NULL);
}

/* At each step some blocks are made, and each of those that live ends with a chance of one in
 * eight: lifetimes are exponential. */
#define LIVE 4096

static void exponential(void)
{
	static struct span live[LIVE];
	unsigned count = 0, random = 1;

	for (unsigned step = 0; step < 100 || count; step++) {
		for (unsigned i = 0; step < 100 && i < 10; i++)
			live[count++] = site_exponential();
		pause_ms(1);
		for (unsigned i = count; i-- > 0;) {
			random = random * 1664525 + 1013904223;
			if (random >> 29)
				continue;
			unmake(0, &live[i]);
			live[i] = live[--count];
		}
	}
}

static void bimodal(void)
{
	static struct span old[100];
	struct span s;

	for (unsigned i = 0; i < 100; i++)
		old[i] = site_bimodal();
	for (unsigned i = 0; i < 1000; i++) {
		s = site_bimodal();
		unmake(1, &s);
	}
	pause_ms(200);
	for (unsigned i = 0; i < 100; i++)
		unmake(1, &old[i]);
}

#define HANDED 500
static struct span handed[HANDED];

SITE static void *take_over(void *unused)
{
	for (unsigned i = 0; i < HANDED; i++)
		unmake(2, &handed[i]);
	return unused;
}

static void hand_over(void)
{
	pthread_t t;

	for (unsigned i = 0; i < HANDED; i++)
		handed[i] = site_handed_over();
	if (pthread_create(&t, NULL, take_over, NULL))
		exit(4);
	pthread_join(t, NULL);
}

static int lifetimes(void)
{
	static struct span alive[50];

	for (unsigned i = 0; i < 50; i++)
		alive[i] = site_kept_alive();
	UNTOUCHED(alive);
	exponential();
	bimodal();
	hand_over();
	for (unsigned i = 0; i < POWERS; i++) {
		printf("site_exponential %u %u %u\n", i, least[0][i], most[0][i]);
		printf("site_bimodal %u %u %u\n", i, least[1][i], most[1][i]);
		printf("site_handed_over %u %u %u\n", i, least[2][i], most[2][i]);
	}
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
	if (!strcmp(what, "usable"))
		return usable();
	if (!strcmp(what, "lifetimes"))
		return lifetimes();
	if (!strcmp(what, "grow"))
		return grow(argc > 2 ? atol(argv[2]) : 0);
	fprintf(stderr, "usage: heap-views-host ages|resident|usable|lifetimes|spare|grow\n");
	return 2;
}
