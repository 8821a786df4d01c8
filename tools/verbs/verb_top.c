/* SPDX-License-Identifier: BSD-3-Clause */
/* `cprof top`: shows the functions (lines, files, addresses) with the biggest values. */
#include <stdlib.h>
#include <string.h>

#include "core/read.h"
#include "dwarf/dwarf.h"
#include "verbs/verbs.h"

#define OWN_ROWS 10
/* Rows of your code if it is the only table. */
#define ONLY_ROWS 30
/* A profile is flat if no function has this share. */
#define FLAT_SHARE 0.05
/* Columns before a name, and columns after it for "(partial-inline)". */
#define COLUMNS_BEFORE 46
#define COLUMNS_AFTER 17

/* Are all calls of the function inlined, or some? */
static const char *inlining(const struct ct_graph *g, const struct ct_node *n)
{
	bool inlined = false, called = false;

	for (uint32_t i = 0; i < n->in_count; i++) {
		const struct ct_edge *e = &g->edges[g->in_edges[n->first_in + i]];

		inlined = inlined || e->inlined;
		called = called || !e->inlined;
	}
	return !inlined ? "" : called ? "partial-inline" : "inline";
}

static void print_row(const struct ct_report *r, const struct ct_node *n, const char *name,
		      int64_t sum)
{
	char a[CT_NUMBER_ROOM], b[CT_NUMBER_ROOM], c[CT_NUMBER_ROOM], d[CT_NUMBER_ROOM],
		e[CT_NUMBER_ROOM];
	const char *how = inlining(r->graph, n);

	printf("%10s %s %s %10s %s  %s", ct_report_value(r, a, ct_graph_node_flat(n)),
	       ct_report_share(r, b, ct_graph_node_flat(n)), ct_report_share(r, c, sum),
	       ct_report_value(r, d, ct_graph_node_cum(n)),
	       ct_report_share(r, e, ct_graph_node_cum(n)), ct_out_paint(CT_BOLD));
	ct_short_name_print(name, COLUMNS_BEFORE + (*how ? COLUMNS_AFTER : 0));
	printf("%s%s%s%s\n", ct_out_paint(CT_PLAIN), *how ? " (" : "", how, *how ? ")" : "");
}

static bool own_last, only_one;

void ct_verb_top_for_run(bool one_table)
{
	own_last = true;
	only_one = one_table;
}

/* Functions without a value of their own are left out, but not where callers are looked for, or all
 * rows. */
static bool has_row(const struct ct_report *r, size_t i)
{
	const struct ct_graph *g = r->graph;

	return !i || r->trim.by_cum || r->trim.node_fraction <= 0 ||
	       ct_graph_node_flat(&g->nodes[g->order[i]]);
}

static void print_all(const struct ct_report *r, bool told)
{
	const struct ct_graph *g = r->graph;
	size_t rows = 0;
	int64_t sum = 0;

	for (size_t i = 0; i < g->kept_count; i++)
		rows += has_row(r, i);

	if (told)
		printf("%sAll functions%s\n", ct_out_paint(CT_BOLD), ct_out_paint(CT_PLAIN));
	ct_report_heading(r, told, rows);
	printf("%s%10s %5s%% %5s%% %10s %5s%%%s\n", ct_out_paint(CT_DIM), "own", "own", "sum",
	       "total", "total", ct_out_paint(CT_PLAIN));
	for (size_t i = 0; i < g->kept_count; i++) {
		const struct ct_node *n = &g->nodes[g->order[i]];

		sum = ct_add(sum, ct_graph_node_flat(n));
		if (has_row(r, i))
			print_row(r, n, g->names[g->order[i]], sum);
	}
}

/* Where the user's own code has the time itself, its table is the only one. */
static void print_top(const struct ct_report *r, const struct ct_own_table *own)
{
	bool may = r->settings.granularity != CT_MODULES,
	     has_own = own->count && !own->is_nameless && may;
	bool one = only_one && has_own && 2 * ct_abs(own->inside) >= ct_abs(r->total);
	bool all = !has_own || ((!own->is_all || r->trim.node_fraction <= 0) && !one);
	bool told = may && (own->count || own->elsewhere);
	size_t limit = r->trim.node_count, most = all ? OWN_ROWS : ONLY_ROWS;

	if (!limit || limit > most)
		limit = most;
	if (r->trim.node_fraction <= 0 && !r->trim.node_count)
		limit = 0;
	if (may && !own_last)
		ct_own_table_print(own, r, limit);
	if (all && told && !own_last)
		putchar('\n');
	if (all)
		print_all(r, told);
	if (all && told && own_last)
		putchar('\n');
	if (may && own_last)
		ct_own_table_print(own, r, limit);
	if (!all)
		ct_report_heading_below(r);
}

static void print_json(const struct ct_report *r, const struct ct_own_table *own)
{
	const struct ct_graph *g = r->graph;
	struct ct_json j = ct_json_to(stdout);

	ct_json_open(&j, NULL, '{');
	ct_report_heading_json(r, &j);
	ct_own_table_json(own, r, &j);
	ct_json_open(&j, "rows", '[');
	for (size_t i = 0; i < g->kept_count; i++) {
		const struct ct_node *n = &g->nodes[g->order[i]];

		ct_json_open(&j, NULL, '{');
		ct_json_text(&j, "name", g->names[g->order[i]]);
		ct_json_integer(&j, "flat", ct_graph_node_flat(n));
		ct_json_integer(&j, "cum", ct_graph_node_cum(n));
		ct_json_text(&j, "inlining", inlining(g, n));
		ct_json_close(&j, '}');
	}
	ct_json_close(&j, ']');
	ct_json_close(&j, '}');
}

/* Where no function has much by itself, callers tell more. */
static void hint_flat(const struct ct_report *r, const char *file, bool is_alone)
{
	const struct ct_graph *g = r->graph;
	char *word;

	if (r->trim.by_cum || r->settings.granularity != CT_FUNCTIONS || !g->kept_count ||
	    (double)ct_abs(ct_graph_node_flat(&g->nodes[g->order[0]])) >=
		    FLAT_SHARE * (double)ct_abs(r->total))
		return;
	word = ct_out_word(file);
	fputs("cprof: hint: no function has 5% by itself: ", stderr);
	if (is_alone)
		fprintf(stderr, "cprof top -cum %s, or cprof flame %s\n", word, word);
	else if (own_last)
		fprintf(stderr,
			"cprof merge -children -o ALL.pb %s, then cprof top -cum ALL.pb, or cprof "
			"flame ALL.pb\n",
			word);
	else
		fputs("-cum, or cprof flame\n", stderr);
	free(word);
}

static void say_hints(const struct ct_report *r, const char *file, bool is_alone)
{
	bool of_lines = r->settings.granularity == CT_LINES && is_alone && strcmp(file, "-") &&
			!ct_input_is_url(file);
	struct ct_own *own = of_lines ? ct_own_table_rule(r->p) : NULL;

	ct_hints_say(r->p, file, own);
	hint_flat(r, file, is_alone);
	ct_own_free(own);
}

/* Prints what belongs on stderr, after the table. */
static void say_more(const struct ct_report *r, const char *file, bool is_alone)
{
	bool is_text = !ct_report_wants_json();

	if (is_alone && is_text)
		ct_siblings_say(r->p, file);
	if (is_text || !r->p->sample_count)
		ct_notes_say(r->p);
	if (is_text && r->p->type_count)
		say_hints(r, file, is_alone);
}

static int verb_top(int argc, char **argv)
{
	int first = ct_report_parse(&ct_verb_top, argc, argv, ct_own_options);
	struct ct_own_table own;
	struct ct_report r;
	int status;

	if (first < 0)
		return ct_options_status(first);
	if (first == argc)
		return ct_options_wrong(&ct_verb_top, "a profile is needed");
	if (ct_report_open(&r, argv + first, argc - first))
		return CT_FAILED;
	if (r.settings.granularity == CT_ADDRESSES)
		ct_dwarf_module_file_addresses(r.p);
	ct_report_graph(&r, &(struct ct_graph_wish){ 0 });
	if (ct_own_table_make(&own, &r)) {
		ct_report_close(&r);
		return CT_FAILED;
	}
	ct_report_begin(&r);
	if (ct_report_wants_json())
		print_json(&r, &own);
	else
		print_top(&r, &own);
	ct_own_table_release(&own);
	status = ct_out_end();
	if (status == CT_OK)
		say_more(&r, argv[first], argc - first == 1);
	ct_report_close(&r);
	return status;
}

const struct ct_verb ct_verb_top = {
	.name = "top",
	.operands = "FILE...",
	.summary = "The functions (files, lines, addresses) with the biggest values",
	.details =
		"First your code: cost at the innermost function of the program itself, with what\n"
		"it calls in libraries (own), and with your functions that it calls (total).\n"
		"Then all functions. Columns: own value, share, running share, value with "
		"callees,\n"
		"share. Several profiles are merged.\n",
	.run = verb_top,
};
