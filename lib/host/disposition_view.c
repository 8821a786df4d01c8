/* SPDX-License-Identifier: BSD-3-Clause */
/* Dispositions as the program sees them; see host.h. */
#include "host/host.h"

#include <string.h>

/* The flags and mask bits that libc and the kernel change when the program sets a disposition and
 * reads it back. */
#ifdef __x86_64__
#define LIBC_FLAGS 0x04000000 /* SA_RESTORER */
#else
#define LIBC_FLAGS 0
#endif
#define KERNEL_FLAGS                                                                               \
	(SA_NOCLDSTOP | SA_NOCLDWAIT | SA_SIGINFO | SA_ONSTACK | SA_RESTART | SA_NODEFER |         \
	 (int)SA_RESETHAND | 0x800 /* SA_EXPOSE_TAGBITS */)

void cp_disposition_view_take(struct cp_disposition *d, const struct sigaction *act)
{
	d->handler = act->sa_handler;
	d->flags = act->sa_flags;
	memcpy(&d->mask, &act->sa_mask, sizeof(d->mask));
}

void cp_disposition_view_keep(struct cp_disposition *d, const struct sigaction *act)
{
	cp_disposition_view_take(d, act);
	d->flags = (d->flags & KERNEL_FLAGS) | LIBC_FLAGS;
	d->mask &= ~(CP_SIGBIT(SIGKILL) | CP_SIGBIT(SIGSTOP));
}

void cp_disposition_view_fill(struct sigaction *act, const struct cp_disposition *d)
{
	memset(act, 0, sizeof(*act));
	act->sa_handler = d->handler;
	act->sa_flags = d->flags;
	memcpy(&act->sa_mask, &d->mask, sizeof(d->mask));
}

void cp_disposition_view_get(int sig, struct sigaction *act)
{
	struct cp_disposition d;

	cp_disposition_get(sig, &d);
	cp_disposition_view_fill(act, &d);
}
