/* Handlers that are called by way of ours; see passed.h. */
#include "passed.h"

#include <stdint.h>

#include "handler_mask.h"
#include "sigsafe/atomic.h"
#include "sigsafe/disposition.h"
#include "sigsafe/sys.h"

typedef void (*handler_function)(int, siginfo_t *, void *);

static const struct cp_passed_hooks *hooks;
static uint32_t armed[65]; /* the handler for one call has not had it yet */

/* Of two threads that get the signal at once, the second one finds the default. */
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

/* The last call is a jump: the program's handler has the stack that it would have without us. */
static void on_signal(int sig, siginfo_t *si, void *context)
{
	take(sig)(sig, si, context);
}

static void on_abort(int sig, siginfo_t *si, void *context)
{
	take(sig)(sig, si, context);
	if (si->si_code == SI_TKILL && si->si_pid == cp_sys_getpid())
		hooks->write();
}

void cp_passed_begin(const struct cp_passed_hooks *h)
{
	hooks = h;
}

bool cp_passed_wants(int sig, const struct sigaction *act)
{
	return cp_handler_mask_is_handler(act) &&
	       (sig == SIGABRT || (act->sa_flags & (int)SA_RESETHAND));
}

void cp_passed_fill(struct sigaction *ours, int sig, const struct sigaction *act)
{
	*ours = *act;
	ours->sa_sigaction = sig == SIGABRT ? on_abort : on_signal;
	ours->sa_flags = (act->sa_flags & ~(int)SA_RESETHAND) | SA_SIGINFO;
	cp_store_release(&armed[sig], 1);
}

bool cp_passed_is(const struct sigaction *act)
{
	return act->sa_sigaction == on_signal || act->sa_sigaction == on_abort;
}
