/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of a profile while it is symbolized: equal ones are kept once, names are made
 * readable, and functions that nothing refers to are dropped. For symbolize.c. */
#ifndef CT_SYMBOLIZE_FUNCTIONS_H
#define CT_SYMBOLIZE_FUNCTIONS_H

#include "core/model.h"

struct ct_functions {
	struct ct_profile *p;
	uint32_t *table; /* functions added here, by contents: number + 1 */
	size_t room, used;
};

/* Returns the number of a function equal to F, which is added if it is new. */
uint32_t ct_symbolize_functions_add(struct ct_functions *t, const struct ct_function *f);
/* Returns the string of a name as the library writes it: demangled, without parameters. */
uint32_t ct_symbolize_functions_readable(struct ct_functions *t, const char *mangled);
/* Copies the lines of location L of FROM, with their functions. The caller frees them. */
struct ct_line *ct_symbolize_functions_copy(struct ct_functions *to, const struct ct_profile *from,
					    const struct ct_location *l);
/* Drops functions that no location uses any more. T is empty afterwards. */
void ct_symbolize_functions_finish(struct ct_functions *t);

#endif
