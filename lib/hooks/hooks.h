/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of lib/hooks/, by the file that implements them. */
#ifndef CP_HOOKS_HOOKS_H
#define CP_HOOKS_HOOKS_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

#include "base/libc.h"

/* signal.c
 *
 * The system call sigaltstack, with libc's result, and two versions of pthread_kill.
 */

int cp_signal_altstack(const stack_t *ss, stack_t *old);

__attribute__((visibility("default"))) int pthread_kill_before_2_34(pthread_t thread, int sig);
__attribute__((visibility("default"))) int pthread_kill_of_2_34(pthread_t thread,
								int sig) CP_LIBC_PTHREAD_KILL;

/* unsignalled.c
 *
 * Threads that must get no signal for a sample. Their CPU time and their perf events are unsampled,
 * and the wall clock sees only where they wait. Other threads stay sampled, and so does a child
 * that such a thread forks.
 */

/* Reasons; a thread may have several. */
enum cp_unsignalled_reason {
	CP_UNSIGNALLED_TRACED = 1, /* see PTRACE_TRACEME in unsignalled.c */
	CP_UNSIGNALLED_CAUGHT = 2, /* see Syscall User Dispatch in unsignalled.c */
};

/* Stops the signals to the calling thread; a pending one is handled before this returns. Returns
 * false, and changes nothing, if the thread isn't sampled or has this reason already. */
bool cp_unsignalled_begin(enum cp_unsignalled_reason reason);
/* Take REASON back. The signals start again after the last reason. Does nothing if the calling
 * thread doesn't have REASON. */
void cp_unsignalled_end(enum cp_unsignalled_reason reason);

/* prctl(PR_SET_SYSCALL_USER_DISPATCH): the calling thread's system calls become signals. */

/* Return whether OPTION of prctl is PR_SET_SYSCALL_USER_DISPATCH. */
bool cp_dispatch_is(int option);
/* Make the call with arguments A. Returns prctl's result, with errno. */
int cp_dispatch_prctl(const unsigned long *a);

#endif
