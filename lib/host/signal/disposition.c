/* SPDX-License-Identifier: BSD-3-Clause */
/* The program's view of dispositions; see host_signal.h. */
#include "host/signal/host_signal.h"

#include "base/sys.h"

/* A sequence lock, odd while a slot is written. A writer makes it odd with signals blocked and for
 * a few stores only, so writers exclude each other. */
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

static void write_begins(int sig)
{
	uint32_t s;

	do {
		s = cp_load_relaxed(&table[sig].sequence) & ~1u;
	} while (!cp_cas_acqrel(&table[sig].sequence, &s, s + 1));
}

static void write_ends(int sig)
{
	cp_store_release(&table[sig].sequence, table[sig].sequence + 1);
}

void cp_disposition_set(int sig, const struct cp_disposition *d)
{
	uint64_t all = CP_SIGSET_ALL, old;

	cp_sys_sigmask(SIG_SETMASK, &all, &old);
	write_begins(sig);
	table[sig].d = *d;
	write_ends(sig);
	cp_sys_sigmask(SIG_SETMASK, &old, NULL);
}

void cp_disposition_take(int sig, struct cp_disposition *d)
{
	cp_disposition_get(sig, d);
	if (!(d->flags & (int)SA_RESETHAND) || d->handler == SIG_DFL || d->handler == SIG_IGN)
		return;
	/* Two threads may get the signal at once; the second one then gets the default. */
	write_begins(sig);
	*d = table[sig].d;
	/* Flags and mask stay, as in the kernel. */
	if (d->flags & (int)SA_RESETHAND)
		table[sig].d.handler = SIG_DFL;
	write_ends(sig);
}

void cp_disposition_fork_child(void)
{
	for (int sig = 1; sig < 65; sig++)
		if (table[sig].sequence & 1)
			table[sig].sequence &= ~1u;
}
