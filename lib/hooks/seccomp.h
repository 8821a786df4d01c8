/* SPDX-License-Identifier: BSD-3-Clause */
/* Detects calls by which the program restricts its system calls; see seccomp.c. */
#ifndef CP_SECCOMP_H
#define CP_SECCOMP_H

/* Call before seccomp; MODE is one of SECCOMP_SET_MODE_*. Ends the profile, unless the kernel is
 * certain to refuse the call. */
void cp_seccomp_begins(unsigned long mode, unsigned long flags, const void *filter);

#endif
