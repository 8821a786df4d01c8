/* SPDX-License-Identifier: BSD-3-Clause */
/* Two threads made by clone, without libc: the first has its maker's TLS, the
 * second one that isn't libc's. They run raw_thread; one that has ended has 0 in TIDS. */
#ifndef TEST_RAW_THREADS_H
#define TEST_RAW_THREADS_H

#include "host.h"

#define RAW_STACK_SIZE ((size_t)64 << 10)

static int tids[2];
static int raw_thread(void *arg);

/* As a foreign runtime may have it: readable from its base on, with nothing mapped below it, where
 * libc's variables would be. */
static void *foreign_tls(void)
{
	char *p = mmap(NULL, 2 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || mprotect(p + 4096, 4096, PROT_READ | PROT_WRITE))
		return NULL;
	return p + 4096;
}

static void start(int i)
{
	char *stack = mmap(NULL, RAW_STACK_SIZE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *tls = i ? foreign_tls() : NULL;

	EXPECT(stack != MAP_FAILED && (!i || tls));
	EXPECT(clone(raw_thread, stack + RAW_STACK_SIZE,
		     CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			     CLONE_SYSVSEM | CLONE_CHILD_CLEARTID | CLONE_PARENT_SETTID |
			     (i ? CLONE_SETTLS : 0),
		     (void *)(intptr_t)i, &tids[i], tls, &tids[i]) > 0);
}

#endif
