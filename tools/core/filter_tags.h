/* SPDX-License-Identifier: BSD-3-Clause */
/* -tagfocus and -tagignore: expressions and ranges over labels; used by filter.c only. */
#ifndef CT_FILTER_TAGS_H
#define CT_FILTER_TAGS_H

#include "core/filter.h"

struct ct_tag_filter;

/* TEXT is [KEY=]REGEX[,REGEX...] or [KEY=]RANGE. Returns NULL after a message if TEXT is wrong. */
struct ct_tag_filter *ct_filter_tags_new(const char *option, const char *text);
void ct_filter_tags_free(struct ct_tag_filter *f);
bool ct_filter_tags_match(struct ct_tag_filter *f, const struct ct_profile *p, uint32_t label_set,
			  const struct ct_label_units *units);

#endif
