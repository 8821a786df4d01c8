/* SPDX-License-Identifier: BSD-3-Clause */
/* Fills pages and frees most blocks, and knows what is left on each page.
 *
 *     heap-census-host
 *
 * Prints for each function that makes blocks, and is the only one to do so:
 *
 *     SITE HELD SPACE OBJECTS SQUARES    the bytes that its blocks keep beyond their own, the bytes
 *                                        of its blocks on pages where one begins or ends, its
 *                                        blocks, and the sum over the pages of the squares of HELD
 *
 * A page's unused bytes are shared among its blocks in proportion to their bytes there plus one, as
 * lib/modes/heap/heap_census.c does.
 */
#include <malloc.h>

#include <algorithm>

#include "system.h"

#define SITE __attribute__((noinline))
#define PAGE page_size

struct block {
	uint64_t address, size;
	unsigned site;
};

static const uint64_t page_size = (uint64_t)sysconf(_SC_PAGESIZE);

/* The host's own memory comes from its data, so that only the sites allocate. */
static struct block blocks[400000];
static unsigned count;
static const char *const names[] = { "site_small",   "site_medium",  "site_large",  "site_new",
				     "site_aligned", "site_resized", "site_cleared" };
#define SITES (sizeof(names) / sizeof(*names))

static void *written(void *p, size_t size)
{
	if (!p)
		exit(3);
	memset(p, 1, size);
	__asm__ volatile("" : : "r"(p) : "memory");
	return p;
}

SITE static void *site_small(size_t size)
{
	return written(malloc(size), size);
}

SITE static void *site_medium(size_t size)
{
	return written(malloc(size + 1), size);
}

SITE static void *site_large(size_t size)
{
	return written(malloc(size + 2), size);
}

SITE static void *site_new(size_t size)
{
	return written(new char[size + 3], size);
}

SITE static void *site_aligned(size_t size)
{
	void *p = NULL;

	return posix_memalign(&p, 128, size + 4) ? NULL : written(p, size);
}

SITE static void *site_resized(size_t size)
{
	void *p = realloc(malloc(size / 2), size + 5);

	return written(p, size);
}

SITE static void *site_cleared(size_t size)
{
	return written(calloc(1, size + 6), size);
}

static void *(*const makers[SITES])(size_t) = { site_small,   site_medium,  site_large,	 site_new,
						site_aligned, site_resized, site_cleared };

static uint64_t draw(uint64_t *x)
{
	*x = *x * UINT64_C(6364136223846793005) + 1442695040888963407;
	return *x >> 33;
}

/* Make N blocks of LEAST to MOST bytes, and keep one in KEEPS. */
static void fill(unsigned site, unsigned n, size_t least, size_t most, unsigned keeps)
{
	unsigned first = count, kept = count;
	uint64_t x = site;

	for (unsigned i = 0; i < n; i++) {
		size_t size = least + draw(&x) % (most - least + 1);

		blocks[count++] = { (uintptr_t)makers[site](size), size + site, site };
	}
	for (unsigned i = first; i < count; i++) {
		if ((i - first) % keeps == 0)
			blocks[kept++] = blocks[i];
		else if (site == 3)
			delete[](char *) blocks[i].address;
		else
			free((void *)blocks[i].address);
	}
	count = kept;
}

/* Frees from another thread, of blocks that this one made. */
static void *fill_and_free(void *unused)
{
	fill(6, 20000, 16, 900, 20);
	return unused;
}

/* A block's part of a page on which it begins or ends. */
struct part {
	uint64_t page, bytes;
	unsigned site;
};

static struct part parts[2 * sizeof(blocks) / sizeof(*blocks)];
static unsigned part_count;

static void add_parts(const struct block &b)
{
	uint64_t first = b.address / PAGE, last = (b.address + b.size - 1) / PAGE;

	parts[part_count++] = { first, std::min(b.size, PAGE - b.address % PAGE), b.site };
	if (last != first)
		parts[part_count++] = { last, (b.address + b.size - 1) % PAGE + 1, b.site };
}

static uint64_t held[SITES], space[SITES], objects[SITES];
static double squares[SITES];

/* A page has the parts FIRST to BEYOND. */
static void look(unsigned first, unsigned beyond)
{
	uint64_t here[SITES] = {}, used = 0, all = 0;

	for (unsigned i = first; i < beyond; i++) {
		here[parts[i].site] += parts[i].bytes + 1;
		space[parts[i].site] += parts[i].bytes;
		used += parts[i].bytes;
		all += parts[i].bytes + 1;
	}
	for (unsigned s = 0; s < SITES; s++) {
		uint64_t sum = (PAGE - used) * here[s] / all;

		held[s] += sum;
		squares[s] += (double)(sum * sum);
	}
}

int main()
{
	pthread_t t;

	fill(0, 100000, 16, 64, 40);
	fill(1, 30000, 100, 1000, 16);
	fill(2, 3000, 3000, 20000, 3);
	fill(3, 30000, 20, 700, 20);
	fill(4, 5000, 10, 600, 10);
	fill(5, 20000, 30, 800, 15);
	if (pthread_create(&t, NULL, fill_and_free, NULL))
		return 4;
	pthread_join(t, NULL);
	for (unsigned i = 0; i < count; i++) {
		objects[blocks[i].site]++;
		add_parts(blocks[i]);
	}
	std::sort(parts, parts + part_count,
		  [](const struct part &a, const struct part &b) { return a.page < b.page; });
	for (unsigned i = 0, next; i < part_count; i = next) {
		for (next = i; next < part_count && parts[next].page == parts[i].page;)
			next++;
		look(i, next);
	}
	for (unsigned s = 0; s < SITES; s++)
		printf("%s %lu %lu %lu %.0f\n", names[s], (unsigned long)held[s],
		       (unsigned long)space[s], (unsigned long)objects[s], squares[s]);
	return 0;
}
