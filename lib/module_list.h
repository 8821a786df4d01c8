/* The loader's list of modules, as dl_iterate_phdr has it, and forks.
 *
 * It has a lock that libc doesn't free in a fork's child: if one of our threads is in the list at
 * the time of a fork, each dlopen and each walk of the list in the child hangs, the program's too.
 * So a fork waits for those who are in it, and who comes meanwhile waits for the fork. Neither
 * waits for more than a second: the forking thread may be in the list itself.
 *
 * In all of the library the list is walked by these. Ordinary context, any thread; the three for
 * fork in any context.
 */
#ifndef CP_MODULE_LIST_H
#define CP_MODULE_LIST_H

#include <link.h>

typedef int cp_module_visit(struct dl_phdr_info *info, size_t size, void *arg);

/* The list that the program's functions see; it may have one of its own. */
int cp_module_list(cp_module_visit *visit, void *arg);
/* libc's. */
int cp_module_list_of_libc(cp_module_visit *visit, void *arg);

/* Around a fork. */
void cp_module_list_fork_begin(void);
void cp_module_list_fork_end(void);
void cp_module_list_fork_child(void);

#endif
