/* SPDX-License-Identifier: BSD-3-Clause */
/* `cprof diff`: compares what grew and what shrank, for people and as a gate. See diff.h. */
#include "diff/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/report.h"
#include "core/read.h"
#include "core/times.h"

static struct {
	struct ct_list base;
	const char *type, *fail_over, *scope, *min, *alpha, *ignore, *own;
	bool json, markdown, cum, normalize, all;
	long rows;
} my = { .rows = 15 };

static const struct ct_option options[] = {
	CT_LIST("base", "FILE", &my.base, "the side before (may be given several times)"),
	CT_TEXT("sample_index", "TYPE", &my.type, "which value: a name or number"),
	CT_TEXT("fail-over", "PERCENT", &my.fail_over, "exit with 1 on growth above this: 5%"),
	CT_TEXT("scope", "total|function", &my.scope, "what may not grow (default: total)"),
	CT_TEXT("min", "PERCENT", &my.min, "leave out functions below this share (default: 1%)"),
	CT_TEXT("own", "REGEX", &my.own,
		"your code: functions and modules that match; -own= omits the table"),
	CT_TEXT("ignore", "REGEX", &my.ignore, "functions that are neither shown nor judged"),
	CT_FLAG("cum", &my.cum, "judge functions with their callees, not by their own value"),
	CT_FLAG("normalize", &my.normalize, "scale each file to the same total first"),
	CT_TEXT("alpha", "NUMBER", &my.alpha,
		"with several files a side, growth counts at p below this (default: 0.05)"),
	CT_INTEGER("nodecount", "N", &my.rows, "rows of a table (default: 15; 0: all)"),
	CT_FLAG("all", &my.all, "show also changes that chance explains"),
	CT_FLAG("markdown", &my.markdown, "as Markdown"),
	CT_FLAG("json", &my.json, "as JSON"),
	CT_END
};

/* Reads "5%" or "0.05"; a bare 5 could mean both. Returns 0, or -1 after a message. */
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
				      .own = my.own,
				      .all = my.all,
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

/* "A,B" is two files, unless there is one file of that name. */
static void add_sources(struct sources *s, const char *text)
{
	char *copy = ct_memory_strdup(text), *rest = copy, *name;

	if (!strchr(text, ',') || access(text, F_OK) == 0) {
		*CT_PUSH(s->names, s->count, s->room) = copy;
		return;
	}
	while ((name = strsep(&rest, ",")))
		if (*name)
			*CT_PUSH(s->names, s->count, s->room) = ct_memory_strdup(name);
	free(copy);
}

static void free_sources(struct sources *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->names[i]);
	free(s->names);
}

/* All files, those of the side before first. */
struct files {
	struct ct_profile **profiles;
	const char **names;
	unsigned *sides;
	size_t count;
};

/* Returns true if file I has the sample types of the first file. */
static bool type_fits(const struct files *f, size_t i, size_t *type)
{
	return (!i || ct_flame_sides_same_types(f->profiles[0], f->names[0], f->profiles[i],
						f->names[i])) &&
	       ct_flame_sides_type(f->profiles[i], my.type, type) == CT_OK;
}

/* Returns 0, or -1 after an error message. */
static int read_all(struct files *f, const struct sources sides[2])
{
	size_t count = sides[0].count + sides[1].count, type;

	f->profiles = ct_memory_alloc((count + 1) * sizeof(struct ct_profile *));
	f->names = ct_memory_alloc((count + 1) * sizeof(*f->names));
	f->sides = ct_memory_alloc((count + 1) * sizeof(*f->sides));
	for (unsigned side = 0; side < 2; side++) {
		for (size_t i = 0; i < sides[side].count; i++) {
			f->names[f->count] = sides[side].names[i];
			f->sides[f->count] = side;
			ct_times_filter_forget(); /* each has its own start */
			f->profiles[f->count] = ct_load_file(sides[side].names[i]);
			if (!f->profiles[f->count])
				return -1;
			f->count++;
			if (!type_fits(f, f->count - 1, &type))
				return -1;
		}
	}
	return 0;
}

static int take_all(struct ct_diff *d, struct files *f)
{
	size_t type;

	for (size_t i = 0; i < f->count; i++) {
		struct ct_profile *p = f->profiles[i];

		if (!type_fits(f, i, &type) ||
		    ct_diff_rows_take(d, p, type, f->names[i], f->sides[i]))
			return -1;
		if (!i) {
			d->type = ct_text(p, p->types[type].type);
			d->unit = ct_text(p, p->types[type].unit);
		}
	}
	return 0;
}

static void free_files(struct files *f)
{
	for (size_t i = 0; i < f->count; i++)
		ct_model_free(f->profiles[i]);
	free(f->profiles);
	free(f->names);
	free(f->sides);
}

static int print_diff(struct ct_diff *d)
{
	ct_out_begin();
	if (my.json)
		ct_diff_print_json(d);
	else if (my.markdown)
		ct_diff_print_markdown(d);
	else
		ct_diff_print_text(d);
	if (ct_out_end() != CT_OK)
		return CT_FAILED;
	return d->verdict == CT_REGRESSION ? CT_DIFFERS
	       : d->verdict == CT_TOO_FEW  ? CT_FAILED
					   : CT_OK;
}

static int diff(const struct sources sides[2], const struct ct_diff_limits *limits)
{
	struct ct_diff d = { .limits = *limits };
	struct files f = { 0 };
	int status = CT_FAILED;

	ct_flame_frames_init(&d.frames, CT_BY_FUNCTION);
	d.frames.names_only = true;
	if (!read_all(&f, sides)) {
		ct_inlines_align(f.profiles, f.names, f.count);
		if (!take_all(&d, &f) && !ct_diff_rows_make(&d)) {
			ct_diff_verdict_judge(&d);
			status = print_diff(&d);
		}
	}
	ct_diff_rows_release(&d);
	free_files(&f);
	return status;
}

/* Returns the index of "--" in ARGV, or COUNT. */
static int split(int count, char **argv)
{
	int i = 1;

	while (i < count && strcmp(argv[i], "--") != 0)
		i++;
	return i;
}

static int parse_options(int argc, char **argv)
{
	return ct_options_parse(&ct_verb_diff, argc, argv,
				(const struct ct_option *[]){ options, ct_times_window_options,
							      ct_short_name_options, NULL });
}

/* Joins COUNT operands of ARGV to "a,b,c". The caller frees the result. */
static char *joined_operands(char **argv, int count)
{
	char *text = ct_memory_strdup(argv[0]);

	for (int i = 1; i < count; i++) {
		char *longer = ct_memory_printf("%s,%s", text, argv[i]);

		free(text);
		text = longer;
	}
	return text;
}

static int not_two(char **argv, int count)
{
	char *before, *after;

	if (count < 3)
		return ct_options_wrong(&ct_verb_diff, "two sides are needed, BEFORE AFTER, not %d",
					count);
	if (count % 2)
		return ct_options_wrong(&ct_verb_diff,
					"two sides are needed, not %d; several files a side: "
					"cprof diff BEFORE... -- AFTER...",
					count);
	before = joined_operands(argv, count / 2);
	after = joined_operands(argv + count / 2, count / 2);
	ct_options_wrong(&ct_verb_diff,
			 "two sides are needed, not %d; several files a side: cprof diff "
			 "BEFORE... -- AFTER..., or cprof diff %s %s",
			 count, before, after);
	free(before);
	free(after);
	return CT_FAILED;
}

static int compare_sides(const struct sources sides[2], bool two_parts, char **operands, int count)
{
	struct ct_diff_limits limits;

	if (read_limits(&limits))
		return CT_FAILED;
	if (!my.base.count && !two_parts && count != 2)
		return not_two(operands, count);
	if (!sides[0].count || !sides[1].count)
		return ct_options_wrong(&ct_verb_diff, "a side has no profile");
	return diff(sides, &limits);
}

/* Accepts A B; or A... -- B...; or -base=A B... Options may be anywhere. */
static int verb_diff(int argc, char **argv)
{
	int dashes = split(argc, argv), first, second = 0, status;
	bool two_parts = dashes < argc;
	struct sources sides[2] = { 0 };

	first = parse_options(dashes, argv);
	if (first >= 0 && two_parts)
		second = parse_options(argc - dashes, argv + dashes);
	if (first < 0 || second < 0)
		return ct_options_status(first < 0 ? first : second);
	for (unsigned long i = 0; i < my.base.count; i++)
		add_sources(&sides[CT_BEFORE], my.base.items[i]);
	for (int i = first; i < dashes; i++)
		add_sources(&sides[my.base.count || (!two_parts && i > first)], argv[i]);
	for (int i = dashes + second; two_parts && i < argc; i++)
		add_sources(&sides[CT_AFTER], argv[i]);
	status = compare_sides(sides, two_parts, argv + first, dashes - first);
	free_sources(&sides[0]);
	free_sources(&sides[1]);
	return status;
}

const struct ct_verb ct_verb_diff = {
	.name = "diff",
	.operands = "BEFORE[,...] AFTER[,...]",
	.summary = "The changes between profiles, as a table and as a gate for CI",
	.details = "Also: diff BEFORE... -- AFTER..., or diff -base=BEFORE AFTER...\n"
		   "Several files on a side are runs of the same program: means are compared, with "
		   "their "
		   "spread.\n"
		   "Exit status: 0 fine, 1 something grew above -fail-over, 2 an error, or too few "
		   "samples to\njudge by.\n",
	.run = verb_diff,
};
