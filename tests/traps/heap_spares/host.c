/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded: the places of old samples, which free recognizes by their address.
 *
 *     heap-spares alike     how many of a million frees, in 10,000, are of addresses with the tag
 *     heap-spares twice     frees blocks that look sampled twice, each in a child; how many of
 *                           them the allocator caught
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCKS 256
#define WARM 4000000
#define COUNTED 1000000
#define TAG 2048

static int has_tag(const void *p)
{
	return p && (uintptr_t)p % TAG == 0;
}

/* Blocks of 16 to 527 bytes, replaced one after the other. */
static void alike(void)
{
	static void *volatile blocks[BLOCKS];
	uint64_t x = 1;
	unsigned n = 0;

	for (unsigned i = 0; i < WARM + COUNTED; i++) {
		x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
		n += i >= WARM && has_tag(blocks[x >> 56]);
		free(blocks[x >> 56]);
		blocks[x >> 56] = malloc(16 + (x >> 40 & 511));
	}
	printf("%u\n", n / (COUNTED / 10000));
}

#define CHILDREN 20

/* 1: the child that freed P twice was ended for that. */
static int is_caught(void *p)
{
	int status = 0;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (!child) {
		void *volatile again = p;
		struct rlimit none = { 0, 0 };

		setrlimit(RLIMIT_CORE, &none);
		free(p);
		free(again);
		_exit(0);
	}
	waitpid(child, &status, 0);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void twice(void)
{
	unsigned seen = 0, caught = 0;

	while (seen < CHILDREN) {
		void *p = malloc(1000);

		/* Others are kept, so that all are new ones. */
		if (!has_tag(p))
			continue;
		seen++;
		caught += (unsigned)is_caught(p);
	}
	printf("%u\n", caught);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "alike"))
		alike();
	else if (!strcmp(what, "twice"))
		twice();
	else
		return 2;
	return 0;
}
