/* rt_sigaction by number. */
#ifndef CP_RAW_SIGACTION_H
#define CP_RAW_SIGACTION_H

#include <stdbool.h>

/* The call with arguments A, where the signal's handler is one of ours: as libc's sigaction does it
 * for the program, *RESULT as syscall's, with errno. False: it is not, or A is wrong, and the call
 * is the kernel's. Async-signal-safe. */
bool cp_raw_sigaction(const long *a, long *result);

#endif
