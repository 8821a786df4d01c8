/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks whose frees libcprof can't see, blocks that fail to grow, and a fork child with blocks of
 * its own, which frees some of its parent's. */
#include "system.h"

#define SITE __attribute__((noinline, noclone, optimize("no-optimize-sibling-calls")))
extern int cprof_dump(const char *path) __attribute__((weak));

#define USED(p) __asm__ volatile("" : "+r"(p) : : "memory")

static void *kept[100], *grown[50], *unseen[100], *child[30];

SITE static void *site_kept(void)
{
	void *p = malloc(700);

	USED(p);
	return p;
}

SITE static void *site_grown(void *from)
{
	void *p = realloc(from, 3000);

	USED(p);
	return p;
}

SITE static void *site_unseen(void)
{
	void *p = malloc(5000);

	USED(p);
	return p;
}

SITE static void *site_child(void)
{
	void *p = malloc(900);

	USED(p);
	return p;
}

/* libc's own name of free, which no library interposes. */
static void free_unseen(void *p)
{
	static void (*hidden)(void *);
	void *f;

	if (!hidden) {
		f = dlsym(RTLD_DEFAULT, "__libc_free");
		if (!f)
			exit(5);
		memcpy(&hidden, &f, sizeof(f));
	}
	hidden(p);
}

static int run_child(void)
{
	for (unsigned i = 0; i < 30; i++)
		child[i] = site_child();
	for (unsigned i = 0; i < 50; i++)
		free(kept[i]);
	USED(child[0]);
	return 0;
}

int main(void)
{
	volatile size_t too_much = SIZE_MAX / 4;
	int status = -1;
	pid_t pid;

	for (unsigned i = 0; i < 100; i++)
		kept[i] = site_kept();
	for (unsigned i = 0; i < 50; i++) {
		grown[i] = site_grown(malloc(100));
		/* A block that doesn't grow stays. */
		if (realloc(grown[i], too_much))
			return 2;
	}
	for (unsigned i = 0; i < 100; i++)
		unseen[i] = site_unseen();
	for (unsigned i = 0; i < 100; i++)
		free_unseen(unseen[i]);
	for (unsigned i = 0; i < 100; i++)
		unseen[i] = site_unseen();
	for (unsigned i = 0; i < 100; i++)
		free(unseen[i]);
	/* The stacks have rows in the parent's profile, and none in the child's. */
	if (cprof_dump && cprof_dump(NULL) < 0)
		return 6;
	pid = fork();
	if (pid == 0)
		exit(run_child());
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 3;
	return status ? 4 : 0;
}
