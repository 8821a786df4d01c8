/* Labels as filters can offer them: text, and few values a key. Used by flame_tree.c. */
#ifndef CT_FLAME_LABELS_H
#define CT_FLAME_LABELS_H

#include "profile.h"

/* More values than this can't be chosen from: such a key (sizes, request numbers) is left out. */
#define CT_FLAME_LABEL_VALUES 1000

/* For each label set of P its number in POOL, to be freed. LEFT_OUT is raised by the number of
 * keys that are. */
uint32_t *ct_flame_label_sets(struct ct_profile *pool, const struct ct_profile *p,
			      size_t *left_out);

#endif
