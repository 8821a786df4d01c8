/* SPDX-License-Identifier: BSD-3-Clause */
/* prctl(PR_SET_SYSCALL_USER_DISPATCH), by which a thread has its system calls caught. */
#ifndef CP_DISPATCH_H
#define CP_DISPATCH_H

#include <stdbool.h>

/* Returns whether OPTION of prctl is that one. */
bool cp_dispatch_is(int option);
/* The call, with its arguments A. Returns prctl's result, with errno. */
int cp_dispatch_prctl(const unsigned long *a);

#endif
