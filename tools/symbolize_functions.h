/* The functions of a profile while it is symbolized. For symbolize.c. */
#ifndef CT_SYMBOLIZE_FUNCTIONS_H
#define CT_SYMBOLIZE_FUNCTIONS_H

#include "profile.h"

struct ct_functions {
	struct ct_profile *p;
	uint32_t *table; /* of functions added here, by what they are: number + 1 */
	size_t room, used;
};

/* The number of a function like F, which is added when it is new. */
uint32_t ct_functions_add(struct ct_functions *t, const struct ct_function *f);
/* The string of a name as the library writes it: demangled, without parameters. */
uint32_t ct_functions_readable(struct ct_functions *t, const char *mangled);
/* Drops functions that no location has any more. T is empty then. */
void ct_functions_finish(struct ct_functions *t);

#endif
