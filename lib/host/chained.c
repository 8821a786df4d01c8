/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal chaining: calls the program's handlers from the profiler's; see chained.h. */
#include "host/chained.h"

#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include "host/handler_mask.h"
#include "host/signal/altstack.h"
#include "base/atomic.h"
#include "host/signal/disposition.h"
#include "host/signal/sigprof.h"
#include "base/sys.h"

typedef void (*handler_function)(int, siginfo_t *, void *);

static const struct cp_chained_hooks *hooks;
static uint32_t armed[65]; /* 1 = the one-call handler has not been called yet */

/* Return the handler to call for SIG. If two threads get the signal of a one-call handler at once,
 * the second one gets the default. */
static handler_function take(int sig)
{
	struct cp_disposition d;

	cp_disposition_get(sig, &d);
	if (!(d.flags & (int)SA_RESETHAND))
		return d.action;
	if (hooks->is_ours() && !cp_exchange_acqrel(&armed[sig], 0))
		return hooks->end;
	hooks->put_default(sig);
	return d.action;
}

/* Unblock all signals except those that the kernel would have blocked in the handler. */
static void let_in(int sig, const ucontext_t *context)
{
	uint64_t before, mask, added = cp_handler_mask_added(sig);
	struct cp_disposition d;

	cp_disposition_get(sig, &d);
	memcpy(&before, &context->uc_sigmask, sizeof(before));
	mask = before | (d.mask & ~added);
	if (!(d.flags & SA_NODEFER))
		mask |= CP_SIGBIT(sig);
	if (cp_sigprof_samples_come() && !cp_altstack_begin(context))
		mask |= CP_SIGBIT(SIGPROF);
	cp_sys_sigmask(SIG_SETMASK, &mask, NULL);
}

static handler_function begin(int sig, const ucontext_t *context)
{
	handler_function handler = take(sig);
	struct cp_disposition d;

	cp_disposition_get(sig, &d);
	if ((d.flags & SA_ONSTACK) && handler != hooks->end)
		let_in(sig, context);
	return handler;
}

/* The last call is a tail call, so the program's handler has the stack that it would have without
 * the profiler. */
static void on_signal(int sig, siginfo_t *si, void *context)
{
	begin(sig, context)(sig, si, context);
}

static void on_abort(int sig, siginfo_t *si, void *context)
{
	begin(sig, context)(sig, si, context);
	if (si->si_code == SI_TKILL && si->si_pid == cp_sys_getpid())
		hooks->write();
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
	return cp_handler_mask_is_handler(act) && (act->sa_flags & SA_ONSTACK) &&
	       !(act->sa_flags & (int)SA_RESETHAND);
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
