/* SPDX-License-Identifier: BSD-3-Clause */
/* A growing array of fixed-size items in the profiler's own pages (pages.h).
 *
 * Nothing here locks. A vector belongs to one thread at a time; its owner makes sure of this. Every
 * function is async-signal-safe.
 */
#ifndef CP_VEC_H
#define CP_VEC_H

#include <stdbool.h>
#include <stddef.h>

/* A zeroed struct with .size set is an empty array. Items move when the array grows: hold indices,
 * not pointers. */
struct cp_vec {
	void *items;
	size_t count, room; /* in items */
	size_t size;	    /* bytes per item */
};

/* Appends a zeroed item. Returns its address, or NULL. */
void *cp_vec_add(struct cp_vec *v);
/* Grows the array to at least COUNT items; new items are zeroed. Returns false without memory. */
bool cp_vec_extend(struct cp_vec *v, size_t count);
void cp_vec_release(struct cp_vec *v);
#define CP_VEC_AT(v, type, i) (&((type *)(v)->items)[i])

#endif
