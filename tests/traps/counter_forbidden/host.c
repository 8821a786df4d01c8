/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that forbids itself the processor's time-stamp counter, for the sake of determinism or
 * against attacks by timing: who reads the counter then is killed. Nothing here reads it, nor asks
 * the vdso for the time, which does.
 *
 *   counter-forbidden libc      by prctl()
 *   counter-forbidden syscall   by syscall()
 */
#include <sys/prctl.h>

#include "host.h"
#include "mutex_word.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *volatile block;

static void forbid(const char *how)
{
	if (!strcmp(how, "libc"))
		EXPECT(prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0);
	else
		EXPECT(syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) == 0);
}

__attribute__((noinline)) static void allocate(void)
{
	for (int i = 0; i < 20000; i++) {
		block = malloc(64);
		free(block);
	}
}

static void *waits(void *arg)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	return arg;
}

/* The other thread inherits that the counter is forbidden. */
__attribute__((noinline)) static void contend(void)
{
	const struct timespec moment = { 0, 1000000 };
	pthread_t t;

	pthread_mutex_lock(&lock);
	EXPECT(pthread_create(&t, NULL, waits, NULL) == 0);
	while (!mutex_is_awaited(&lock))
		sched_yield();
	syscall(SYS_nanosleep, &moment, NULL);
	pthread_mutex_unlock(&lock);
	EXPECT(pthread_join(t, NULL) == 0);
}

__attribute__((noinline)) static void forbidden(void)
{
	burn(0.3);
	allocate();
	for (int i = 0; i < 30; i++)
		contend();
}

int main(int argc, char **argv)
{
	uint64_t (*now)(void) = NULL;
	void *f = dlsym(RTLD_DEFAULT, "cprof_now");
	int mode = 0;

	memcpy(&now, &f, sizeof(f));
	if (argc < 2)
		return 2;
	contend();
	forbid(argv[1]);
	EXPECT(prctl(PR_GET_TSC, &mode) == 0 && mode == PR_TSC_SIGSEGV);
	forbidden();
	if (now)
		EXPECT(now() > 0);
	puts("done");
	HOST_END();
}
