/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that libc doesn't know wait in futexes through its syscall(): with their maker's TLS, and
 * with their own, which holds none of libc's data.
 */
#include <linux/futex.h>
#include <sched.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host.h"

#define STACK_SIZE ((size_t)64 << 10)
#define TURNS 150
#define FLAGS                                                                                      \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |        \
	 CLONE_CHILD_CLEARTID | CLONE_PARENT_SETTID)

static uint32_t word[2]; /* never changes: a wait that fails would set errno, which isn't there */
static uint32_t asleep[2];
static int tids[2];

/* Waits till the word changes. A result of 0 needs no errno; that it is asleep is awaited by
 * others. */
__attribute__((optimize("no-stack-protector"))) static int raw_thread(void *arg)
{
	int i = (int)(intptr_t)arg;

	for (uint32_t turn = 0; turn < TURNS; turn++) {
		__atomic_store_n(&asleep[i], turn + 1, __ATOMIC_SEQ_CST);
		syscall(SYS_futex, &word[i], FUTEX_WAIT_PRIVATE, 0, NULL);
	}
	return 0;
}

/* As a foreign runtime may have it: readable from its base on, with nothing mapped below. */
static void *foreign_tls(void)
{
	char *p = mmap(NULL, 2 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || mprotect(p + 4096, 4096, PROT_READ | PROT_WRITE))
		return NULL;
	return p + 4096;
}

static void start(int i)
{
	char *stack =
		mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *tls = i ? foreign_tls() : NULL;

	EXPECT(stack != MAP_FAILED && (!i || tls));
	EXPECT(clone(raw_thread, stack + STACK_SIZE, FLAGS | (i ? CLONE_SETTLS : 0),
		     (void *)(intptr_t)i, &tids[i], tls, &tids[i]) > 0);
}

/* In the kernel's queue, or not yet: then the wake finds nobody, and is made again. */
static void wake(int i, uint32_t turn)
{
	struct timespec moment = { 0, 1000000 };

	while (__atomic_load_n(&asleep[i], __ATOMIC_SEQ_CST) != turn + 1)
		nanosleep(&moment, NULL);
	do {
		nanosleep(&moment, NULL);
	} while (syscall(SYS_futex, &word[i], FUTEX_WAKE_PRIVATE, 1) != 1);
}

int main(void)
{
	struct timespec moment = { 0, 1000000 };

	for (int i = 0; i < 2; i++)
		start(i);
	for (uint32_t turn = 0; turn < TURNS; turn++)
		for (int i = 0; i < 2; i++)
			wake(i, turn);
	for (int i = 0; i < 2; i++)
		while (__atomic_load_n(&tids[i], __ATOMIC_SEQ_CST))
			nanosleep(&moment, NULL);
	printf("both came to their end\n");
	HOST_END();
}
