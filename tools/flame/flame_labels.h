/* SPDX-License-Identifier: BSD-3-Clause */
/* Labels that filters offer: text labels with few values a key. Used by flame_tree.c. */
#ifndef CT_FLAME_LABELS_H
#define CT_FLAME_LABELS_H

#include "core/model.h"

/* A key with more values than this (sizes, request numbers) is left out, because nobody can choose
 * among so many. */
#define CT_FLAME_LABEL_VALUES 1000

/* Returns the number in POOL of each label set of P; the caller frees the array. Adds the number of
 * keys that are left out to LEFT_OUT. */
uint32_t *ct_flame_labels_sets(struct ct_profile *pool, const struct ct_profile *p,
			       size_t *left_out);

#endif
