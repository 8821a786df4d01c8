/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of a verb; see core.h. Called by every verb, once. */
#include "core/core.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { HELP_ASKED = -1, WRONG = -2 };

#define HELP_COLUMN ((int)sizeof(CT_OPTIONS_INDENT) - 1)

int ct_options_status(int answer)
{
	return answer == HELP_ASKED ? CT_OK : CT_FAILED;
}

int ct_options_wrong(const struct ct_verb *verb, const char *fmt, ...)
{
	va_list args;

	fprintf(stderr, "cprof %s: ", verb->name);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fprintf(stderr, "; see \"cprof %s --help\"\n", verb->name);
	return CT_FAILED;
}

static void help_option(const struct ct_option *o)
{
	int n;

	if (!o->help)
		return;
	n = printf(o->kind == CT_KIND_MAYBE && o->argument ? "  -%s[%s%s]" : "  -%s%s%s", o->name,
		   o->argument ? "=" : "", o->argument ? o->argument : "");
	if (n >= HELP_COLUMN)
		n = printf("\n") * 0;
	printf("%*s%s\n", HELP_COLUMN - n, "", o->help);
}

static void help(const struct ct_verb *verb, const struct ct_option *const *tables)
{
	printf("usage: cprof %s [OPTION]... %s\n%s.\n", verb->name, verb->operands, verb->summary);
	if (*verb->details)
		printf("\n%s", verb->details);
	puts("\nOptions (one dash or two, -name=value or -name value; -name[=value] only with "
	     "\"=\"):");
	for (; *tables; tables++)
		for (const struct ct_option *o = *tables; o->name; o++)
			help_option(o);
	printf("  -help%*sthis text\n", HELP_COLUMN - 7, "");
}

static int set_integer(const struct ct_verb *verb, const struct ct_option *o, const char *text)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(text, &end, 10);
	if (errno || *end || end == text || n < 0) {
		ct_options_wrong(verb, "-%s=%s is no number of 0 or more", o->name, text);
		return WRONG;
	}
	*(long *)o->to = n;
	return 0;
}

static int set_number(const struct ct_verb *verb, const struct ct_option *o, const char *text)
{
	char *end;
	double n = strtod(text, &end);

	if (end != text && !strcmp(end, "%")) {
		n /= 100;
		end++;
	}
	if (end == text || *end || !isfinite(n) || n < 0) {
		ct_options_wrong(verb, "-%s=%s is no number of 0 or more", o->name, text);
		return WRONG;
	}
	*(double *)o->to = n;
	return 0;
}

static int set_flag(const struct ct_verb *verb, const struct ct_option *o, const char *text)
{
	static const char *const yes[] = { "1", "t", "true", "y", "yes", NULL };
	static const char *const no[] = { "0", "f", "false", "n", "no", NULL };

	for (unsigned i = 0; text && yes[i]; i++) {
		if (!strcmp(text, no[i])) {
			*(bool *)o->to = false;
			return 0;
		}
	}
	for (unsigned i = 0; text; i++) {
		if (!yes[i]) {
			ct_options_wrong(verb, "-%s=%s is neither true nor false", o->name, text);
			return WRONG;
		}
		if (!strcmp(text, yes[i]))
			break;
	}
	*(bool *)o->to = true;
	return 0;
}

static void add_to(struct ct_list *list, const char *text)
{
	list->items = ct_memory_realloc(list->items, list->count + 1, sizeof(*list->items));
	list->items[list->count++] = text;
}

static int set_option(const struct ct_verb *verb, const struct ct_option *o, const char *text)
{
	switch (o->kind) {
	case CT_KIND_FLAG: return set_flag(verb, o, text);
	case CT_KIND_TEXT: *(const char **)o->to = text; return 0;
	case CT_KIND_MAYBE: *(const char **)o->to = text ? text : ""; return 0;
	case CT_KIND_LIST: add_to(o->to, text); return 0;
	case CT_KIND_INTEGER: return set_integer(verb, o, text);
	case CT_KIND_NUMBER: return set_number(verb, o, text);
	case CT_KIND_CHOICE: *(int *)o->to = o->value; return 0;
	}
	return WRONG;
}

static int argument_kind(const struct ct_option *o)
{
	switch (o->kind) {
	case CT_KIND_FLAG:
	case CT_KIND_MAYBE: return optional_argument;
	case CT_KIND_CHOICE: return no_argument;
	default: return required_argument;
	}
}

/* Builds getopt's table from all tables, with --help at its end; OPTIONS gets the tables' options
 * in the same order. */
static struct option *merge(const struct ct_option *const *tables,
			    const struct ct_option ***options)
{
	struct option *all;
	size_t n = 0, i = 0;

	for (size_t t = 0; tables[t]; t++)
		for (const struct ct_option *o = tables[t]; o->name; o++)
			n++;
	all = ct_memory_alloc((n + 3) * sizeof(*all));
	*options = ct_memory_alloc((n + 1) * sizeof(**options));
	for (size_t t = 0; tables[t]; t++) {
		for (const struct ct_option *o = tables[t]; o->name; o++) {
			all[i] = (struct option){ o->name, argument_kind(o), NULL, 0 };
			(*options)[i++] = o;
		}
	}
	all[i] = (struct option){ "help", no_argument, NULL, 'h' };
	all[i + 1] = (struct option){ "h", no_argument, NULL, 'h' };
	return all;
}

/* Returns the option's name without dashes and value. The caller frees it. */
static char *bare_name(const char *given)
{
	given += strspn(given, "-");
	return ct_memory_printf("%.*s", (int)strcspn(given, "="), given);
}

static bool is_option(const struct option *all, const char *name)
{
	for (; all->name; all++)
		if (!strcmp(all->name, name))
			return true;
	return false;
}

static int no_such_option(const struct ct_verb *verb, const struct option *all, const char *given)
{
	char *name = bare_name(given);
	const char *near = NULL;

	for (const struct option *o = all; o->name; o++)
		near = ct_options_nearest(name, near, o->name);
	if (is_option(all, name))
		ct_options_wrong(verb, "-%s takes no value", name);
	else if (near)
		ct_options_wrong(verb, "there is no option %s; did you mean -%s?", given, near);
	else
		ct_options_wrong(verb, "there is no option %s", given);
	free(name);
	return WRONG;
}

static int wrong_option(const struct ct_verb *verb, const struct option *all, char **argv, int c)
{
	const char *given = argv[optind - 1];

	if (c == ':')
		ct_options_wrong(verb, "%s needs a value", given);
	else if (optopt > 0 && optopt < 256 && (given[0] != '-' || given[1] == '-'))
		ct_options_wrong(verb, "there is no option -%c", optopt);
	else
		return no_such_option(verb, all, given);
	return WRONG;
}

int ct_options_parse(const struct ct_verb *verb, int argc, char **argv,
		     const struct ct_option *const *tables)
{
	const struct ct_option **options;
	struct option *all = merge(tables, &options);
	const char *style = verb->stops_at_operand ? "+:" : ":";
	int c, at, answer = 0;

	optind = 0; /* makes glibc's getopt start anew */
	while (!answer && (c = getopt_long_only(argc, argv, style, all, &at)) != -1) {
		if (c == 'h') {
			help(verb, tables);
			answer = HELP_ASKED;
		} else if (c) {
			answer = wrong_option(verb, all, argv, c);
		} else {
			answer = set_option(verb, options[at], optarg);
		}
	}
	free(all);
	free(options);
	return answer ? answer : optind;
}

double ct_options_seconds(const char *text)
{
	static const struct {
		const char *unit;
		double seconds;
	} units[] = { { "ns", 1e-9 }, { "us", 1e-6 }, { "ms", 1e-3 },
		      { "s", 1 },     { "m", 60 },    { "h", 3600 } };
	const size_t count = sizeof(units) / sizeof(*units);
	double sum = 0;

	do {
		size_t i = 0, n;
		char *end;
		double part = strtod(text, &end);

		if (end == text || !(part >= 0) || !isfinite(part))
			return -1;
		if (!*end)
			return sum + part;
		n = strspn(end, "hmnsu");
		while (i < count && (strlen(units[i].unit) != n || strncmp(units[i].unit, end, n)))
			i++;
		if (i == count)
			return -1;
		sum += part * units[i].seconds;
		text = end + n;
	} while (*text);
	return sum;
}

int ct_options_run(const struct ct_verb *verb, int argc, char **argv)
{
	int first = verb->tables ? ct_options_parse(verb, argc, argv, verb->tables) : 0;

	if (first < 0)
		return ct_options_status(first);
	argc -= first;
	if (argc < verb->least || (verb->most && argc > verb->most))
		return ct_options_wrong(verb, verb->wanted, argc);
	return verb->run(argc, argv + first);
}

/* Distances between words. */

#define LETTERS_MAX 32

static size_t lesser(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Computes the optimal string alignment, with one row for each letter of A. */
size_t ct_options_distance(const char *a, const char *b)
{
	size_t m = strlen(a), n = strlen(b), rows[3][LETTERS_MAX + 1];

	if (m > LETTERS_MAX || n > LETTERS_MAX)
		return m > n ? m : n;
	for (size_t k = 0; k <= n; k++)
		rows[0][k] = k;
	for (size_t i = 1; i <= m; i++) {
		size_t *row = rows[i % 3], *before = rows[(i + 2) % 3], *two = rows[(i + 1) % 3];

		row[0] = i;
		for (size_t k = 1; k <= n; k++) {
			row[k] = lesser(lesser(before[k], row[k - 1]) + 1,
					before[k - 1] + (a[i - 1] != b[k - 1]));
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
				row[k] = lesser(row[k], two[k - 2] + 1);
		}
	}
	return rows[m % 3][n];
}

/* A third of the letters may be wrong. A word that begins with WORD is near, too. */
static bool is_near(const char *word, const char *other)
{
	size_t n = strlen(word);

	return ct_options_distance(word, other) <= (n + 1) / 3 ||
	       (n > 1 && !strncmp(word, other, n));
}

const char *ct_options_nearest(const char *word, const char *best, const char *other)
{
	if (!is_near(word, other))
		return best;
	if (best && ct_options_distance(word, best) <= ct_options_distance(word, other))
		return best;
	return other;
}
