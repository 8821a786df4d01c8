/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls by which the program restricts its own system calls: prctl(PR_SET_SECCOMP) and seccomp().
 * Called by syscall.c in ordinary context.
 *
 * Once a filter is active, each system call of the profiler may kill the process, so profiling ends
 * before the filter is set. Calls that the kernel is certain to refuse change nothing and do not
 * end profiling: questions whether seccomp exists, and attempts without the right to use it. In
 * doubt the call counts as one that succeeds.
 */
#include "hooks/hooks.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "session/session.h"

/* The kernel requires no new privileges, or CAP_SYS_ADMIN in the caller's own user namespace, which
 * capget reports. */
static bool has_right(void)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[_LINUX_CAPABILITY_U32S_3] = { { 0, 0, 0 } };

	if (cp_sys5(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 0)
		return true;
	return cp_sys2(SYS_capget, &h, d) < 0 ||
	       (d[CAP_TO_INDEX(CAP_SYS_ADMIN)].effective & CAP_TO_MASK(CAP_SYS_ADMIN));
}

/* Copy SIZE bytes at P. Returns 0 or a negative errno, also where the process may not read its own
 * memory this way. */
static int copy_of(void *to, const void *p, size_t size)
{
	long err = cp_sys_peek(to, (uint64_t)(uintptr_t)p, size);

	return err < 0 ? (int)err : 0;
}

/* Return true if P may be a valid program. Only the address of the first instruction is checked;
 * the kernel checks all of them. */
static bool is_program(const struct sock_fprog *p)
{
	struct sock_filter first;
	struct sock_fprog copy;
	int err = copy_of(&copy, p, sizeof(copy));

	if (err)
		return p && err != -EFAULT;
	return copy.len && copy.len <= BPF_MAXINSNS &&
	       copy_of(&first, copy.filter, sizeof(first)) != -EFAULT;
}

static bool restricts(unsigned long mode, unsigned long flags, const void *filter)
{
	if (mode == SECCOMP_SET_MODE_STRICT)
		return !flags && !filter;
	return mode == SECCOMP_SET_MODE_FILTER && is_program(filter) && has_right();
}

void cp_seccomp_begins(unsigned long mode, unsigned long flags, const void *filter)
{
	bool ours;

	cp_process_leave_others();
	ours = cp_profiled_is_this();
	if (!(ours || cp_capture_settings.unwinder) || !restricts(mode, flags, filter))
		return;
	cp_store_relaxed(&cp_capture_settings.restricted, true);
	if (ours)
		cp_session_retire("it restricts its system calls (seccomp)");
}
