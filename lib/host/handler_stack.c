/* SPDX-License-Identifier: BSD-3-Clause */
/* Which stack the profiler's handlers use; see host.h. */
#include "host/host.h"

#include <sys/auxv.h>

#include "base/base.h"

/* Room that the profiler's handlers may need on an alternate stack besides the kernel's frame. They
 * unwind and write files on their own stacks. (Half of this was measured.) */
#define STACK_NEED 1024
#define STACK_FRAME_LEAST 2048
#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

/* Why the profiler's handlers do not use the program's alternate stacks: one has no room for them,
 * several threads share one, or another thread makes one unwritable. Never cleared. */
enum { TOO_SMALL = 1, SHARED = 2, TAKEN = 4 };
static uint32_t unfit;
/* The same bits, set after the handlers in the kernel were changed. */
static uint32_t left;

int cp_handler_stack_flags(int sig)
{
	int flags = SA_SIGINFO | SA_RESTART;

	/* After a stack overflow there is no other stack. */
	if (!cp_load_relaxed(&unfit) || sig == SIGSEGV || sig == SIGBUS)
		flags |= SA_ONSTACK;
	return flags;
}

bool cp_handler_stack_is_useless(void)
{
	return (cp_load_relaxed(&unfit) & (TOO_SMALL | TAKEN)) != 0;
}

bool cp_handler_stack_is_alternate(void)
{
	stack_t now = { .ss_flags = 0 };

	cp_sys2(SYS_sigaltstack, NULL, &now);
	return (now.ss_flags & SS_ONSTACK) != 0;
}

/* Return true if another thread uses the alternate stack at BASE, too. */
static bool is_shared(uint64_t base, uint64_t size)
{
	struct cp_thread *t = cp_self.thread;

	/* A vfork's child has its parent's record, but its own alternate stack. */
	if (!t || cp_profiled_retired() || cp_load_relaxed(&t->tid) != cp_sys_gettid())
		return false;
	return cp_thread_shares_alternate(t, base, size);
}

uint32_t cp_handler_stack_look(void)
{
	size_t frame = getauxval(AT_MINSIGSTKSZ);
	stack_t now = { .ss_flags = SS_DISABLE };
	uint32_t why = 0;
	bool none;

	cp_altstack_change(NULL, &now);
	none = (now.ss_flags & SS_DISABLE) != 0;
	if (!none)
		cp_altstack_note(&now);
	if (is_shared(none ? 0 : (uint64_t)(uintptr_t)now.ss_sp, now.ss_size))
		why |= SHARED;
	if (!none && now.ss_size < (frame ? frame : STACK_FRAME_LEAST) + STACK_NEED)
		why |= TOO_SMALL;
	why &= ~cp_load_acquire(&left);
	cp_or_seqcst(&unfit, why);
	return why;
}

uint32_t cp_handler_stack_taken(void)
{
	uint32_t why = TAKEN & ~cp_load_acquire(&left);

	cp_or_seqcst(&unfit, why);
	return why;
}

void cp_handler_stack_left(uint32_t why)
{
	cp_or_seqcst(&left, why);
}

/* The CPU time in which any handler of the profiler ends. */
#define HANDLER_NS 5000000u
/* Of a millisecond each. A second is for threads that can't run; without /proc, where threads that
 * sleep look like them, less. */
#define PAUSES_MOST 1000
#define PAUSES_BLIND 5

/* A thread that waits by itself is in no handler of the profiler, and is not on its way there. */
static bool may_be_in_handler(int tid, int pauses)
{
	char text[128];
	int err;
	const char *stat = cp_thread_file_stat(tid, text, sizeof(text), &err);

	return stat ? *stat != 'S' && pauses < PAUSES_MOST : pauses < PAUSES_BLIND;
}

void cp_handler_stack_await(struct cp_thread *t)
{
	const struct timespec pause = { 0, 1000000 };
	int tid = cp_load_relaxed(&t->tid);
	uint64_t began = cp_sys_clock_ns(CP_THREAD_CLOCK(tid));

	for (int i = 0; may_be_in_handler(tid, i); i++) {
		cp_sys2(SYS_nanosleep, &pause, NULL);
		/* 0 if it has ended */
		if (cp_sys_clock_ns(CP_THREAD_CLOCK(tid)) - began >= HANDLER_NS)
			break;
	}
	cp_store_relaxed(&t->alternate_left, true);
}
