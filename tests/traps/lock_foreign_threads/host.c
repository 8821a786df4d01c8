/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that libc doesn't know wait in futexes through its syscall(): with their maker's TLS, and
 * with their own, which holds none of libc's data.
 */
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "raw-threads.h"

#define TURNS 150

static uint32_t word[2]; /* never changes: a wait that fails would set errno, which isn't there */
static uint32_t asleep[2];

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
