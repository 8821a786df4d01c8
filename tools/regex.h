/* The expressions of -focus and its like: Perl's syntax by PCRE2, which holds all of Go's. */
#ifndef CT_REGEX_H
#define CT_REGEX_H

#include <stdbool.h>
#include <stddef.h>

#include "profile.h"

struct ct_regex;

/* NULL, and it is said on stderr what is wrong with the text of -OPTION. */
struct ct_regex *ct_regex_new(const char *option, const char *text);
void ct_regex_free(struct ct_regex *r);
bool ct_regex_match(struct ct_regex *r, const char *text);
/* The same for a string of a profile, matched once for each index. */
bool ct_regex_match_string(struct ct_regex *r, const struct ct_profile *p, uint32_t string);

#endif
