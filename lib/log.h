/* The only way in which the library speaks: one line to stderr. */
#ifndef CP_LOG_H
#define CP_LOG_H

#include <stddef.h>

/* What descriptor 2 is now is where lines go. In the constructor. */
void cp_log_begin(void);

/* "libcprof: " + text + "\n" in one write to descriptor 2, cut at 512 bytes.
 * Nothing is written when 2 is something else than at the start, unless that is a terminal or a
 * file opened for appending.
 * Any context; never stdout, never errno. See cp_format for what FMT may hold. */
void cp_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* N bytes, a whole line, under the same conditions, by the calling task; FD is the program's
 * descriptor 2. Any context. */
void cp_log_put(int fd, const char *text, size_t n);

/* Name of an errno value ("ENOSPC: no space left on device"); never NULL. Any context. */
const char *cp_errno_text(int err);

/* What whoever reads about ERR can do so that there is a profile next time; never NULL. Any
 * context. */
const char *cp_errno_advice(int err);

#endif
