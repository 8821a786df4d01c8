/* SPDX-License-Identifier: BSD-3-Clause */
/* `cprof strip-labels`: removes the labels of a profile, so that equal stacks of different threads
 * or requests become one, and no private label is passed on.
 */
#include <stdlib.h>

#include "core/read.h"
#include "verbs/verbs.h"

static const char *output = "-", *only, *keep;
static long max_depth;

static const struct ct_option options[] = {
	CT_TEXT("output", "FILE", &output, "where to write; default: standard output"),
	CT_TEXT("o", "FILE", &output, NULL),
	CT_TEXT("only", "REGEX", &only, "only labels whose key matches"),
	CT_TEXT("keep", "REGEX", &keep, "no labels whose key matches"),
	CT_INTEGER("max-depth", "N", &max_depth, CT_CUT_HELP),
	CT_END
};
static const struct ct_option *const tables[] = { options, ct_times_window_options, NULL };

static int strip_and_write(struct ct_profile *p)
{
	struct ct_regex *only_rx = only ? ct_regex_new("only", only) : NULL;
	struct ct_regex *keep_rx = keep ? ct_regex_new("keep", keep) : NULL;
	struct ct_profile *merged = NULL;
	int status = CT_FAILED;

	if ((!only || only_rx) && (!keep || keep_rx) && ct_drop_frames_middle(p, max_depth)) {
		ct_model_strip_labels(p, only_rx, keep_rx);
		merged = ct_combine(&p, 1);
	}
	if (merged && !ct_write_file(merged, output))
		status = CT_OK;
	ct_model_free(merged);
	ct_regex_free(only_rx);
	ct_regex_free(keep_rx);
	return status;
}

static int verb_strip_labels(int argc, char **argv)
{
	struct ct_profile *p = ct_load(argv, argc);
	int status;

	if (!p)
		return CT_FAILED;
	status = strip_and_write(p);
	ct_model_free(p);
	return status;
}

const struct ct_verb ct_verb_strip_labels = {
	.name = "strip-labels",
	.operands = "FILE...",
	.summary = "Write a profile without labels; stacks that differed only in labels are summed",
	.details = "",
	.tables = tables,
	.wanted = "a profile is needed",
	.least = 1,
	.run = verb_strip_labels,
};
