/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses the value of a profile to show, and decides whether two profiles can be compared. Used by
 * flame, folded, convert and diff. Errors are reported on stderr.
 */
#ifndef CT_FLAME_SIDES_H
#define CT_FLAME_SIDES_H

#include <stdbool.h>

#include "core/model.h"

/* Returns the profile that flame, folded and convert work on: SOURCES merged, without the samples
 * that -focus and similar options remove (ct_filter_options). Returns NULL after an error message.
 */
struct ct_profile *ct_flame_sides_open(char *const *sources, int count);

/* NAME is the name of a type ("cpu", "inuse_space"), its number, or NULL for the default type.
 * Returns CT_OK or CT_FAILED. */
int ct_flame_sides_type(const struct ct_profile *p, const char *name, size_t *type);

bool ct_flame_sides_has_type(const struct ct_profile *p, const char *name);

/* Are sample types and units equal, in order? The second function prints a message if they are not.
 */
bool ct_flame_sides_equal_types(const struct ct_profile *a, const struct ct_profile *b);
bool ct_flame_sides_same_types(const struct ct_profile *a, const char *a_name,
			       const struct ct_profile *b, const char *b_name);

#endif
