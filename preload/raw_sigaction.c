/* rt_sigaction past libc: programs reset all signals so between fork and exec (Chromium does, in
 * every child), and a child's timers are there by then: SIGPROF's default would end it.
 */
#include "raw_sigaction.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>

#include "signals.h"
#include "sigsafe/stackmem.h"
#include "sigsafe/sys.h"

#define PAGE UINT64_C(4096)

/* What can't be read or written is the kernel's to refuse. */
static bool is_there(const void *p)
{
	uint64_t first = (uint64_t)(uintptr_t)p, last = first + sizeof(struct cp_sys_sigaction) - 1;

	return !p || (first >= PAGE && last >= first && cp_stackmem_probe(first) &&
		      cp_stackmem_probe(last));
}

/* libc's struct, whose mask is longer and which has no restorer but libc's. */
static struct sigaction from_kernel(const struct cp_sys_sigaction *k)
{
	struct sigaction s;

	memset(&s, 0, sizeof(s));
	s.sa_handler = k->handler;
	s.sa_flags = (int)k->flags;
	memcpy(&s.sa_mask, &k->mask, sizeof(k->mask));
	return s;
}

static struct cp_sys_sigaction to_kernel(const struct sigaction *s)
{
	struct cp_sys_sigaction k = { .handler = s->sa_handler, .flags = (unsigned)s->sa_flags };

	memcpy(&k.mask, &s->sa_mask, sizeof(k.mask));
	return k;
}

bool cp_raw_sigaction(const long *a, long *result)
{
	const struct cp_sys_sigaction *act = (const void *)a[1];
	struct cp_sys_sigaction *old = (void *)a[2];
	struct sigaction to, from;
	int sig = (int)a[0];

	if (a[3] != sizeof(act->mask) || !cp_signals_are_ours(sig) || !is_there(act) ||
	    !is_there(old))
		return false;
	if (act)
		to = from_kernel(act);
	*result = cp_signals_sigaction(sig, act ? &to : NULL, &from);
	if (!*result && old)
		*old = to_kernel(&from);
	return true;
}
