/* SPDX-License-Identifier: BSD-3-Clause */
/* Profiles that are compared must have the same detail for each module. If one profile has inlined
 * calls and another only the names of the symbol table, each inlined function would look new, and
 * its caller faster.
 */
#ifndef CT_INLINES_H
#define CT_INLINES_H

#include "core/model.h"

/* Removes the inlined calls of a module from all COUNT profiles if only some of the profiles have
 * lines for that module. Names on stderr, once, a file that lacks the lines. Returns true if calls
 * were removed. */
bool ct_inlines_align(struct ct_profile *const *profiles, const char *const *files, size_t count);

#endif
