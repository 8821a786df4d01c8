/* SPDX-License-Identifier: BSD-3-Clause */
/* Combines several profiles: samples with equal stacks and labels are summed, and addresses of the
 * same module are equal even if it was loaded at different places. Called by load.c and by `cprof
 * merge`.
 */
#ifndef CT_COMBINE_H
#define CT_COMBINE_H

#include "core/model.h"

/* Returns a new profile, or NULL after a message on stderr that says why the sources can't be
 * combined. Leaves out samples whose values are all 0, and everything that no sample refers to. The
 * caller still owns the sources; their values may have been scaled to the finest unit among them.
 */
struct ct_profile *ct_combine(struct ct_profile *const *sources, size_t count);

/* Multiplies values by a ratio for each type. Samples whose values all become 0 are removed. */
void ct_combine_header_scale(struct ct_profile *p, const double *ratios);

#endif
