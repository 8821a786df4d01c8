/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks from outside whether a program can be profiled: is there a library, and does the program's
 * loader load it? For run.c and dump.c.
 */
#ifndef CT_PRELOAD_H
#define CT_PRELOAD_H

#include <stdbool.h>

/* Returns the path of the libcprof.so that belongs to this cprof, which the caller frees; NULL: not
 * found. */
char *ct_preload_library(void);
/* Returns the file that a shell would run for NAME, which the caller frees; NULL with errno set if
 * there is none. */
char *ct_preload_program(const char *name);
bool ct_preload_is_elf(const char *path);
/* Did Go link PROGRAM (a path)? Such a program with cgo loads the library, but does not end through
 * libc. */
bool ct_preload_is_go(const char *path);
/* Returns the reason why no profile of PROGRAM (a path) can be made, which the caller frees, or
 * NULL. Sets *BREAKS if the program would not start with the library preloaded. */
char *ct_preload_obstacle(const char *program, bool *breaks);

#endif
