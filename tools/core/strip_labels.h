/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes labels off samples. */
#ifndef CT_STRIP_LABELS_H
#define CT_STRIP_LABELS_H

#include "core/model.h"

struct ct_regex;

/* Removes the labels of P whose key matches ONLY and does not match KEEP; NULL: all match ONLY, no
 * one matches KEEP. Samples that now have equal stacks and labels stay apart: ct_combine joins
 * them. */
void ct_strip_labels(struct ct_profile *p, struct ct_regex *only, struct ct_regex *keep);

#endif
