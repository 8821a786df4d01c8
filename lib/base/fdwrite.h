/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes to a descriptor that may be a closed pipe, a file past its size limit, or the terminal of
 * another process group. The program gets no signal for these writes. */
#ifndef CP_FDWRITE_H
#define CP_FDWRITE_H

#include <stdbool.h>
#include <stddef.h>

/* Writes all N bytes of DATA to FD. Returns 0, the negative errno of write, or -EIO if write
 * accepted no bytes. Blocks SIGXFSZ (file size limit), SIGPIPE and SIGTTOU and takes them out
 * again, so the program sees no signal and the caller sees only -EFBIG or -EPIPE. With WAIT,
 * sleeps when a non-blocking descriptor returns EAGAIN. */
int cp_fdwrite_all(int fd, const void *data, size_t n, bool wait);

#endif
