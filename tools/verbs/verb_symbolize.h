/* SPDX-License-Identifier: BSD-3-Clause */
/* Adds lines and inlined calls to a profile's locations; see symbolize.c. */
#ifndef CT_SYMBOLIZE_H
#define CT_SYMBOLIZE_H

#include <stddef.h>

#include "core/model.h"

#define CT_DEBUG_ROOT "/usr/lib/debug"

struct ct_symbolized {
	size_t locations; /* locations that had no line before */
	size_t lines;	  /* locations of those that have a line now */
	size_t names;	  /* locations that got a function's name from a symbol table */
};

/* ROOTS: directories of debug files, searched before /usr/lib/debug, NULL-ended; or NULL. */
void ct_verb_symbolize_profile(struct ct_profile *p, const char *const *roots,
			       struct ct_symbolized *done);
/* The same for a profile that process PID has just made: the files of a container are looked for
 * where the kernel shows them to us. */
void ct_verb_symbolize_process(struct ct_profile *p, int pid);

#endif
