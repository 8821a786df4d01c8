/* SPDX-License-Identifier: BSD-3-Clause */
/* `cprof list`: shows the source of functions, with the value of each line. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/verbs.h"

/* Lines shown before the first line with a value and after the last one. */
#define MARGIN 5

static const char *source_path, *trim_path;
static bool disasm, all;
static struct ct_list debug_dirs;

static const struct ct_option options[] = {
	CT_TEXT("source_path", "DIRS", &source_path,
		"where to look for sources, separated by colons"),
	CT_TEXT("trim_path", "PREFIXES", &trim_path, "removed from the sources' paths"),
	CT_FLAG("disasm", &disasm,
		"instructions; of a long function those around hot ones (needs libcapstone)"),
	CT_FLAG("all", &all, "with -disasm: every instruction"),
	CT_LIST("debug-dir", "DIR", &debug_dirs,
		"with -disasm: look for programs and debug files in DIR, as symbolize does"),
	CT_END
};

/* The nodes of one function in one file: order[first .. first + count - 1]. */
struct routine {
	const struct ct_node *const *nodes; /* sorted by line */
	size_t count;
	const char *name, *file;
	int64_t flat, cum, begin, end; /* lines shown */
};

struct listing {
	const struct ct_report *r;
	struct ct_json json;
};

static int by_place(const void *x, const void *y, void *context)
{
	const struct ct_profile *p = context;
	const struct ct_node *a = *(const struct ct_node *const *)x,
			     *b = *(const struct ct_node *const *)y;
	int r = strcmp(ct_text(p, a->name), ct_text(p, b->name));

	r = r ? r : strcmp(ct_text(p, a->file), ct_text(p, b->file));
	return r ? r : (a->line > b->line) - (a->line < b->line);
}

/* Returns all nodes whose function matches the pattern. */
static const struct ct_node **pick_nodes(const struct ct_graph *g, struct ct_regex *pick, size_t *n)
{
	const struct ct_node **nodes = ct_memory_alloc(g->kept_count * sizeof(struct ct_node *));

	*n = 0;
	for (size_t i = 0; i < g->kept_count; i++) {
		const struct ct_node *node = &g->nodes[g->order[i]];

		if (ct_regex_match_string(pick, g->p, node->name))
			nodes[(*n)++] = node;
	}
	qsort_r(nodes, *n, sizeof(struct ct_node *), by_place, g->p);
	return nodes;
}

static void measure_routine(struct routine *t)
{
	for (size_t i = 0; i < t->count; i++) {
		const struct ct_node *n = t->nodes[i];
		int64_t line = n->line > 0 && n->line < INT32_MAX ? n->line : 1;
		int64_t begin =
			n->start_line > 0 && n->start_line <= line ? n->start_line : line - MARGIN;

		t->flat = ct_add(t->flat, n->flat);
		t->cum = ct_add(t->cum, n->cum);
		t->begin = !i || begin < t->begin ? begin : t->begin;
		t->end = !i || line + MARGIN > t->end ? line + MARGIN : t->end;
	}
	if (t->begin < 1)
		t->begin = 1;
}

static const char *value_or_dot(const struct ct_report *r, char *to, int64_t value)
{
	return value ? ct_report_value(r, to, value) : ".";
}

/* TEXT is NULL if the source can't be found. */
static void show_line(struct listing *l, int64_t line, int64_t flat, int64_t cum, const char *text)
{
	char a[CT_NUMBER_ROOM], b[CT_NUMBER_ROOM];
	const struct ct_report *r = l->r;

	if (ct_report_wants_json()) {
		ct_json_open(&l->json, NULL, '{');
		ct_json_integer(&l->json, "line", line);
		ct_json_integer(&l->json, "flat", flat);
		ct_json_integer(&l->json, "cum", cum);
		if (text)
			ct_json_text(&l->json, "text", text);
		ct_json_close(&l->json, '}');
		return;
	}
	printf("%s%10s %10s %6" PRId64 ":", flat || cum ? ct_out_paint(CT_BOLD) : "",
	       value_or_dot(r, a, flat), value_or_dot(r, b, cum), line);
	ct_out_text(stdout, text ? text : "");
	puts(flat || cum ? ct_out_paint(CT_PLAIN) : "");
}

/* Sums the nodes of LINE from nodes[*AT] on. */
static void take_line(const struct routine *t, size_t *at, int64_t line, int64_t *flat,
		      int64_t *cum)
{
	*flat = *cum = 0;
	for (; *at < t->count && t->nodes[*at]->line <= line; ++*at) {
		if (t->nodes[*at]->line < line)
			continue;
		*flat = ct_add(*flat, t->nodes[*at]->flat);
		*cum = ct_add(*cum, t->nodes[*at]->cum);
	}
}

static void show_source(struct listing *l, const struct routine *t, const struct ct_source *s)
{
	int64_t flat, cum, end = t->end;
	size_t at = 0;

	if (end > (int64_t)s->count)
		end = (int64_t)s->count;
	for (int64_t line = t->begin; line <= end; line++) {
		take_line(t, &at, line, &flat, &cum);
		show_line(l, line, flat, cum, s->lines[line]);
	}
}

/* Shows numbers without the source, if that isn't found. */
static void show_numbers(struct listing *l, const struct routine *t)
{
	int64_t flat, cum;
	size_t at = 0;

	while (at < t->count) {
		int64_t line = t->nodes[at]->line;

		take_line(t, &at, line, &flat, &cum);
		show_line(l, line, flat, cum, NULL);
	}
}

static void head(struct listing *l, const struct routine *t)
{
	char a[CT_NUMBER_ROOM], b[CT_NUMBER_ROOM], c[CT_NUMBER_ROOM];

	if (ct_report_wants_json()) {
		ct_json_open(&l->json, NULL, '{');
		ct_json_text(&l->json, "name", t->name);
		ct_json_text(&l->json, "file", t->file);
		ct_json_integer(&l->json, "flat", t->flat);
		ct_json_integer(&l->json, "cum", t->cum);
		ct_json_open(&l->json, "lines", '[');
		return;
	}
	printf("%sROUTINE ======================== ", ct_out_paint(CT_BOLD));
	ct_out_text(stdout, t->name);
	fputs(" in ", stdout);
	ct_out_text(stdout, t->file);
	puts(ct_out_paint(CT_PLAIN));
	printf("%10s %10s (own, total) %s of all\n", ct_report_value(l->r, a, t->flat),
	       ct_report_value(l->r, b, t->cum), ct_report_share(l->r, c, t->cum));
}

static void show_routine(struct listing *l, struct routine *t)
{
	struct ct_source source;
	int error;

	measure_routine(t);
	head(l, t);
	error = ct_source_read(&source, t->file, source_path, trim_path);
	if (!error) {
		show_source(l, t, &source);
		ct_source_release(&source);
	} else {
		if (!ct_report_wants_json())
			printf(" Error: the source can't be read: %s%s\n", strerror(-error),
			       error == -ENOENT ? " (-source_path=DIRS says where it is)" : "");
		show_numbers(l, t);
	}
	if (ct_report_wants_json()) {
		ct_json_close(&l->json, ']');
		ct_json_close(&l->json, '}');
	}
}

static void no_source(struct listing *l, const char *name)
{
	if (ct_report_wants_json())
		return;
	fputs("No source information for ", stdout);
	ct_out_text(stdout, name);
	putchar('\n');
}

/* Shows a function, which may be in several files. Nodes without a file count only if no node has a
 * file. */
static void show_function(struct listing *l, const struct ct_node *const *nodes, size_t count)
{
	const struct ct_profile *p = l->r->p;
	size_t n;

	if (!nodes[count - 1]->file || !*ct_text(p, nodes[count - 1]->file)) {
		no_source(l, ct_text(p, nodes[0]->name));
		return;
	}
	for (size_t i = 0; i < count; i += n) {
		struct routine t = { .nodes = nodes + i,
				     .name = ct_text(p, nodes[i]->name),
				     .file = ct_text(p, nodes[i]->file) };

		for (n = 1; i + n < count && nodes[i + n]->file == nodes[i]->file;)
			n++;
		t.count = n;
		if (*t.file)
			show_routine(l, &t);
	}
}

static void show_all(struct listing *l, const struct ct_node *const *nodes, size_t count)
{
	char total[CT_NUMBER_ROOM];
	size_t n;

	if (ct_report_wants_json()) {
		ct_json_open(&l->json, NULL, '{');
		ct_report_heading_json(l->r, &l->json);
		ct_json_open(&l->json, "functions", '[');
	} else {
		printf("Total: %s\n", ct_report_value(l->r, total, l->r->total));
	}
	for (size_t i = 0; i < count; i += n) {
		for (n = 1; i + n < count && nodes[i + n]->name == nodes[i]->name;)
			n++;
		show_function(l, nodes + i, n);
	}
	if (ct_report_wants_json()) {
		ct_json_close(&l->json, ']');
		ct_json_close(&l->json, '}');
	}
}

/* Does any node have a line of a source? */
static bool has_lines(const struct ct_node *const *nodes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (nodes[i]->line)
			return true;
	return false;
}

static int list_routines(struct ct_report *r, struct ct_regex *pick, const char *pattern,
			 const char *file)
{
	struct listing l = { .r = r, .json = ct_json_to(stdout) };
	const struct ct_node **nodes;
	size_t count;
	int status = CT_FAILED;

	ct_report_graph(r, &(struct ct_graph_wish){ .never_trim = true, .by_source = true });
	nodes = pick_nodes(r->graph, pick, &count);
	if (count && !has_lines(nodes, count)) {
		fprintf(stderr,
			"cprof: %s has names only of what matches, no lines: \"cprof symbolize "
			"--in-place %s\" adds them, where there is debug information\n",
			file, file);
	} else if (count) {
		ct_report_begin(r);
		show_all(&l, nodes, count);
		status = ct_out_end();
	} else {
		fprintf(stderr, "cprof: no function matches %s\n", pattern);
	}
	free(nodes);
	return status;
}

static int list_instructions(struct ct_report *r, struct ct_regex *pick, const char *pattern)
{
	const char **roots = ct_verb_symbolize_roots(&debug_dirs);
	const struct ct_list_disasm wish = { pattern, source_path, trim_path, roots, all };
	int status = ct_list_disasm(r, pick, &wish);

	free(roots);
	return status;
}

static int verb_list(int argc, char **argv)
{
	int first = ct_report_parse(&ct_verb_list, argc, argv, options), status = CT_FAILED;
	struct ct_regex *pick;
	struct ct_report r;

	if (first < 0)
		return ct_options_status(first);
	if (argc - first < 2)
		return ct_options_wrong(&ct_verb_list, "an expression and a profile are needed");
	ct_report_say_swapped("list", argv + first);
	pick = ct_regex_new("list", argv[first]);
	if (pick && !ct_report_open(&r, argv + first + 1, argc - first - 1)) {
		status = disasm ? list_instructions(&r, pick, argv[first])
				: list_routines(&r, pick, argv[first], argv[first + 1]);
		ct_report_close(&r);
	}
	ct_regex_free(pick);
	return status;
}

const struct ct_verb ct_verb_list = {
	.name = "list",
	.operands = "REGEX FILE...",
	.summary = "The source of the functions that match, with each line's values",
	.details = "Needs a profile with lines: Go's have them, libcprof's after \"cprof "
		   "symbolize\".\nWith -disasm: its instructions, of x86_64 and aarch64, for which "
		   "nothing but the\nprogram's file is needed; REGEX may be a name like "
		   "dash+0x9ca0.\n",
	.run = verb_list,
};
