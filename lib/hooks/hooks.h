/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of lib/hooks/ share and offer, by the file that implements it. */
#ifndef CP_HOOKS_HOOKS_H
#define CP_HOOKS_HOOKS_H

#include <stdbool.h>

/* seccomp.c
 *
 * Detects calls by which the program restricts its system calls; see seccomp.c.
 */

/* Call before seccomp; MODE is one of SECCOMP_SET_MODE_*. Ends the profile, unless the kernel is
 * certain to refuse the call. */
void cp_seccomp_begins(unsigned long mode, unsigned long flags, const void *filter);

/* unsignalled.c
 *
 * Threads that must get no signal for a sample. Their CPU time and their perf events are unsampled,
 * and the wall clock sees only where they wait. Other threads stay sampled, and so does a child
 * that such a thread forks.
 */

/* Why; a thread may have several reasons. */
enum cp_unsignalled_reason {
	CP_UNSIGNALLED_TRACED = 1, /* unsignalled.c */
	CP_UNSIGNALLED_CAUGHT = 2, /* unsignalled.c */
};

/* Stops the signals to the calling thread; a pending one is handled before this returns. Returns
 * false, and changes nothing, if the thread isn't sampled or has this reason already. */
bool cp_unsignalled_begin(enum cp_unsignalled_reason reason);
/* Takes the reason back. The signals start again if it was the last one. Does nothing if the
 * calling thread doesn't have it. */
void cp_unsignalled_end(enum cp_unsignalled_reason reason);

/* prctl(PR_SET_SYSCALL_USER_DISPATCH), by which a thread has its system calls caught. */

/* Returns whether OPTION of prctl is that one. */
bool cp_dispatch_is(int option);
/* The call, with its arguments A. Returns prctl's result, with errno. */
int cp_dispatch_prctl(const unsigned long *a);

#endif
