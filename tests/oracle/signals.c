/* SPDX-License-Identifier: BSD-3-Clause */
/* The program's signal handlers are stepped through too; see oracle.h.
 *
 * The kernel clears the trap flag for a handler. sigaction is interposed: a wrapper puts the
 * signal's frame on the shadow stack, sets the flag again, and calls the program's handler. SIGTRAP
 * stays the oracle's.
 */
#include "oracle.h"

#include <dlfcn.h>
#include <string.h>
#include <ucontext.h>

#define SIGNALS 65
#define TRAP_FLAG 0x100
#define EXPORT __attribute__((visibility("default")))

typedef void (*handler_function)(int, siginfo_t *, void *);

static struct sigaction programs[SIGNALS];

static int real_sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	static int (*real)(int, const struct sigaction *, struct sigaction *);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "sigaction");
	return real(sig, act, old);
}

static __attribute__((noinline)) void wrapper(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	uint64_t cfa = (uint64_t)__builtin_dwarf_cfa();
	handler_function f = programs[sig].sa_sigaction;
	struct oracle_call interrupted = { .slot = cfa + 8,
					   .ra = (uint64_t)uc->uc_mcontext.gregs[REG_RIP],
					   .exact = true };
	struct oracle_call trampoline = { .slot = cfa - 8,
					  .ra = (uint64_t)__builtin_return_address(0),
					  .exact = true };

	if (!(uc->uc_mcontext.gregs[REG_EFL] & TRAP_FLAG) || !oracle_pause(true)) {
		f(sig, info, context);
		return;
	}
	oracle_shadow_push(&interrupted);
	oracle_shadow_push(&trampoline);
	oracle_pause(false);
	__asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
	f(sig, info, context);
	oracle_pause(true); /* the next instruction's trap clears the flag */
	__asm__ volatile("nop" ::: "memory");
	oracle_shadow_pop(cfa + 9);
	oracle_resume_at((uint64_t)uc->uc_mcontext.gregs[REG_RIP],
			 (uint64_t)uc->uc_mcontext.gregs[REG_RSP]);
}

EXPORT int sigaction(int sig, const struct sigaction *restrict act, struct sigaction *restrict old)
{
	struct sigaction ours, before;
	int result;

	if (!oracle_is_on() || sig <= 0 || sig >= SIGNALS)
		return real_sigaction(sig, act, old);
	before = programs[sig];
	if (sig == SIGTRAP || !act || act->sa_handler == SIG_DFL || act->sa_handler == SIG_IGN) {
		result = sig == SIGTRAP ? 0 : real_sigaction(sig, act, old);
	} else {
		ours = *act;
		ours.sa_sigaction = wrapper;
		ours.sa_flags |= SA_SIGINFO;
		sigdelset(&ours.sa_mask, SIGTRAP);
		programs[sig] = *act;
		result = real_sigaction(sig, &ours, old);
	}
	if (old && (sig == SIGTRAP || old->sa_sigaction == wrapper))
		*old = before;
	return result;
}

void oracle_sigaction(int sig, const struct sigaction *act)
{
	real_sigaction(sig, act, NULL);
}
