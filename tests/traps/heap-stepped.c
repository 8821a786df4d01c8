/* Linked: a handler comes behind each instruction of an allocation, one in each round, and changes
 * what the allocation relies on: that its thread isn't paused. Every allocation is a sample, and
 * none is left out. Says how many there were.
 *
 *     heap-stepped FILE
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include "cprof.h"

#define NOINLINE __attribute__((noinline))
#define WARM 4
#define STEPS_MAX 5000u

#if defined(__x86_64__)
#define TRAP_FLAG 0x100

static volatile unsigned step, seen, changed;

static void on_trap(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)sig;
	(void)info;
	if (seen++ != step)
		return;
	uc->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
	changed++;
	cprof_thread_pause();
	cprof_thread_resume();
}

/* All from one place of one stack. */
static NOINLINE void site_stepped(void)
{
	for (unsigned i = 0; i <= WARM; i++) {
		void *volatile p;

		if (i == WARM)
			__asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::
						 : "memory", "cc");
		p = malloc(10);
		__asm__ volatile("pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
		free(p);
	}
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
	/* Until a whole allocation takes fewer instructions. */
	do {
		changed = seen = 0;
		site_stepped();
		step++;
	} while (changed && step < STEPS_MAX);
	printf("%u\n", step * (WARM + 1));
	return cprof_stop() || step < 50 || step == STEPS_MAX;
}

#else

int main(void)
{
	return 77; /* no flag that makes each instruction trap */
}

#endif
