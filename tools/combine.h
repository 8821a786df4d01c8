/* Several profiles become one: equal stacks with equal labels are summed, addresses of the same
 * module loaded elsewhere are the same. Called by load.c and by `cprof merge`.
 */
#ifndef CT_COMBINE_H
#define CT_COMBINE_H

#include "profile.h"

/* A new profile, or NULL and it is said on stderr why they don't go together. Samples
 * whose values are all 0 are left out, and what no sample refers to. The sources stay the
 * caller's; their values may be scaled to the finest unit among them. */
struct ct_profile *ct_combine(struct ct_profile *const *sources, size_t count);

/* Multiplies values by a ratio for each type; samples that become all 0 go. */
void ct_profile_scale(struct ct_profile *p, const double *ratios);

#endif
