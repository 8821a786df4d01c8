/* SPDX-License-Identifier: BSD-3-Clause */
/* Regular expressions; see model.h. */
#include "core/model.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

/* The limit of backtracking for one match. An expression that reaches it counts as not matching;
 * after reaching it too often, the expression is not tried again. */
#define MATCH_LIMIT 1000000
#define GIVE_UPS 20

struct ct_regex {
	pcre2_code *code;
	pcre2_match_data *match;
	pcre2_match_context *context;
	unsigned given_up;
	const char *option;
	/* For each string of one profile: 1 + answer; 0 = not yet matched. */
	const struct ct_profile *profile;
	unsigned char *answers;
	size_t answer_count;
};

struct ct_regex *ct_regex_new(const char *option, const char *text)
{
	struct ct_regex *r;
	PCRE2_SIZE at;
	pcre2_code *code;
	int error;

	/* "libfoo.so+0x1234" is the name of a function, in which + has no other meaning. */
	code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
			     PCRE2_UTF | PCRE2_MATCH_INVALID_UTF |
				     (ct_own_jit_is_bare(text) ? PCRE2_LITERAL | PCRE2_ENDANCHORED
							       : PCRE2_DOLLAR_ENDONLY),
			     &error, &at, NULL);
	if (!code) {
		PCRE2_UCHAR why[160] = "";

		pcre2_get_error_message(error, why, sizeof(why));
		fprintf(stderr, "cprof: -%s=", option);
		ct_out_text(stderr, text); /* the text may come from a profile */
		fprintf(stderr, ": %s (at character %zu)\n", (const char *)why, (size_t)at + 1);
		return NULL;
	}
	pcre2_jit_compile(code, PCRE2_JIT_COMPLETE); /* if this fails, matching is only slower */
	r = ct_memory_alloc(sizeof(*r));
	r->code = code;
	r->option = option;
	r->match = pcre2_match_data_create(1, NULL);
	r->context = pcre2_match_context_create(NULL);
	if (r->context)
		pcre2_set_match_limit(r->context, MATCH_LIMIT);
	return r;
}

void ct_regex_free(struct ct_regex *r)
{
	if (!r)
		return;
	pcre2_match_context_free(r->context);
	pcre2_match_data_free(r->match);
	pcre2_code_free(r->code);
	free(r->answers);
	free(r);
}

bool ct_regex_match(struct ct_regex *r, const char *text)
{
	int n;

	if (r->given_up >= GIVE_UPS)
		return false;
	n = pcre2_match(r->code, (PCRE2_SPTR)text, strlen(text), 0, 0, r->match, r->context);
	if (n < 0 && n != PCRE2_ERROR_NOMATCH && !r->given_up++)
		fprintf(stderr,
			"cprof: -%s takes too many steps on some names, which count as not "
			"matched\n",
			r->option);
	return n >= 0;
}

bool ct_regex_match_string(struct ct_regex *r, const struct ct_profile *p, uint32_t string)
{
	if (r->profile != p || string >= r->answer_count) {
		free(r->answers);
		r->profile = p;
		r->answer_count = p->string_count;
		r->answers = ct_memory_alloc(r->answer_count);
	}
	if (!r->answers[string])
		r->answers[string] = ct_regex_match(r, ct_text(p, string)) ? 2 : 1;
	return r->answers[string] == 2;
}
