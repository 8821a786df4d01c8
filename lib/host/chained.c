/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal chaining: calls the program's handlers from the profiler's; see host.h. */
#include "host/host.h"

#include <string.h>

static const struct cp_chained_hooks *hooks;
static uint32_t armed[65]; /* 1 = the one-call handler has not been called yet */

/* Return the handler to call for SIG, whose disposition is *D. If two threads get the signal of a
 * one-call handler at once, the second one gets the default. */
static cp_handler_function take_handler(int sig, struct cp_disposition *d)
{
	cp_disposition_get(sig, d);
	if (!(d->flags & (int)SA_RESETHAND))
		return d->action;
	if (hooks->is_ours() && !cp_exchange_acqrel(&armed[sig], 0))
		return hooks->default_of(sig);
	hooks->put_default(sig);
	return d->action;
}

static cp_handler_function begin_chained(int sig, ucontext_t *context, const void *restorer)
{
	struct cp_disposition d;
	cp_handler_function handler = take_handler(sig, &d);

	if (handler != d.action || !(d.flags & SA_ONSTACK))
		return handler;
	return cp_handler_call(sig, context, &d, restorer, cp_sigprof_samples_come());
}

/* The last call is a tail call, so the program's handler has the kernel's frame as its caller. */
static void on_signal(int sig, siginfo_t *si, void *context)
{
	begin_chained(sig, context, __builtin_return_address(0))(sig, si, context);
}

/* No handler of the profiler comes after that of the program, so the profile is written before. */
static void on_abort(int sig, siginfo_t *si, void *context)
{
	if (si->si_code == SI_TKILL && si->si_pid == cp_sys_getpid())
		hooks->write();
	begin_chained(sig, context, __builtin_return_address(0))(sig, si, context);
}

void cp_chained_begin(const struct cp_chained_hooks *h)
{
	hooks = h;
}

bool cp_chained_wants(int sig, const struct sigaction *act)
{
	return cp_handler_mask_is_handler(act) &&
	       (sig == SIGABRT || (act->sa_flags & (int)SA_RESETHAND));
}

bool cp_chained_wants_room(const struct sigaction *act)
{
	return cp_load_relaxed(&cp_deferred_on) && cp_handler_mask_is_handler(act) &&
	       (act->sa_flags & SA_ONSTACK);
}

void cp_chained_fill(struct sigaction *ours, int sig, const struct sigaction *act)
{
	*ours = *act;
	ours->sa_sigaction = sig == SIGABRT ? on_abort : on_signal;
	ours->sa_flags = (act->sa_flags & ~(int)SA_RESETHAND) | SA_SIGINFO;
	if (act->sa_flags & SA_ONSTACK)
		memset(&ours->sa_mask, 0xff, sizeof(ours->sa_mask));
	cp_store_release(&armed[sig], 1);
}

bool cp_chained_is(const struct sigaction *act)
{
	return act->sa_sigaction == on_signal || act->sa_sigaction == on_abort;
}
