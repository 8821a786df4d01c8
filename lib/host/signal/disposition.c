/* SPDX-License-Identifier: BSD-3-Clause */
/* The program's view of dispositions; see disposition.h. */
#include "host/signal/disposition.h"

#include <string.h>

#include "base/atomic.h"
#include "host/signal/restart.h"
#include "base/sys.h"

/* Sequence lock: odd while a slot is written. A writer takes the lock by changing it from even to
 * odd, with signals blocked and for a few stores only, so writers exclude each other. */
static struct {
	uint32_t sequence;
	struct cp_disposition d;
} table[65];

void cp_disposition_get(int sig, struct cp_disposition *d)
{
	uint32_t before;

	do {
		/* Acquire: pairs with the release that ends a write. */
		before = cp_load_acquire(&table[sig].sequence);
		*d = table[sig].d;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while ((before & 1) || cp_load_relaxed(&table[sig].sequence) != before);
}

void cp_disposition_set(int sig, const struct cp_disposition *d)
{
	uint64_t all = CP_SIGSET_ALL, old;
	uint32_t s;

	cp_sys_sigmask(SIG_SETMASK, &all, &old);
	do {
		s = cp_load_relaxed(&table[sig].sequence) & ~1u;
	} while (!cp_cas_acqrel(&table[sig].sequence, &s, s + 1));
	table[sig].d = *d;
	cp_store_release(&table[sig].sequence, s + 2);
	cp_sys_sigmask(SIG_SETMASK, &old, NULL);
}

bool cp_disposition_deliver(int sig, siginfo_t *si, ucontext_t *uc)
{
	uint64_t mask, all = CP_SIGSET_ALL;
	struct cp_disposition d;

	cp_disposition_get(sig, &d);
	if (d.handler == SIG_DFL || d.handler == SIG_IGN)
		return false;
	memcpy(&mask, &uc->uc_sigmask, sizeof(mask));
	mask |= d.mask;
	if (!(d.flags & SA_NODEFER))
		mask |= CP_SIGBIT(sig);
	if (d.flags & SA_RESETHAND) {
		struct cp_disposition reset = d;

		/* As in the kernel, flags and mask stay. */
		reset.handler = SIG_DFL;
		cp_disposition_set(sig, &reset);
	}
	cp_sys_sigmask(SIG_SETMASK, &mask, NULL);
	if (d.flags & SA_SIGINFO)
		d.action(sig, si, uc);
	else
		d.handler(sig);
	cp_sys_sigmask(SIG_SETMASK, &all, NULL);
	if (!(d.flags & SA_RESTART))
		cp_restart_end(uc);
	return true;
}

void cp_disposition_fork_child(void)
{
	for (int sig = 1; sig < 65; sig++)
		table[sig].sequence &= ~1u;
}
