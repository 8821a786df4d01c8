/* SPDX-License-Identifier: BSD-3-Clause */
/* Syscall User Dispatch: the kernel turns system calls of a thread into SIGSYS, as Wine and
 * emulators ask for.
 *
 * The return from a signal handler is a system call, too. If a sample's SIGPROF came while the
 * calls are caught, its return would be caught: the thread would go on in the middle of nowhere. So
 * such a thread gets no signals for samples until it ends the dispatch. The byte by which a program
 * tells the kernel that calls are to be caught changes too often to be followed.
 *
 * A failed call changes nothing. A child that is forked, and a new thread, have no dispatch.
 */
#include "hooks/hooks.h"

#include <linux/prctl.h>

#include "base/base.h"
#include "host/real.h"

/* <linux/prctl.h> has them since Linux 5.11. */
#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_OFF 0
#endif

bool cp_dispatch_is(int option)
{
	return option == PR_SET_SYSCALL_USER_DISPATCH;
}

int cp_dispatch_prctl(const unsigned long *a)
{
	bool off = a[0] == PR_SYS_DISPATCH_OFF;
	bool began = !off && cp_unsignalled_begin(CP_UNSIGNALLED_CAUGHT);
	int result = CP_REAL(prctl)(PR_SET_SYSCALL_USER_DISPATCH, a[0], a[1], a[2], a[3]);

	if (began && result)
		cp_unsignalled_end(CP_UNSIGNALLED_CAUGHT);
	else if (began)
		cp_notes_note(
			CP_NOTE_CAUGHT,
			"a thread had its system calls caught (PR_SET_SYSCALL_USER_DISPATCH): "
			"no samples of it meanwhile");
	if (off && !result)
		cp_unsignalled_end(CP_UNSIGNALLED_CAUGHT);
	return result;
}
