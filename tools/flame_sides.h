/* Which value of a profile is meant, and whether two profiles can be compared. Used by flame,
 * folded, convert and diff. What is wrong is said on stderr.
 */
#ifndef CT_FLAME_SIDES_H
#define CT_FLAME_SIDES_H

#include <stdbool.h>

#include "profile.h"

/* What flame, folded and convert work on: SOURCES merged, less what -focus and its like take away
 * (ct_filter_options). NULL: it was said why not. */
struct ct_profile *ct_flame_open(char *const *sources, int count);

/* NAME is a type's name ("cpu", "inuse_space"), its number, or NULL for the default one.
 * CT_OK or CT_FAILED. */
int ct_flame_type(const struct ct_profile *p, const char *name, size_t *type);

/* Are sample types and units equal, in order? */
bool ct_flame_same_types(const struct ct_profile *a, const char *a_name, const struct ct_profile *b,
			 const char *b_name);

#endif
