/* SPDX-License-Identifier: BSD-3-Clause */
/* Linked: a handler runs after each instruction of an allocation, one in each round, and changes a
 * fact on which the allocation relies: that its thread isn't paused. Every allocation is a sample,
 * and none is left out. Says how many there were.
 *
 *     heap-stepped FILE
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "cprof.h"

#define NOINLINE __attribute__((noinline))
#define WARM 4

#if defined(__x86_64__)
#include "stepped.h"

static void on_trap(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	if (!stepped_comes(context))
		return;
	cprof_thread_pause();
	cprof_thread_resume();
}

/* All from one place of one stack. */
static NOINLINE void site_stepped(void)
{
	for (unsigned i = 0; i <= WARM; i++) {
		void *volatile p;

		if (i == WARM)
			TRACE();
		p = malloc(10);
		DONT_TRACE();
		free(p);
	}
}

/* The first function of its stack: musl's below main has no table, and each walk through it would
 * block the signal of the steps, which kills the program. */
static NOINLINE void rounds(void)
{
	__asm__ volatile(".cfi_undefined rip");
	/* Until a whole allocation takes fewer instructions. */
	do {
		came = seen = 0;
		site_stepped();
		step++;
	} while (came && step < STEPS_MAX);
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	struct cprof_options o = CPROF_OPTIONS_INIT;

	if (argc < 2)
		return 2;
	o.heap_path = argv[1];
	o.heap_interval = 1;
	if (cprof_start(&o) || sigaction(SIGTRAP, &sa, NULL))
		return 3;
	rounds();
	printf("%u\n", step * (WARM + 1));
	return cprof_stop() || step < 50 || step == STEPS_MAX;
}

#else

int main(void)
{
	return 77; /* no flag that makes each instruction trap */
}

#endif
