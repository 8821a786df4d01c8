/* `cprof diff`: what became more and what less, for people and as a gate. See diff.h. */
#include "diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "flame_sides.h"
#include "memory.h"
#include "numbers.h"
#include "options.h"
#include "out.h"
#include "read.h"

static struct {
	struct ct_list base;
	const char *type, *fail_over, *scope, *min, *alpha, *ignore;
	bool json, markdown, cum, normalize;
	long rows;
} my = { .rows = 15 };

static const struct ct_option options[] = {
	CT_LIST("base", "FILE", &my.base, "the side before (may be given several times)"),
	CT_TEXT("sample_index", "TYPE", &my.type, "which value: a name or number"),
	CT_TEXT("fail-over", "PERCENT", &my.fail_over, "exit with 1 on growth above this: 5%"),
	CT_TEXT("scope", "total|function", &my.scope, "what may not grow (default: total)"),
	CT_TEXT("min", "PERCENT", &my.min, "leave out functions below this share (default: 1%)"),
	CT_TEXT("ignore", "REGEX", &my.ignore, "functions that are neither shown nor judged"),
	CT_FLAG("cum", &my.cum, "judge functions with their callees, not by their own value"),
	CT_FLAG("normalize", &my.normalize, "scale each file to the same total first"),
	CT_TEXT("alpha", "NUMBER", &my.alpha,
		"with several files a side, growth counts at p below this (default: 0.05)"),
	CT_INTEGER("nodecount", "N", &my.rows, "rows of a table (default: 15; 0: all)"),
	CT_FLAG("markdown", &my.markdown, "as Markdown"),
	CT_FLAG("json", &my.json, "as JSON"),
	CT_END
};

/* "5%" or "0.05"; a bare 5 could mean both. 0, or -1 and it was said. */
static int read_share(const char *option, const char *text, double *share)
{
	char *end;
	double n;

	if (!text)
		return 0;
	n = strtod(text, &end);
	if (end == text || !isfinite(n) || n < 0 || (strcmp(end, "%") != 0 && *end)) {
		ct_options_wrong(&ct_verb_diff, "-%s=%s is no share like 5%%", option, text);
		return -1;
	}
	if (!*end && n >= 1) {
		ct_options_wrong(&ct_verb_diff, "-%s=%s: write %s%% if that is meant", option, text,
				 text);
		return -1;
	}
	*share = *end ? n / 100 : n;
	return 0;
}

static int read_limits(struct ct_diff_limits *l)
{
	*l = (struct ct_diff_limits){ .fail_over = -1,
				      .min = 0.01,
				      .alpha = 0.05,
				      .by_cum = my.cum,
				      .normalize = my.normalize,
				      .ignore = my.ignore,
				      .rows = my.rows };
	if (read_share("fail-over", my.fail_over, &l->fail_over) ||
	    read_share("min", my.min, &l->min) || read_share("alpha", my.alpha, &l->alpha))
		return -1;
	l->by_function = my.scope && strcmp(my.scope, "function") == 0;
	if (my.scope && !l->by_function && strcmp(my.scope, "total") != 0) {
		ct_options_wrong(&ct_verb_diff, "-scope=%s is neither total nor function",
				 my.scope);
		return -1;
	}
	if (my.normalize && my.fail_over && !l->by_function) {
		ct_options_wrong(&ct_verb_diff,
				 "-normalize makes totals equal; -fail-over needs -scope=function");
		return -1;
	}
	return 0;
}

struct sources {
	char **names;
	size_t count, room;
};

/* "A,B" is two files, unless there is one of that name. */
static void add_sources(struct sources *s, const char *text)
{
	char *copy = ct_strdup(text), *rest = copy, *name;

	if (!strchr(text, ',') || access(text, F_OK) == 0) {
		*CT_PUSH(s->names, s->count, s->room) = copy;
		return;
	}
	while ((name = strsep(&rest, ",")))
		if (*name)
			*CT_PUSH(s->names, s->count, s->room) = ct_strdup(name);
	free(copy);
}

static void free_sources(struct sources *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->names[i]);
	free(s->names);
}

/* Reads NAME and adds it; FIRST, once it is there, is what all others must be like. */
static int take(struct ct_diff *d, struct ct_profile **first, const char **first_name,
		const char *name, unsigned side)
{
	struct ct_profile *p = ct_read_source(name);
	size_t type;
	int answer = -1;

	if (!p)
		return -1;
	if ((!*first || ct_flame_same_types(*first, *first_name, p, name)) &&
	    ct_flame_type(p, my.type, &type) == CT_OK)
		answer = ct_diff_take(d, p, type, name, side);
	if (!*first && !answer) {
		*first = p;
		*first_name = name;
		d->type = ct_text(p, p->types[type].type);
		d->unit = ct_text(p, p->types[type].unit);
		return 0;
	}
	ct_profile_free(p);
	return answer;
}

static int print(struct ct_diff *d)
{
	const char *unit;

	ct_scale(ct_clamp(fmin(d->total.mean[0], d->total.mean[1])), d->unit, "auto", &unit);
	d->shown_unit = *unit ? unit : d->unit;
	ct_out_begin();
	if (my.json)
		ct_diff_json(d);
	else if (my.markdown)
		ct_diff_markdown(d);
	else
		ct_diff_text(d);
	if (ct_out_end() != CT_OK)
		return CT_FAILED;
	return d->regressed ? CT_DIFFERS : CT_OK;
}

static int diff(const struct sources sides[2], const struct ct_diff_limits *limits)
{
	struct ct_diff d = { .limits = *limits };
	struct ct_profile *first = NULL;
	const char *first_name = NULL;
	int answer = 0, status = CT_FAILED;

	ct_frames_init(&d.frames, CT_BY_FUNCTION);
	d.frames.names_only = true;
	for (unsigned side = 0; side < 2; side++)
		for (size_t i = 0; i < sides[side].count && !answer; i++)
			answer = take(&d, &first, &first_name, sides[side].names[i], side);
	if (!answer && !ct_diff_judge(&d))
		status = print(&d);
	ct_diff_release(&d);
	if (first)
		ct_profile_free(first);
	return status;
}

/* Which operands stand before "--"; COUNT is cut to what getopt is to see. */
static int split(int *count, char **argv)
{
	for (int i = 1; i < *count; i++) {
		if (strcmp(argv[i], "--") == 0) {
			int all = *count;

			*count = i;
			return all - i - 1;
		}
	}
	return -1;
}

static int run(int argc, char **argv)
{
	int after = split(&argc, argv);
	int first = ct_options_parse(&ct_verb_diff, argc, argv,
				     (const struct ct_option *[]){ options, NULL });
	struct sources sides[2] = { 0 };
	struct ct_diff_limits limits;
	int status = CT_FAILED;

	if (first < 0)
		return ct_options_status(first);
	if (read_limits(&limits))
		return CT_FAILED;
	for (unsigned long i = 0; i < my.base.count; i++)
		add_sources(&sides[CT_BEFORE], my.base.items[i]);
	/* A B; or A... -- B...; or -base=A B... */
	for (int i = first; i < argc; i++)
		add_sources(&sides[my.base.count || (after < 0 && i > first)], argv[i]);
	for (int i = 1; i <= after; i++)
		add_sources(&sides[CT_AFTER], argv[argc + i]);
	if (!my.base.count && after < 0 && argc - first != 2)
		ct_options_wrong(&ct_verb_diff, "two sides are needed, BEFORE AFTER, not %d",
				 argc - first);
	else if (!sides[0].count || !sides[1].count)
		ct_options_wrong(&ct_verb_diff, "a side has no profile");
	else
		status = diff(sides, &limits);
	free_sources(&sides[0]);
	free_sources(&sides[1]);
	return status;
}

const struct ct_verb ct_verb_diff = {
	.name = "diff",
	.operands = "BEFORE[,...] AFTER[,...]",
	.summary = "What changed between profiles, as a table and as a gate for CI",
	.details = "Also: diff BEFORE... -- AFTER..., or diff -base=BEFORE AFTER...\n"
		   "Several files a side are runs of the same: means are compared, with their "
		   "spread.\n"
		   "Exit status: 0 fine, 1 something grew above -fail-over, 2 an error.\n",
	.run = run,
};
