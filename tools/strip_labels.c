/* `cprof strip-labels`: the same profile without labels, so that equal stacks of different
 * threads or requests become one, and nothing private leaves the house.
 */
#include <stdio.h>
#include <stdlib.h>

#include "combine.h"
#include "load.h"
#include "memory.h"
#include "options.h"
#include "regex.h"
#include "write.h"

static const char *output = "-", *only, *keep;

static const struct ct_option options[] = {
	CT_TEXT("output", "FILE", &output, "where to write; default: standard output"),
	CT_TEXT("o", "FILE", &output, NULL),
	CT_TEXT("only", "REGEX", &only, "only labels whose key matches"),
	CT_TEXT("keep", "REGEX", &keep, "no labels whose key matches"), CT_END
};

static bool goes(const struct ct_profile *p, const struct ct_label *l, struct ct_regex *only_rx,
		 struct ct_regex *keep_rx)
{
	if (keep_rx && ct_regex_match_string(keep_rx, p, l->key))
		return false;
	return !only_rx || ct_regex_match_string(only_rx, p, l->key);
}

static uint32_t stripped(struct ct_profile *p, uint32_t set, struct ct_regex *only_rx,
			 struct ct_regex *keep_rx)
{
	struct ct_label_set from = p->label_sets[set];
	struct ct_label *left = ct_alloc(from.count * sizeof(*left));
	size_t n = 0;

	for (uint32_t i = 0; i < from.count; i++) {
		const struct ct_label *l = &p->labels[from.first + i];

		if (!goes(p, l, only_rx, keep_rx))
			left[n++] = *l;
	}
	set = ct_profile_label_set(p, left, n);
	free(left);
	return set;
}

static void strip(struct ct_profile *p, struct ct_regex *only_rx, struct ct_regex *keep_rx)
{
	size_t sets = p->label_set_count;
	uint32_t *to = ct_alloc(sets * sizeof(*to));

	for (uint32_t i = 0; i < sets; i++)
		to[i] = stripped(p, i, only_rx, keep_rx);
	for (size_t i = 0; i < p->sample_count; i++)
		p->samples[i].label_set = to[p->samples[i].label_set];
	free(to);
}

static int strip_and_write(struct ct_profile *p)
{
	struct ct_regex *only_rx = only ? ct_regex_new("only", only) : NULL;
	struct ct_regex *keep_rx = keep ? ct_regex_new("keep", keep) : NULL;
	struct ct_profile *merged = NULL;
	int status = CT_FAILED;

	if ((!only || only_rx) && (!keep || keep_rx)) {
		strip(p, only_rx, keep_rx);
		merged = ct_combine(&p, 1);
	}
	if (merged && !ct_write_file(merged, output))
		status = CT_OK;
	ct_profile_free(merged);
	ct_regex_free(only_rx);
	ct_regex_free(keep_rx);
	return status;
}

static int run(int argc, char **argv)
{
	int first = ct_options_parse(&ct_verb_strip_labels, argc, argv,
				     (const struct ct_option *[]){ options, NULL });
	struct ct_profile *p;
	int status;

	if (first < 0)
		return ct_options_status(first);
	if (first == argc)
		return ct_options_wrong(&ct_verb_strip_labels, "a profile is needed");
	p = ct_load(argv + first, argc - first);
	if (!p)
		return CT_FAILED;
	status = strip_and_write(p);
	ct_profile_free(p);
	return status;
}

const struct ct_verb ct_verb_strip_labels = {
	.name = "strip-labels",
	.operands = "FILE...",
	.summary = "Write a profile without labels; stacks that only they told apart are summed",
	.details = "",
	.run = run,
};
