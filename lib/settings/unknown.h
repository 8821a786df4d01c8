/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports variables of the environment that look like settings but are not. Without the report, a
 * typing error would silently turn a setting, or the whole profile, off.
 */
#ifndef CP_UNKNOWN_H
#define CP_UNKNOWN_H

#include <stdbool.h>
#include <stddef.h>

struct cp_unknown {
	char name[64];	     /* the variable's name, cut to this size */
	const char *nearest; /* the setting with the nearest name; NULL: none is near */
};

/* Find the next such variable in ENVIRONMENT from *AT on; *AT moves after it. These are all
 * CPROF_* that no setting has, and names next to that of an unset path variable (CPUPROFILE and the
 * like) that differ in one or two letters. Returns false at the end. */
bool cp_unknown_next(char *const *environment, size_t *at, struct cp_unknown *found);
/* Returns true if FOUND is probably meant to be a path variable. */
bool cp_unknown_is_path(const struct cp_unknown *found);

#endif
