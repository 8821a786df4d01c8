/* SPDX-License-Identifier: BSD-3-Clause */
/* rt_sigaction without libc's wrapper. Programs reset all signals this way between fork and exec
 * (Chromium does, in every child). A child's timers exist by then, so the default action of SIGPROF
 * would end the child.
 */
#include "hooks/hooks.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

#include "host/host.h"
#include "sample/ring.h"
#include "base/sys.h"

#define PAGE UINT64_C(4096)

#ifndef SA_RESTORER
#define SA_RESTORER 0x04000000ul /* where the kernel knows it */
#endif

/* Return false if P can't be read; the kernel then refuses the call. */
static bool can_be_read(const void *p)
{
	uint64_t first = (uint64_t)(uintptr_t)p, last = first + sizeof(struct cp_sys_sigaction) - 1;

	return !p || (first >= PAGE && last >= first && cp_stackmem_probe(first) &&
		      cp_stackmem_probe(last));
}

/* Convert to libc's struct, which has a longer mask and no restorer but libc's. */
static struct sigaction from_kernel(const struct cp_sys_sigaction *k)
{
	struct sigaction s;

	memset(&s, 0, sizeof(s));
	s.sa_handler = k->handler;
	s.sa_flags = (int)k->flags;
	memcpy(&s.sa_mask, &k->mask, sizeof(k->mask));
	return s;
}

/* Convert to the kernel's struct. TO comes from the kernel, and its restorer, libc's, stays. */
static void to_kernel(struct cp_sys_sigaction *to, const struct sigaction *s)
{
	to->flags = (unsigned)s->sa_flags | (to->flags & SA_RESTORER);
	to->handler = s->sa_handler;
	memcpy(&to->mask, &s->sa_mask, sizeof(to->mask));
}

static long refused(void)
{
	errno = EFAULT;
	return -1;
}

bool cp_raw_sigaction(const long *a, long *result)
{
	const struct cp_sys_sigaction *act = (const void *)a[1];
	struct cp_sys_sigaction *old = (void *)a[2];
	struct sigaction to, from;
	int sig = (int)a[0];

	if (a[3] != sizeof(act->mask) || !can_be_read(act))
		return false;
	if (act && (act->mask & CP_SIGBIT(SIGPROF)))
		cp_handler_mask_hidden();
	if (!cp_signals_are_ours(sig))
		return false;
	if (act)
		to = from_kernel(act);
	*result = old && cp_sys_sigaction(sig, NULL, old) < 0
			  ? refused()
			  : cp_signals_sigaction(sig, act ? &to : NULL, &from);
	if (!*result && old)
		to_kernel(old, &from);
	return true;
}
