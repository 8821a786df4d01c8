/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls handlers of the program as the kernel would; see host_signal.h. */
#include "host/signal/host_signal.h"

#include <string.h>

#include "base/sys.h"

uint32_t cp_handler_call_blocks_prof;

#define PAGE ((uintptr_t)4096)

void cp_handler_call_nothing(int sig, siginfo_t *si, void *uc)
{
}

/* Return the mask that the kernel would set. */
static uint64_t mask_of(int sig, const ucontext_t *uc, const struct cp_disposition *d)
{
	uint64_t mask;

	memcpy(&mask, &uc->uc_sigmask, sizeof(mask));
	mask |= d->mask;
	if (!(d->flags & SA_NODEFER))
		mask |= CP_SIGBIT(sig);
	return mask;
}

/* Return the mask for the handler with the frame UC. If SAMPLES come, they need room on a small
 * alternate stack; *NOW is then the stack that the kernel has. */
static uint64_t mask_with_room(int sig, const ucontext_t *uc, const struct cp_disposition *d,
			       bool samples, stack_t *now)
{
	uint64_t mask = mask_of(sig, uc, d);

	if (mask & CP_SIGBIT(SIGPROF) || !samples || cp_altstack_begin(uc, now))
		return mask;
	cp_store_relaxed(&cp_handler_call_blocks_prof, 1);
	return mask | CP_SIGBIT(SIGPROF);
}

/* A place for a frame: its lowest address, and the address below which the kernel writes it. */
struct place {
	uintptr_t low, top;
	bool fits, alternate;
};

/* Return the place where the kernel would have written a frame like UC's for D's handler. */
static struct place place_of(const ucontext_t *uc, const struct cp_disposition *d)
{
	const struct cp_altstack alternate = cp_altstack_of(uc);
	struct place to = { .fits = true };
	struct cp_regs regs;
	bool there;

	cp_regs_of_context(&regs, uc);
	there = cp_altstack_holds(&alternate, regs.r[CP_REG_SP]);
	to.alternate = there || ((d->flags & SA_ONSTACK) && alternate.size);
	to.top = to.alternate && !there ? alternate.low + alternate.size
					: regs.r[CP_REG_SP] - CP_FRAME_RED_ZONE;
	to.low = cp_frame_below(uc, to.top);
	if (CP_FRAME_MUST_FIT && to.alternate && to.low <= alternate.low)
		to.fits = false;
	return to;
}

/* Return whether the kernel can write at TO. The call writes the mask of the thread there; it also
 * makes a stack grow, as a frame would. */
static bool is_writable(const struct place *to)
{
	const uint64_t none = 0;

	for (uintptr_t at = to->low; at < to->top; at = (at & -PAGE) + PAGE)
		if (cp_sys4(SYS_rt_sigprocmask, SIG_BLOCK, &none, (at + 7) & -(uintptr_t)8,
			    sizeof(none)) < 0)
			return false;
	return true;
}

/* Send the SIGSEGV that the kernel forces on a thread whose stack has no room for a frame. It
 * arrives when the profiler's handler returns to UC. */
static void force_segv(ucontext_t *uc)
{
	uint64_t mask;
	siginfo_t si;

	memcpy(&mask, &uc->uc_sigmask, sizeof(mask));
	mask &= ~CP_SIGBIT(SIGSEGV);
	memcpy(&uc->uc_sigmask, &mask, sizeof(mask));
	memset(&si, 0, sizeof(si));
	si.si_signo = SIGSEGV;
	si.si_code = SI_KERNEL;
	cp_sys4(SYS_rt_tgsigqueueinfo, cp_sys_getpid(), cp_sys_gettid(), SIGSEGV, &si);
}

/* Let the return to UC call D's handler at TO. */
static void enter_handler(int sig, ucontext_t *uc, const struct cp_disposition *d,
			  const struct place *to, const void *restorer, bool samples)
{
	const ucontext_t *copy = (const ucontext_t *)(to->low + CP_FRAME_CONTEXT);
	uint64_t mask;

	if (!to->fits || !is_writable(to)) {
		force_segv(uc);
		return;
	}
	cp_frame_copy(uc, to->low, to->top);
	cp_context_enter(uc, (uintptr_t)d->action, sig, to->low, restorer);
	/* The kernel takes such an alternate stack away until the handler ends. */
	if ((unsigned)uc->uc_stack.ss_flags & SS_AUTODISARM)
		uc->uc_stack.ss_flags = SS_DISABLE;
	mask = mask_with_room(sig, copy, d, samples, &uc->uc_stack);
	memcpy(&uc->uc_sigmask, &mask, sizeof(mask));
}

cp_handler_function cp_handler_call(int sig, ucontext_t *uc, const struct cp_disposition *d,
				    const void *restorer, bool samples)
{
	uintptr_t low = cp_frame_low(uc), size = cp_frame_high(uc) - low;
	struct place to;
	stack_t now;
	uint64_t mask;

	cp_altstack_see_own(uc);
	to = place_of(uc, d);
	/* Overlapping frames are the same frame. A shadow stack holds the return addresses of the
	 * kernel's frames in their order. */
	if (to.low - low + size < 2 * size || cp_arch_has_shadow_stack()) {
		mask = mask_with_room(sig, uc, d, samples, &now);
		cp_sys_sigmask(SIG_SETMASK, &mask, NULL);
		return d->action;
	}
	enter_handler(sig, uc, d, &to, restorer, samples);
	return cp_handler_call_nothing;
}
