/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides which frames are the user's own code: those of the program and of modules beside it (in
 * a merged profile, of every process's program), except the C++ and Rust libraries that were
 * compiled into it, allocators, and the start of a program. -own REGEX replaces this rule.
 *
 * The innermost own frame of a sample tells the program's author most, because the libraries below
 * it only do its work.
 */
#ifndef CT_OWN_H
#define CT_OWN_H

#include "core/model.h"

struct ct_own;

/* The same for one name; flame graphs use it for colours, too. PATH and PROGRAM are paths of
 * modules; PATH is the path of PROGRAM, or of a module beside it. */
bool ct_own_is_beside(const char *path, const char *program);
/* Is this mapping the program of a process? */
bool ct_own_is_program(const struct ct_profile *p, size_t mapping);
/* Is PATH libc, a C++ library or an allocator, in any directory? */
bool ct_own_is_runtime_module(const char *path);
/* Is it code that was compiled into the program but belongs to a library? MANGLED and FILE may be
 * "". */
bool ct_own_is_library_function(const char *name, const char *mangled, const char *file);

/* WHICH is an expression for names of functions and paths of modules, or NULL. Returns NULL after
 * an error message if WHICH is not a valid expression. */
struct ct_own *ct_own_new(const struct ct_profile *p, const char *which);
void ct_own_free(struct ct_own *o);

/* Is a line of a location own code? LINE is NULL if the location has no symbol. */
bool ct_own_is(struct ct_own *o, const struct ct_location *l, const struct ct_line *line);
/* Returns the innermost own line of a location, or -1. A location without a symbol has line 0. */
int ct_own_line(struct ct_own *o, const struct ct_location *l);

#endif
