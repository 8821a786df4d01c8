/* What a program needs to be profiled, seen from outside: the library, and a loader that takes it.
 * For run.c and dump.c.
 */
#ifndef CT_PRELOAD_H
#define CT_PRELOAD_H

#include <stdbool.h>

/* The path of libcprof.so that belongs to this cprof, to be freed; NULL: not found. */
char *ct_preload_library(void);
/* The file that a shell would run for NAME, to be freed; NULL, and errno tells why not. */
char *ct_preload_program(const char *name);
bool ct_preload_is_elf(const char *path);
/* Why no profile of PROGRAM (a path) can be made, to be freed; NULL: nothing speaks against it. */
char *ct_preload_obstacle(const char *program);

#endif
