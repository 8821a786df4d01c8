/* SPDX-License-Identifier: BSD-3-Clause */
/* The user's own modules for which `cprof symbolize` found no lines, and why. */
#ifndef CT_SYMBOLIZE_MISSING_H
#define CT_SYMBOLIZE_MISSING_H

#include <stdbool.h>
#include <stddef.h>

#include "core/model.h"
#include "dwarf/dwarf_module.h"

struct ct_missing {
	bool asked; /* the user named directories of debug files */
	char **texts;
	size_t count, room;
};

/* The module FILE of P has no lines. M tells what was found, also after it was closed or not
 * opened. Modules that are not the user's own (own.h) are left out. */
void ct_symbolize_missing_add(struct ct_missing *to, const struct ct_profile *p, const char *file,
			      const char *build_id, const struct ct_dwarf_module *m);
/* Prints a line for each on stderr, and frees them. */
void ct_symbolize_missing_say(struct ct_missing *m);

#endif
