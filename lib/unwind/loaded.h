/* SPDX-License-Identifier: BSD-3-Clause */
/* Looks symbols up in the loaded modules, without calls of the program's malloc.
 *
 * A dlsym that finds nothing formats an error message with malloc, and dlopen allocates even if it
 * only asks whether a library is loaded. That malloc may be the program's, which may not be ready
 * before main, or may have a lock that the calling thread holds. So nothing in libcprof calls dlsym
 * for a symbol that may be missing: the functions here read the modules' own tables. It is faster,
 * too: the constructor looks a hundred functions up, in every process of a tree.
 *
 * The modules come in the order in which the loader lists them. For those that are loaded at the
 * start, it is the order in which the loader searches them. Later ones follow, also those that were
 * opened with RTLD_LOCAL.
 *
 * Ordinary context: the loader's list of objects is locked (unwind/module_list.h).
 */
#ifndef CP_LOADED_H
#define CP_LOADED_H

#include <stdbool.h>
#include <stdint.h>

struct cp_loaded_name {
	const char *name;
	bool oldest;   /* wanted: the oldest version, not the one that programs are linked with */
	uint32_t hash; /* the dynamic symbol table's; set by cp_loaded_next */
	void *next;    /* the first definition after libcprof's */
	void *libc;    /* libc's definition, if libc precedes libcprof */
};

/* Look the COUNT names up, as dlsym(RTLD_NEXT) would. NULL means that there is no such
 * definition. */
void cp_loaded_next(struct cp_loaded_name *names, unsigned count);
/* Return the next definition of NAME after libcprof's. If there is none, because libcprof was
 * loaded late or privately, return libc's; NULL: libc has none. */
void *cp_loaded_next_one(const char *name);
/* Return the first definition of NAME, as dlsym(RTLD_DEFAULT) would, or NULL. For a thread-local
 * variable it is the calling thread's, or NULL if that isn't allocated yet. */
void *cp_loaded_first(const char *name);
/* Return the definition of NAME in the module that has ADDRESS in one of its segments, or NULL. */
void *cp_loaded_in(const void *address, const char *name);
/* Is F in libcprof? */
bool cp_loaded_is_own(const void *f);
/* Return libc's definition of NAME, or NULL. */
void *cp_loaded_in_libc(const char *name);

struct cp_loaded_object {
	uintptr_t low, high; /* the object's addresses: low <= address < high */
	const char *name;    /* the loader's; "" for the program */
};

/* Find the object that has ADDRESS in one of its segments. Returns false if none has, and leaves O
 * untouched. */
bool cp_loaded_at(const void *address, struct cp_loaded_object *o);
/* Find the first object whose file is called FILE, without its folder. The same. */
bool cp_loaded_named(const char *file, struct cp_loaded_object *o);

#endif
