/* SPDX-License-Identifier: BSD-3-Clause */
/* The rt_sigaction system call, made through syscall(). */
#ifndef CP_RAW_SIGACTION_H
#define CP_RAW_SIGACTION_H

#include <stdbool.h>

/* Handle rt_sigaction with arguments A where the signal's handler is the profiler's: do what libc's
 * sigaction does for the program, and set *RESULT to the result of syscall, with errno. Returns
 * false if the handler is not the profiler's or A is wrong; the caller must then make the system
 * call. Async-signal-safe. */
bool cp_raw_sigaction(const long *a, long *result);

#endif
