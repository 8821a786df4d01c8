/* Whether a call of the program's is going to restrict what the process may call; see seccomp.c. */
#ifndef CP_SECCOMP_H
#define CP_SECCOMP_H

/* Before the call: MODE is one of SECCOMP_SET_MODE_*. Ends the profile, unless the kernel is
 * certain to refuse. */
void cp_seccomp_begins(unsigned long mode, unsigned long flags, const void *filter);

#endif
