/* SPDX-License-Identifier: BSD-3-Clause */
/* Allocates known amounts at known places, and says so: one line a site,
 *
 *     site objects bytes objects-in-use bytes-in-use
 *
 * for the scripts to compare a heap profile with.
 *
 *     heap-sites sampled [SCALE]    sizes from 16 bytes to 64 MiB, half of each kept
 *     heap-sites exact              realloc chains, other threads' blocks, failed calls
 *     heap-sites leak BYTES         frees all but one planted leak
 *     heap-sites steps              on each line of its input: a number of MB to allocate and keep,
 * or 0 to free what is kept; answers with a line
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SITE __attribute__((noinline, noclone))
#define UNTOUCHED __asm__ volatile("" ::: "memory")

struct truth {
	const char *name;
	uint64_t objects, bytes, live_objects, live_bytes;
};

static struct truth truths[32];
static unsigned truth_count;
static pthread_mutex_t truth_lock = PTHREAD_MUTEX_INITIALIZER;

static struct truth *truth_of(const char *name)
{
	for (unsigned i = 0; i < truth_count; i++)
		if (!strcmp(truths[i].name, name))
			return &truths[i];
	truths[truth_count].name = name;
	return &truths[truth_count++];
}

static void allocated(const char *name, uint64_t bytes)
{
	struct truth *t;

	pthread_mutex_lock(&truth_lock);
	t = truth_of(name);
	t->objects++;
	t->bytes += bytes;
	t->live_objects++;
	t->live_bytes += bytes;
	pthread_mutex_unlock(&truth_lock);
}

static void freed(const char *name, uint64_t bytes)
{
	struct truth *t;

	pthread_mutex_lock(&truth_lock);
	t = truth_of(name);
	t->live_objects--;
	t->live_bytes -= bytes;
	pthread_mutex_unlock(&truth_lock);
}

static void say(void)
{
	static char line[256];

	for (unsigned i = 0; i < truth_count; i++) {
		const struct truth *t = &truths[i];
		int n = snprintf(line, sizeof(line), "%s %llu %llu %llu %llu\n", t->name,
				 (unsigned long long)t->objects, (unsigned long long)t->bytes,
				 (unsigned long long)t->live_objects,
				 (unsigned long long)t->live_bytes);

		fwrite(line, 1, (size_t)n, stdout);
	}
}

#define SAMPLED(name)                                                                              \
	static SITE void *name(size_t size)                                                        \
	{                                                                                          \
		void *p = malloc(size);                                                            \
                                                                                                   \
		UNTOUCHED;                                                                         \
		allocated(#name, size);                                                            \
		return p;                                                                          \
	}

SAMPLED(site_tiny)
SAMPLED(site_small)
SAMPLED(site_page)
SAMPLED(site_middle)
SAMPLED(site_large)
SAMPLED(site_huge)
SAMPLED(site_mixed)
SAMPLED(site_stacks)

/* Each bit of PATH is a call of one function or another, so each path has a stack of its own. */
static SITE void *left(unsigned path, unsigned steps, size_t size);
static SITE void *right(unsigned path, unsigned steps, size_t size);

#define WAY(name)                                                                                  \
	static SITE void *name(unsigned path, unsigned steps, size_t size)                         \
	{                                                                                          \
		void *p = !steps     ? site_stacks(size)                                           \
			  : path & 1 ? left(path >> 1, steps - 1, size)                            \
				     : right(path >> 1, steps - 1, size);                          \
                                                                                                   \
		UNTOUCHED;                                                                         \
		return p;                                                                          \
	}

WAY(left)
WAY(right)

static void *a_stack_each(size_t size)
{
	static unsigned path;

	return left(path++, 9, size);
}

static const struct {
	const char *name;
	void *(*allocate)(size_t);
	size_t size;
	unsigned count;
	size_t other;	/* one stack, small and large: of two in so many */
	unsigned every; /* 0 = none */
} sites[] = {
	{ "site_tiny", site_tiny, 16, 400000, 0, 0 },
	{ "site_small", site_small, 200, 100000, 0, 0 },
	{ "site_page", site_page, 5000, 8000, 0, 0 },
	{ "site_middle", site_middle, 100000, 400, 0, 0 },
	{ "site_large", site_large, 8 << 20, 6, 0, 0 },
	{ "site_huge", site_huge, 64 << 20, 2, 0, 0 },
	{ "site_mixed", site_mixed, 32, 64000, 300000, 640 },
	{ "site_stacks", a_stack_each, 700000, 400, 0, 0 },
};

static void exercise(size_t s, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		bool other = sites[s].every && i / 2 % (sites[s].every / 2) == 0;
		size_t size = other ? sites[s].other : sites[s].size;
		void *p = sites[s].allocate(size);

		if (i % 2)
			continue;
		free(p);
		freed(sites[s].name, size);
	}
}

/* "# site size count size count": the data from which the standard error follows. */
static void say_sizes(size_t s, unsigned count)
{
	unsigned large = sites[s].every ? count / sites[s].every * 2 : 0;

	printf("# %s %zu %u %zu %u\n", sites[s].name, sites[s].size, count - large, sites[s].other,
	       large);
}

static int sampled(unsigned scale)
{
	for (size_t s = 0; s < sizeof(sites) / sizeof(*sites); s++) {
		exercise(s, sites[s].count * scale);
		say_sizes(s, sites[s].count * scale);
	}
	say();
	return 0;
}

static SITE void *site_chain(void *p, size_t old, size_t size)
{
	void *to = realloc(p, size);

	UNTOUCHED;
	if (!to)
		return p;
	if (p)
		freed("site_chain", old);
	allocated("site_chain", size);
	return to;
}

static SITE void *site_zeros(size_t n, size_t size)
{
	void *p = calloc(n, size);

	UNTOUCHED;
	if (p)
		allocated("site_zeros", n * size);
	return p;
}

static SITE void *site_handed(size_t size)
{
	void *p = malloc(size);

	UNTOUCHED;
	allocated("site_handed", size);
	return p;
}

#define HANDED 2000
static void *handed[HANDED];
static uint64_t given, taken;

/* Blocks of one thread, freed by the other. */
static void *taker(void *arg)
{
	(void)arg;
	for (; taken < HANDED; taken++) {
		while (__atomic_load_n(&given, __ATOMIC_ACQUIRE) <= taken)
			;
		free(handed[taken]);
		freed("site_handed", 10 + taken);
	}
	return NULL;
}

static void chains(unsigned rounds)
{
	for (unsigned round = 0; round < rounds; round++) {
		size_t size = 1 + round;
		void *p = site_chain(NULL, 0, size);

		for (; size < 1 << 20; size = size * 3 + 7)
			p = site_chain(p, size, size * 3 + 7);
		/* One that fails leaves the block as it was. */
		p = site_chain(p, size, SIZE_MAX / 2);
		p = site_chain(p, size, 100);
		if (round % 5 == 0)
			continue;
		free(p);
		freed("site_chain", 100);
	}
}

static void *second(void *arg)
{
	(void)arg;
	chains(300);
	return NULL;
}

static int exact(void)
{
	pthread_t other, third;
	void *p;

	pthread_create(&other, NULL, taker, NULL);
	pthread_create(&third, NULL, second, NULL);
	for (uint64_t i = 0; i < HANDED; i++) {
		handed[i] = site_handed(10 + i);
		__atomic_store_n(&given, i + 1, __ATOMIC_RELEASE);
	}
	chains(300);
	for (int i = 0; i < 1000; i++) {
		p = site_zeros(3, 7);
		if (i % 3) {
			free(p);
			freed("site_zeros", 21);
		}
	}
	if (site_zeros(SIZE_MAX / 2, 16) || errno != ENOMEM)
		return 1;
	pthread_join(other, NULL);
	pthread_join(third, NULL);
	say();
	return 0;
}

static SITE void *planted_leak(size_t size)
{
	void *p = malloc(size);

	UNTOUCHED;
	allocated("planted_leak", size);
	return p;
}

static void *volatile kept;

/* Everything but every tenth of the planted site's blocks is given back. */
static int leak(uint64_t bytes)
{
	void *p;

	for (uint64_t left = bytes; left >= 1000; left -= 1000) {
		kept = planted_leak(1000);
		p = site_small(200);
		free(p);
		freed("site_small", 200);
		p = site_page(5000);
		free(p);
		freed("site_page", 5000);
	}
	say();
	return 0;
}

static SITE void *site_step(size_t size)
{
	void *p = malloc(size);

	UNTOUCHED;
	return p;
}

static int steps(void)
{
	static void *blocks[4096];
	unsigned count = 0, mb;

	while (scanf("%u", &mb) == 1) {
		for (unsigned i = 0; i < 64 * mb && count < 4096; i++)
			blocks[count++] = site_step(1 << 14);
		while (!mb && count)
			free(blocks[--count]);
		puts("done");
		fflush(stdout);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	static char buffer[4096];

	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	if (!strcmp(what, "sampled"))
		return sampled(argc > 2 ? (unsigned)atoi(argv[2]) : 1);
	if (!strcmp(what, "steps"))
		return steps();
	if (!strcmp(what, "exact"))
		return exact();
	if (!strcmp(what, "leak") && argc > 2)
		return leak(strtoull(argv[2], NULL, 10));
	return 2;
}
