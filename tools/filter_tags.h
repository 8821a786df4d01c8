/* -tagfocus and -tagignore: expressions and ranges over labels; used by filter.c only. */
#ifndef CT_FILTER_TAGS_H
#define CT_FILTER_TAGS_H

#include "filter.h"

struct ct_tag_filter;

/* TEXT is [KEY=]REGEX[,REGEX...] or [KEY=]RANGE; NULL and it is said what is wrong. */
struct ct_tag_filter *ct_tag_filter_new(const char *option, const char *text);
void ct_tag_filter_free(struct ct_tag_filter *f);
bool ct_tag_filter_match(struct ct_tag_filter *f, const struct ct_profile *p, uint32_t label_set,
			 const struct ct_label_units *units);

#endif
