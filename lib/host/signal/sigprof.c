/* SPDX-License-Identifier: BSD-3-Clause */
/* The handler of SIGPROF, which decides whose signal it is. See host_signal.h. */
#include "host/signal/host_signal.h"

#include <string.h>

#include "base/sys.h"

static const struct cp_sigprof_source *sources[CP_MODES];
static uint32_t added; /* modes that have a row, as bits */

static void (*end_process)(int sig, siginfo_t *si, void *uc);

void cp_sigprof_add(enum cprof_mode mode, const struct cp_sigprof_source *s)
{
	cp_store_release(&sources[mode], s);
	cp_or_seqcst(&added, UINT32_C(1) << mode);
}

void cp_sigprof_set_end(void (*end)(int sig, siginfo_t *si, void *uc))
{
	end_process = end;
}

/* Return the row of the lowest mode in LEFT, and take that mode out; NULL after the last. */
static const struct cp_sigprof_source *next_source(uint32_t *left)
{
	const struct cp_sigprof_source *s = *left ? sources[__builtin_ctz(*left)] : NULL;

	*left &= *left - 1;
	return s;
}

bool cp_sigprof_samples_come(void)
{
	const struct cp_sigprof_source *s;

	for (uint32_t left = cp_load_acquire(&added); (s = next_source(&left));)
		if (cp_load_relaxed(s->running))
			return true;
	return false;
}

static uint64_t value_of(const siginfo_t *si)
{
	return (uint64_t)(uintptr_t)si->si_value.sival_ptr;
}

static bool is_timer_of_ours(const siginfo_t *si)
{
	return si->si_code == SI_TIMER && (value_of(si) & CP_SIGPROF_TAG_MASK) == CP_SIGPROF_TAG;
}

static struct cp_thread *record_of(const siginfo_t *si)
{
	return cp_thread_at((uint32_t)(value_of(si) & CP_SIGPROF_INDEX_MASK));
}

static void source_expired(struct cp_thread *t, const siginfo_t *si, const ucontext_t *uc)
{
	uint64_t mode = (value_of(si) & ~CP_SIGPROF_TAG_MASK) >> CP_SIGPROF_MODE_SHIFT;

	if (mode < CP_MODES && sources[mode])
		sources[mode]->expired(t, si, uc);
}

static bool is_own(const struct cp_self *self)
{
	return self && self->thread && cp_load_relaxed(&self->thread->tid) == cp_sys_gettid();
}

/* Let each source look whether its events have happened. is_own makes a system call, which a sample
 * by a timer must not make, so it is called only if a source may find something. */
static void look_at_sources(const struct cp_self *self, const ucontext_t *uc)
{
	const struct cp_sigprof_source *s;

	for (uint32_t left = cp_load_acquire(&added); (s = next_source(&left));) {
		if (!s->look || !cp_load_relaxed(s->looks))
			continue;
		if (!is_own(self))
			return;
		s->look(self->thread, uc);
	}
}

/* The kernel keeps one signal for the events of two modes. They may have the same number, so each
 * mode is asked; or another number, so each looks. */
static bool take_sigprof(const siginfo_t *si, const ucontext_t *uc)
{
	const struct cp_sigprof_source *s;
	unsigned looking = 0;
	bool taken = false;

	for (uint32_t left = cp_load_acquire(&added); (s = next_source(&left));) {
		if (s->take && s->take(si, uc))
			taken = true;
		looking += s->look && cp_load_relaxed(s->looks);
	}
	if (taken && looking > 1)
		look_at_sources(cp_thread_self(), uc);
	return taken;
}

bool cp_sigprof_take(const siginfo_t *si, const ucontext_t *uc)
{
	const struct cp_self *self = cp_thread_self();
	bool timer = is_timer_of_ours(si);

	if (timer && si->si_timerid != CP_DEFERRED_WAKEUP)
		source_expired(record_of(si), si, uc);
	if (!timer && take_sigprof(si, uc))
		return true;
	look_at_sources(self, uc);
	return timer;
}

__attribute__((noinline)) void cp_sigprof_take_pending(const ucontext_t *uc)
{
	const uint64_t prof = CP_SIGBIT(SIGPROF);
	const struct timespec now = { 0 };
	siginfo_t si;

	while (cp_sys4(SYS_rt_sigtimedwait, &prof, &si, &now, sizeof(prof)) == SIGPROF)
		if (!cp_sigprof_take(&si, uc))
			cp_deferred_keep(&si);
}

/* Handle SI, which is no sample. Return true if SI is to be delivered to the program now. */
static bool from_program(const struct cp_self *self, const siginfo_t *si)
{
	bool own = self && self->prof_pending;

	/* This sample was the wake-up. */
	if (own && cp_sigprof_lacks_details(si))
		return false;
	if (self && self->prof_blocked) {
		cp_deferred_keep(si);
		return false;
	}
	if (own && si->si_code == SI_TKILL)
		cp_deferred_merge();
	return true;
}

/* Return true if a signal is deferred that SELF's thread takes. It may come from another thread in
 * which SIGPROF is blocked. */
static bool has_held(const struct cp_self *self)
{
	return self && !self->prof_blocked && cp_deferred_any();
}

/* Deliver SI, if it is DUE, or the deferred signals of the program. Return what the handler must
 * tail-call. Not inlined, so that a sample's handler needs no stack for it. */
__attribute__((noinline)) static cp_handler_function
deliver(const struct cp_self *self, bool due, siginfo_t *si, ucontext_t *uc, const void *restorer)
{
	struct cp_disposition d;

	for (; due || (has_held(self) && cp_deferred_take(si)); due = false) {
		cp_disposition_take(SIGPROF, &d);
		if (d.handler == SIG_DFL && end_process)
			end_process(SIGPROF, si, uc);
		if (d.handler == SIG_DFL || d.handler == SIG_IGN)
			continue;
		/* A next signal's handler runs after this one has ended, however it ends. */
		if (has_held(self)) {
			cp_sigprof_take_pending(uc);
			cp_deferred_wake_self();
		}
		if (!(d.flags & SA_RESTART))
			cp_restart_end(uc);
		return cp_handler_call(SIGPROF, uc, &d, restorer, cp_sigprof_samples_come());
	}
	return cp_handler_call_nothing;
}

/* Look at the mask and the alternate stack that are in force again when the handler has returned.
 */
static void see_context(const struct cp_self *self, ucontext_t *uc)
{
	uint64_t mask;

	if (!self)
		return;
	memcpy(&mask, &uc->uc_sigmask, sizeof(mask));
	cp_deferred_see(mask);
	if (self->thread)
		cp_altstack_see(self->thread, uc);
}

/* Return the thread's cp_self. A thread that libc didn't make may have no TLS in libc's place; the
 * record that the timer names tells. */
static const struct cp_self *on_timer(const siginfo_t *si, ucontext_t *uc)
{
	struct cp_thread *t = record_of(si);
	const struct cp_self *self = t && t->own_tls ? cp_thread_self() : NULL;

	see_context(self, uc);
	if (si->si_timerid != CP_DEFERRED_WAKEUP)
		source_expired(t, si, uc);
	/* While this signal was pending, the kernel dropped those of perf events. */
	look_at_sources(self, uc);
	return self;
}

/* Handle a signal that is no timer's. Sets *DUE if SI must be delivered to the program. */
static const struct cp_self *on_other(siginfo_t *si, ucontext_t *uc, bool *due)
{
	const struct cp_self *self = cp_thread_libc_self();

	/* A clone that shares its maker's TLS has its own mask. */
	if (is_own(self))
		see_context(self, uc);
	look_at_sources(self, uc);
	*due = from_program(self, si);
	return self;
}

static cp_handler_function handle_sigprof(siginfo_t *si, ucontext_t *uc, const void *restorer)
{
	const struct cp_self *self;
	bool due = false;

	if (is_timer_of_ours(si)) {
		self = on_timer(si, uc);
	} else if (take_sigprof(si, uc)) {
		self = cp_thread_self();
		see_context(self, uc);
	} else {
		self = on_other(si, uc, &due);
	}
	cp_restart_check(uc);
	return due || has_held(self) ? deliver(self, due, si, uc, restorer)
				     : cp_handler_call_nothing;
}

/* The call is a tail call, so the program's handler has the kernel's frame as its caller. */
void cp_sigprof_handle(int sig, siginfo_t *si, void *context)
{
	handle_sigprof(si, context, __builtin_return_address(0))(sig, si, context);
}
