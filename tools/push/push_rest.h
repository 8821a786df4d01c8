/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process did after its last window, from the file that it wrote at its end: the file less
 * what was taken before. Called by push_modes.c.
 */
#ifndef CT_PUSH_REST_H
#define CT_PUSH_REST_H

#include "core/model.h"
#include "push/push_series.h"

struct ct_push_rest {
	struct ct_profile *taken; /* stacks by address, without labels that are not pushed */
	int64_t until_ns;	  /* end of the last window; UTC */
	const struct ct_push_series_how *how;
};

/* Notes that P was taken, or was there before the first window. P stays as it is. */
void ct_push_rest_add(struct ct_push_rest *r, struct ct_profile *p);
/* Returns what FILE has more, as a new profile with FILE's names and lines; NULL if that is
 * nothing. */
struct ct_profile *ct_push_rest_of(const struct ct_push_rest *r, struct ct_profile *file);
void ct_push_rest_release(struct ct_push_rest *r);

#endif
