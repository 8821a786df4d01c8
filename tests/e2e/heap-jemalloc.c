/* SPDX-License-Identifier: BSD-3-Clause */
/* Every function of jemalloc that is hooked, from two threads, and what it gave: lines as
 * heap-sites prints them. Linked with libjemalloc.a by heap-jemalloc-static.sh.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 1000
#define SITE __attribute__((noinline, noclone))
#define UNTOUCHED __asm__ volatile("" ::: "memory")
#define ALIGNED_64 6 /* of jemalloc's flags: log2 */

void *mallocx(size_t size, int flags);
void *rallocx(void *p, size_t size, int flags);
size_t xallocx(void *p, size_t size, size_t extra, int flags);
void dallocx(void *p, int flags);
void sdallocx(void *p, size_t size, int flags);

static SITE void *site_posix(void)
{
	void *p = NULL;

	if (posix_memalign(&p, 64, 100))
		abort();
	UNTOUCHED;
	return p;
}

#define SITE_OF(name, call)                                                                        \
	static SITE void *name(void)                                                               \
	{                                                                                          \
		void *p = call;                                                                    \
                                                                                                   \
		UNTOUCHED;                                                                         \
		return p;                                                                          \
	}
SITE_OF(site_plain, malloc(33))
SITE_OF(site_aligned, aligned_alloc(64, 192))
SITE_OF(site_memalign, memalign(128, 77))
SITE_OF(site_valloc, valloc(55))
SITE_OF(site_calloc, calloc(3, 7))
SITE_OF(site_mallocx, mallocx(300, ALIGNED_64))
SITE_OF(site_renew, realloc(NULL, 40))

static SITE void *site_rallocx(void *p)
{
	p = rallocx(p, 9000, 0);
	UNTOUCHED;
	return p;
}

static SITE void site_xallocx(void *p)
{
	/* In its size class, so in place; then to what there is no room for. */
	if (xallocx(p, 9100, 0, 0) < 9100 || xallocx(p, (size_t)1 << 40, 0, 0) >= (size_t)1 << 40)
		abort();
	UNTOUCHED;
}

static void *run(void *arg)
{
	void *(*const sites[])(void) = { site_plain,  site_posix,  site_aligned, site_memalign,
					 site_valloc, site_calloc, site_mallocx, site_renew };

	(void)arg;
	for (int round = 0; round < ROUNDS; round++) {
		void *p;

		for (size_t i = 0; i < sizeof(sites) / sizeof(*sites); i++) {
			p = sites[i]();
			/* Of each ten, one stays. */
			if (round % 10)
				free(p);
		}
		p = site_rallocx(mallocx(10, 0));
		site_xallocx(p);
		if (round % 2)
			dallocx(p, 0);
		else
			sdallocx(p, 9100, 0);
	}
	return NULL;
}

static void say(const char *site, unsigned long size, unsigned long kept)
{
	unsigned long n = 2 * ROUNDS;

	printf("%s %lu %lu %lu %lu\n", site, n, n * size, kept, kept * size);
}

int main(void)
{
	pthread_t other;

	if (pthread_create(&other, NULL, run, NULL))
		return 1;
	run(NULL);
	pthread_join(other, NULL);
	say("site_plain", 33, ROUNDS / 5);
	say("site_posix", 100, ROUNDS / 5);
	say("site_aligned", 192, ROUNDS / 5);
	say("site_memalign", 77, ROUNDS / 5);
	say("site_valloc", 55, ROUNDS / 5);
	say("site_calloc", 21, ROUNDS / 5);
	say("site_mallocx", 300, ROUNDS / 5);
	say("site_renew", 40, ROUNDS / 5);
	say("site_rallocx", 9000, 0);
	say("site_xallocx", 9100, 0);
	return 0;
}
