/* SPDX-License-Identifier: BSD-3-Clause */
/* A handler that jumps away, most often out of malloc and free. Then something is unloaded. The
 * blocks are such as the allocator gives without a lock. */
#include <setjmp.h>
#include <sys/time.h>

#include "system.h"

#define JUMPS 300

static sigjmp_buf back;
static volatile sig_atomic_t inside;
static void *volatile block;

static void on_alarm(int sig)
{
	(void)sig;
	if (!inside)
		return;
	inside = 0;
	siglongjmp(back, 1);
}

/* So that a stack takes a while. */
static __attribute__((noinline)) int descend(int depth)
{
	if (depth > 0)
		return descend(depth - 1) + 1;
	block = malloc(100);
	free(block);
	return 0;
}

static void jump(void)
{
	if (sigsetjmp(back, 1))
		return;
	inside = 1;
	for (;;)
		descend(60);
}

int main(void)
{
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { { 0, 0 }, { 0, 0 } };
	void *library = dlopen("libm.so.6", RTLD_NOW);

	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &often, NULL);
	for (volatile int i = 0; i < JUMPS; i++)
		jump();
	setitimer(ITIMER_REAL, &never, NULL);
	if (library)
		dlclose(library);
	puts("unloaded");
	return 0;
}
