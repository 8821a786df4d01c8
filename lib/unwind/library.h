/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens a library for the profiler alone (zlib, libunwind) without calls of the program's malloc.
 *
 * dlopen allocates, with the first malloc of the process. If that is libcprof's, it lends the
 * loader memory of its own. If it is libc's, because libcprof was loaded late, it may be called.
 * Otherwise it is the program's: it may not be ready before main, or may have a lock that the
 * calling thread holds. Then no library can be opened, not even one that the program has loaded,
 * because dlopen allocates for those, too.
 *
 * Ordinary context: the loader's lock is taken.
 */
#ifndef CP_LIBRARY_H
#define CP_LIBRARY_H

#include <stdbool.h>

/* Open the library FILE with all its functions bound, outside the scope of the program's look-ups.
 * It calls its own functions even if the program exports others of that name, unless a sanitizer is
 * active or the library was loaded before. *WAS_LOADED (may be NULL) says whether it was. Returns a
 * handle, or NULL. */
void *cp_library_open(const char *file, bool *was_loaded);
/* Can a library be opened, without calls of the program's malloc? */
bool cp_library_may_load(void);
/* Call F, in which libc may allocate, with memory of libcprof's if libcprof's malloc is the first.
 */
void cp_library_call_lending(void (*f)(void));
/* Return NAME of the opened library, or NULL. */
void *cp_library_symbol(void *handle, const char *name);
/* Is the program built with a sanitizer? It ends the program on RTLD_DEEPBIND. */
bool cp_library_has_sanitizer(void);

/* Switches on and off that the calling thread's allocations get memory of libcprof's. NULL as long
 * as the allocator isn't known. */
extern void (*cp_library_lend)(bool on);

#endif
