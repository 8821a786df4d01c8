/* SPDX-License-Identifier: BSD-3-Clause */
/* The library's only output to the user: single lines on stderr. */
#ifndef CP_LOG_H
#define CP_LOG_H

#include <stdbool.h>
#include <stddef.h>

/* Remembers which file descriptor 2 is. Lines go to that file only. Called in the constructor. */
void cp_log_begin(void);

/* Writes "libcprof: " + text + "\n" in one write to descriptor 2, cut at 512 bytes. Writes nothing
 * if descriptor 2 is another file than at the start, unless it is a terminal or a file opened for
 * appending. Any context; never touches stdout or errno. See cp_text_format for the conversions
 * that FMT may hold. */
void cp_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Writes N bytes, a whole line, to FD under the same conditions, in the calling task. FD is the
 * program's descriptor 2. Any context. */
void cp_log_put(int fd, const char *text, size_t n);

/* If set, called before cp_log writes. Returns true if the line is taken care of. The collector's
 * task sets it, because its descriptors are not the program's. */
extern bool (*cp_log_other_way)(const char *text, size_t n);

/* Returns the name of an errno value ("ENOSPC: no space left on device"); never NULL. Any
 * context. */
const char *cp_log_errno_text(int err);

/* Returns advice to the reader of ERR: how to get a profile next time. Never NULL. Any context. */
const char *cp_log_errno_advice(int err);

#endif
