/* SPDX-License-Identifier: BSD-3-Clause */
/* Walks the loader's list of modules (dl_iterate_phdr), safely across forks.
 *
 * The loader guards the list by a lock that libc doesn't free in a fork's child. If a libcprof
 * thread is walking the list at the time of a fork, each dlopen and each walk of the list in the
 * child hangs, including the program's. So a fork waits for threads that are walking the list, and
 * a thread that wants to walk waits for the fork. Neither waits for more than a second, because the
 * forking thread may itself be walking the list.
 *
 * All of libcprof walks the list with these functions. Ordinary context, any thread; the three
 * functions for fork in any context.
 */
#ifndef CP_MODULE_LIST_H
#define CP_MODULE_LIST_H

#include <link.h>

typedef int cp_module_visit(struct dl_phdr_info *info, size_t size, void *arg);

/* Walk the list that the program's functions see; the program may define its own dl_iterate_phdr.
 */
int cp_module_list(cp_module_visit *visit, void *arg);
/* Walk libc's list. */
int cp_module_list_of_libc(cp_module_visit *visit, void *arg);
/* Set libc's dl_iterate_phdr, past an interposed one. Call before the first walk by that function
 * (unwind/loaded.c does, in the constructor). */
void cp_module_list_set_libc(int (*iterate)(cp_module_visit *visit, void *arg));

/* Call these around a fork. */
void cp_module_list_fork_begin(void);
void cp_module_list_fork_end(void);
void cp_module_list_fork_child(void);

#endif
