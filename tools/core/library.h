/* SPDX-License-Identifier: BSD-3-Clause */
/* Libraries that only some verbs need, loaded when such a verb runs. */
#ifndef CT_LIBRARY_H
#define CT_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

struct ct_library_function {
	const char *name;
	void *to; /* the pointer to the function, which is set */
};

/* Load the library NAME and set the N functions. Returns false if it isn't there, or lacks one. */
bool ct_library_load(const char *name, const struct ct_library_function *functions, size_t n);

#endif
