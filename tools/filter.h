/* -focus, -ignore, -hide, -show, -show_from, -tagfocus, -tagignore: what is left of a profile.
 *
 * The same meaning as pprof's. Called by the verbs that show samples, after ct_load.
 */
#ifndef CT_FILTER_H
#define CT_FILTER_H

#include "options.h"
#include "profile.h"

extern const struct ct_option ct_filter_options[];

/* The units of a profile's numeric labels by key; to be made before samples are taken away. */
struct ct_label_units {
	const char **units; /* by the key's string index; NULL = no number has this key */
	size_t count;
};

void ct_label_units_init(struct ct_label_units *u, const struct ct_profile *p);
void ct_label_units_release(struct ct_label_units *u);
/* "" when the key has no numbers. */
const char *ct_label_unit(const struct ct_label_units *u, uint32_t key);

/* Takes samples and frames away as the options say, and tells on stderr about an expression that
 * matched nothing. 0, or -1: an expression is wrong, and it was said. */
int ct_filter(struct ct_profile *p, const struct ct_label_units *units);
/* The filters that were given as "focus=x" lines; the text belongs to filter.c. Returns how many.
 */
size_t ct_filter_active(const char **lines, size_t room);

#endif
