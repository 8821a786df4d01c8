/* SPDX-License-Identifier: BSD-3-Clause */
/* Questions about the loaded objects that dlsym and dladdr answer at too high a price.
 *
 * A dlsym that finds nothing formats an error message: some ten allocations, and as many pages of
 * libc that the process wouldn't touch otherwise. dladdr reads a module's whole symbol table. And a
 * dlsym that finds a function takes a microsecond with cold caches, of which the constructor needs
 * a hundred. Every process of a tree pays that, also without a mode.
 *
 * These functions only save time: where an object can't be read, dlsym is asked, as it is for a
 * function that a further object may define.
 *
 * Ordinary context: the loader's list of objects is locked (unwind/module_list.h).
 */
#ifndef CP_LOADED_H
#define CP_LOADED_H

#include <stdbool.h>
#include <stdint.h>

struct cp_loaded_name {
	const char *name;
	uint32_t hash;	/* the dynamic symbol table's; set by cp_loaded_look */
	bool defined;	/* an object other than libcprof may define NAME */
	bool elsewhere; /* one that isn't libc either */
	void *libc;	/* libc's function, in the version that programs are linked with today;
			   NULL: libc has none, or only dlsym can tell */
};

/* Look the COUNT names up. Without an answer, all are said to be defined elsewhere. */
void cp_loaded_look(struct cp_loaded_name *names, unsigned count);

struct cp_loaded_object {
	uintptr_t low, high; /* the object's addresses: low <= address < high */
	const char *name;    /* the loader's; "" for the program */
};

/* Find the object that has ADDRESS in one of its segments. Returns false if none has, and leaves O
 * untouched. */
bool cp_loaded_at(const void *address, struct cp_loaded_object *o);

#endif
