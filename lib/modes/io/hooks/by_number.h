/* SPDX-License-Identifier: BSD-3-Clause */
/* Input and output by libc's syscall(); called by lib/hooks/syscall.c. */
#ifndef CP_IO_BY_NUMBER_H
#define CP_IO_BY_NUMBER_H

#include <stdbool.h>

/* Make system call NUMBER with the arguments A, and measure it, if the mode is on and measures such
 * calls. Returns false if it doesn't; then the call has not been made. */
bool calls_by_number(long number, const long *a, long *result);

#endif
