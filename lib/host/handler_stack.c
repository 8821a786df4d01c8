/* SPDX-License-Identifier: BSD-3-Clause */
/* Which stack the profiler's handlers use; see host.h. */
#include "host/host.h"

#include <sys/auxv.h>

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
static bool is_shared(uint64_t base)
{
	struct cp_thread *t = cp_self.thread;

	/* A vfork's child has its parent's record, but its own alternate stack. */
	if (!t || cp_profiled_retired() || cp_load_relaxed(&t->tid) != cp_sys_gettid())
		return false;
	return cp_thread_shares_alternate(t, base);
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
	if (is_shared(none ? 0 : (uint64_t)(uintptr_t)now.ss_sp))
		why |= SHARED;
	if (!none && now.ss_size < (frame ? frame : STACK_FRAME_LEAST) + STACK_NEED)
		why |= TOO_SMALL;
	why &= ~cp_load_acquire(&left);
	cp_or_seqcst(&unfit, why);
	return why;
}

uint32_t cp_handler_stack_look_at(const void *at, size_t size)
{
	uint32_t why = TAKEN & ~cp_load_acquire(&left);

	if (!why || !cp_thread_has_alternate(at, size))
		return 0;
	cp_or_seqcst(&unfit, why);
	return why;
}

void cp_handler_stack_left(uint32_t why)
{
	cp_or_seqcst(&left, why);
}
