/* SPDX-License-Identifier: BSD-3-Clause */
/* Hooks into a jemalloc that is linked into the program, where nothing can be interposed. jemalloc
 * is found by its mallctl, and its experimental hooks (5.2 and later) are installed: those of each
 * allocation or, where these are gone (after 5.3.1), those of the blocks that jemalloc samples
 * itself.
 *
 * Building needs nothing of jemalloc. Running needs nothing of jemalloc if the program has none.
 */
#ifndef CP_JEMALLOC_HOOKS_H
#define CP_JEMALLOC_HOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int cp_jemalloc_mallctl(const char *, void *, size_t *, void *, size_t);

/* Return the mallctl of the process's jemalloc, whether or not its allocations are interposed; NULL
 * if there is none. IN_FILE: search the symbol table of the program's file, too. Ordinary context.
 */
cp_jemalloc_mallctl *cp_jemalloc_hooks_mallctl(bool in_file);

/* Look for jemalloc, once. Ordinary context, without the collector's lock, because the search takes
 * the loader's lock. */
void cp_jemalloc_hooks_find(void);
/* Install the hooks, if jemalloc was found. Call with the collector's lock held. */
void cp_jemalloc_hooks_start(void);
void cp_jemalloc_hooks_stop(void);

/* Returns jemalloc's version ("5.3.0") if this run, or the run that just ended, has hooks
 * installed; else NULL. */
const char *cp_jemalloc_hooks_version(void);
/* Returns the mean bytes between jemalloc's own samples, if only these are seen; else 0. */
uint64_t cp_jemalloc_hooks_interval(void);
/* Returns why the hooks of a jemalloc that was found can't be used; else NULL. */
const char *cp_jemalloc_hooks_unusable(void);

#endif
