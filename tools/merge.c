/* `cprof merge`: several profiles become one file. */
#include <stdio.h>

#include "combine.h"
#include "filter.h"
#include "load.h"
#include "options.h"
#include "write.h"

static const char *output = "-";

static const struct ct_option options[] = { CT_TEXT("output", "FILE", &output,
						    "where to write; default: standard output"),
					    CT_TEXT("o", "FILE", &output, NULL), CT_END };

static int run(int argc, char **argv)
{
	const struct ct_option *tables[] = { options, ct_filter_options, ct_load_options, NULL };
	int first = ct_options_parse(&ct_verb_merge, argc, argv, tables);
	struct ct_profile *p, *merged = NULL;
	struct ct_label_units units;
	int status = CT_FAILED;

	if (first < 0)
		return ct_options_status(first);
	if (first == argc)
		return ct_options_wrong(&ct_verb_merge, "profiles are needed");
	p = ct_load(argv + first, argc - first);
	if (!p)
		return CT_FAILED;
	ct_label_units_init(&units, p);
	if (!ct_filter(p, &units))
		merged = ct_combine(&p, 1); /* leaves out what is no longer used */
	ct_label_units_release(&units);
	ct_profile_free(p);
	if (merged && !ct_write_file(merged, output))
		status = CT_OK;
	ct_profile_free(merged);
	return status;
}

const struct ct_verb ct_verb_merge = {
	.name = "merge",
	.operands = "FILE...",
	.summary = "Write several profiles, or what filters leave of one, as one file",
	.details = "Equal stacks are summed, also when their modules were loaded elsewhere.\n",
	.run = run,
};
