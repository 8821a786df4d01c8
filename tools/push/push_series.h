/* SPDX-License-Identifier: BSD-3-Clause */
/* From a window's profile to what receivers expect: one profile for each series, with the names
 * that a person looks for there. Called by push_follow.c.
 */
#ifndef CT_PUSH_SERIES_H
#define CT_PUSH_SERIES_H

#include "core/model.h"
#include "push/push_item.h"
#include "push/push_target.h"

/* A heap's profile becomes two: allocations of the window, and memory in use at its end. */
#define CT_PUSH_SERIES_MAX 2

struct ct_push_series_how {
	const struct ct_push_target *target;
	const char *keys; /* globs, separated by commas: labels of samples that are kept; NULL: none
			     for a receiver, all in a directory */
	bool all_frames;  /* receivers get the frames that drop_frames names, too */
};

/* Removes the labels of P's samples that are not pushed. */
void ct_push_series_choose_labels(struct ct_profile *p, const struct ct_push_series_how *how);

/* Makes the items of P, a profile of mode MODE (for a profile that isn't known otherwise), and
 * returns how many; 0: nothing is in it. P must be symbolized. LABELS are those of the process. P's
 * values may change. */
size_t ct_push_series_items(struct ct_profile *p, const char *mode, const char *labels,
			    const struct ct_push_series_how *how,
			    struct ct_push_item *items[CT_PUSH_SERIES_MAX]);

#endif
