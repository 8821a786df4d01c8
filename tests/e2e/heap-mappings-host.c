/* SPDX-License-Identifier: BSD-3-Clause */
/* Maps and unmaps, in pieces, over each other, by mremap and sbrk; a fork child that unmaps its
 * parent's. The script knows what is left. */
#include "system.h"

#define SITE static __attribute__((noinline)) void *
#define STAY __asm__ volatile("" ::: "memory")
#define K quarter /* of a page: 1 KiB where pages have 4 */

static size_t quarter;

static void *map(size_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* The name in it keeps the compiler from making one function of all. */
#define MAPS(name)                                                                                 \
	SITE name(size_t size)                                                                     \
	{                                                                                          \
		void *p = map(size);                                                               \
                                                                                                   \
		__asm__ volatile("# " #name ::: "memory");                                         \
		return p;                                                                          \
	}
MAPS(site_kept)
MAPS(site_gone)
MAPS(site_holes)
MAPS(site_covered)
MAPS(site_parents)

SITE site_over(char *at, size_t size)
{
	void *p = mmap(at, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	STAY;
	return p;
}

SITE site_moved(void *p, size_t old, size_t size)
{
	void *to = mremap(p, old, size, MREMAP_MAYMOVE);

	STAY;
	return to;
}

SITE site_break(intptr_t more)
{
	void *p = sbrk(more);

	STAY;
	return p;
}

/* The kernel gives an address again as soon as it can. */
SITE site_churned(size_t size)
{
	for (int i = 0; i < 3000; i++) {
		char *p = map(size);

		munmap(p, size / 2);
		munmap(p + size / 2, size / 2);
	}
	STAY;
	return NULL;
}

static void *churn(void *arg)
{
	return site_churned((size_t)(uintptr_t)arg);
}

static int child(char *p)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		_exit(munmap(p, 1000 * K) || site_kept(7 * K * 4) == MAP_FAILED);
	waitpid(pid, &status, 0);
	return status;
}

int main(void)
{
	char *p;
	pthread_t t[2];

	quarter = (size_t)sysconf(_SC_PAGESIZE) / 4;
	/* A size that isn't whole pages takes whole ones. */
	site_kept(100 * K - 5);
	p = site_gone(64 * K);
	munmap(p, 64 * K - 100);
	/* 100 pages less the first, the last, and 10 in the middle. */
	p = site_holes(400 * K);
	munmap(p, 4 * K);
	munmap(p + 396 * K, 4 * K);
	munmap(p + 200 * K, 40 * K);
	munmap(p + 200 * K, 40 * K);
	/* 20 K of it lie under another. */
	p = site_covered(80 * K);
	site_over(p + 30 * K - 2 * K, 20 * K);
	/* Two mappings and the hole between them, at once. Nobody else's lie between these. */
	p = site_gone(24 * K);
	site_over(p + 12 * K, 12 * K);
	munmap(p + 8 * K, 4 * K);
	munmap(p, 24 * K);
	p = site_gone(40 * K);
	p = site_moved(p, 40 * K, 4000 * K);
	p = site_moved(p, 4000 * K, 8 * K);
	/* Refused: nothing changes. */
	if (munmap((void *)1, 4096) != -1 || errno != EINVAL || map(0) != MAP_FAILED ||
	    munmap(p, 0) != -1)
		return 1;
	site_break(100 * K);
	site_break(-40 * (intptr_t)K);
	for (uintptr_t i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, churn, (void *)(i * 8 * K + 8 * K));
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	return child(site_parents(1000 * K));
}
