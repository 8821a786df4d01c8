/* SPDX-License-Identifier: BSD-3-Clause */
/* Tells whose unwinder jemalloc's own profiler has, and what it finds:
 *
 *     whose: FILE        the module of the hook; "none" without a jemalloc that profiles itself
 *     hook: N            the frames that the hook finds from here up to main
 *     own: N             the same of cprof_backtrace
 */
#include <stddef.h>

#include "system.h"
#include "cprof.h"

#define MOST 100

extern int mallctl(const char *, void *, size_t *, void *, size_t) __attribute__((weak));
extern __typeof__(cprof_backtrace) cprof_backtrace __attribute__((weak));

typedef void unwinder(void **frames, unsigned *depth, unsigned most);

int main(void);

static unwinder *hook;

/* The number of frames between the caller and main. */
static int frames_to_main(void *const *frames, int n)
{
	for (int i = 0; i < n; i++)
		if ((uintptr_t)frames[i] - (uintptr_t)main < 400)
			return i;
	return -1;
}

static int find(int own)
{
	void *frames[MOST];
	unsigned n = 0;

	if (!own)
		hook(frames, &n, MOST);
	else
		n = (unsigned)cprof_backtrace(frames, MOST);
	return frames_to_main(frames, (int)n);
}

static __attribute__((noinline)) int deeper(int levels, int own)
{
	int n = levels ? deeper(levels - 1, own) : find(own);

	__asm__ volatile("" : "+r"(n));
	return n;
}

int main(void)
{
	void *address = NULL;
	size_t size = sizeof(hook);
	Dl_info info = { 0 };

	if (mallctl && !mallctl("experimental.hooks.prof_backtrace", &hook, &size, NULL, 0) && hook)
		memcpy(&address, &hook, sizeof(address));
	printf("whose: %s\n", address && dladdr(address, &info) ? info.dli_fname : "none");
	if (address)
		printf("hook: %d\n", deeper(10, 0) > 10);
	if (cprof_backtrace)
		printf("own: %d\n", deeper(10, 1) > 10);
	return 0;
}
