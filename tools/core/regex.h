/* SPDX-License-Identifier: BSD-3-Clause */
/* Regular expressions of -focus and similar options: Perl's syntax by PCRE2, which includes all of
 * Go's. */
#ifndef CT_REGEX_H
#define CT_REGEX_H

#include <stdbool.h>
#include <stddef.h>

#include "core/model.h"

struct ct_regex;

/* Returns NULL after a message on stderr if the text of -OPTION is no valid expression. */
struct ct_regex *ct_regex_new(const char *option, const char *text);
void ct_regex_free(struct ct_regex *r);
bool ct_regex_match(struct ct_regex *r, const char *text);
/* The same for a string of a profile; each index is matched only once. */
bool ct_regex_match_string(struct ct_regex *r, const struct ct_profile *p, uint32_t string);

#endif
