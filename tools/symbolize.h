/* Lines and inlined calls for a profile's locations; see symbolize.c. */
#ifndef CT_SYMBOLIZE_H
#define CT_SYMBOLIZE_H

#include <stddef.h>

#include "profile.h"

#define CT_DEBUG_ROOT "/usr/lib/debug"

struct ct_symbolized {
	size_t locations; /* that had no line before */
	size_t lines;	  /* of those, that have one now */
	size_t names;	  /* that got a function's name from a symbol table */
};

/* ROOTS: directories of debug files to look into before /usr/lib/debug, NULL-ended; or NULL. */
void ct_symbolize(struct ct_profile *p, const char *const *roots, struct ct_symbolized *done);

#endif
