/* Writing to a descriptor that may be a closed pipe, past a file size limit, or the terminal of
 * another process group: the program must not get a signal for what we write.
 */
#ifndef CP_FDWRITE_H
#define CP_FDWRITE_H

#include <stdbool.h>
#include <stddef.h>

/* All N bytes to FD. No signal reaches the program for it: SIGXFSZ (file size limit),
 * SIGPIPE and SIGTTOU are held back and taken out again, so that only -EFBIG or -EPIPE is left.
 * WAIT: sleep where a non-blocking descriptor says EAGAIN. 0, or what write gave; -EIO when it
 * took nothing. */
int cp_fdwrite_all(int fd, const void *data, size_t n, bool wait);

#endif
