/* SPDX-License-Identifier: BSD-3-Clause */
/* -focus, -ignore, -hide, -show, -show_from, -tagfocus, -tagignore: remove samples and frames from
 * a profile.
 *
 * The options mean what they mean in pprof. Called by the verbs that show samples, after ct_load.
 */
#ifndef CT_FILTER_H
#define CT_FILTER_H

#include "core/options.h"
#include "core/model.h"

extern const struct ct_option ct_filter_options[];

/* The units of a profile's numeric labels by key. Must be made before samples are removed. */
struct ct_label_units {
	const char **units; /* by the key's string index; NULL = no number has this key */
	size_t count;
};

void ct_label_units_init(struct ct_label_units *u, const struct ct_profile *p);
void ct_label_units_release(struct ct_label_units *u);
/* Returns the unit of KEY, "" if the key has no numbers. */
const char *ct_label_units_of(const struct ct_label_units *u, uint32_t key);

/* Removes samples and frames as the options say, and names on stderr each expression that matched
 * nothing. Returns 0, or -1 after an error message if an expression is wrong. */
int ct_filter(struct ct_profile *p, const struct ct_label_units *units);
/* Stores the filters that are in use as lines "focus=x"; the text belongs to filter.c. Returns the
 * number of lines. */
size_t ct_filter_active(const char **lines, size_t room);

#endif
