/* SPDX-License-Identifier: BSD-3-Clause */
/* `cprof tree` and `cprof peek`: show each function between its callers and its callees. */

#include "dwarf/dwarf.h"
#include "verbs/verbs.h"

#define RULE "----------------------------------------------------------+-------------"
#define TREE_NODES 80
/* Columns before a name, and around that of a caller or callee with "(inline)". */
#define COLUMNS_BEFORE 60
#define COLUMNS_BEFORE_EDGE 71

static const struct ct_option options[] = { CT_END };

static void print_edge(const struct ct_report *r, const struct ct_edge *e, uint32_t other,
		       int64_t cum)
{
	char a[CT_NUMBER_ROOM], b[CT_NUMBER_ROOM];

	printf("%50s %s |   ", ct_report_value(r, a, e->weight),
	       ct_numbers_percent(b, e->weight, cum));
	ct_short_name_print(r->graph->names[other], COLUMNS_BEFORE_EDGE);
	puts(e->inlined ? " (inline)" : "");
}

static void print_node(const struct ct_report *r, uint32_t i, int64_t sum)
{
	char a[CT_NUMBER_ROOM], b[CT_NUMBER_ROOM], c[CT_NUMBER_ROOM], d[CT_NUMBER_ROOM],
		e[CT_NUMBER_ROOM];
	const struct ct_graph *g = r->graph;
	const struct ct_node *n = &g->nodes[i];
	int64_t flat = ct_graph_node_flat(n), cum = ct_graph_node_cum(n);

	puts(RULE);
	for (uint32_t k = 0; k < n->in_count; k++) {
		const struct ct_edge *in = &g->edges[g->in_edges[n->first_in + k]];

		print_edge(r, in, in->from, cum);
	}
	printf("%s%10s %s %s %10s %s                | ", ct_out_paint(CT_BOLD),
	       ct_report_value(r, a, flat), ct_report_share(r, b, flat), ct_report_share(r, c, sum),
	       ct_report_value(r, d, cum), ct_report_share(r, e, cum));
	ct_short_name_print(g->names[i], COLUMNS_BEFORE);
	puts(ct_out_paint(CT_PLAIN));
	for (uint32_t k = 0; k < n->out_count; k++) {
		const struct ct_edge *out = &g->edges[g->out_edges[n->first_out + k]];

		print_edge(r, out, out->to, cum);
	}
}

static bool some_match(const struct ct_graph *g, struct ct_regex *pick)
{
	for (size_t i = 0; i < g->kept_count; i++)
		if (ct_regex_match(pick, g->names[g->order[i]]))
			return true;
	return false;
}

/* PICK NULL: all nodes. */
static void print_tree(const struct ct_report *r, struct ct_regex *pick)
{
	const struct ct_graph *g = r->graph;
	int64_t sum = 0;

	ct_report_heading(r, false, r->graph->kept_count);
	puts(RULE);
	puts("       own   own%   sum%      total total%   calls calls% + context");
	for (size_t i = 0; i < g->kept_count; i++) {
		if (pick && !ct_regex_match(pick, g->names[g->order[i]]))
			continue;
		sum = ct_add(sum, ct_graph_node_flat(&g->nodes[g->order[i]]));
		print_node(r, g->order[i], sum);
	}
	if (g->kept_count)
		puts(RULE);
}

static void json_edges(struct ct_json *j, const struct ct_graph *g, const char *key,
		       const uint32_t *edges, uint32_t count, bool callers)
{
	ct_json_open(j, key, '[');
	for (uint32_t i = 0; i < count; i++) {
		const struct ct_edge *e = &g->edges[edges[i]];

		ct_json_open(j, NULL, '{');
		ct_json_text(j, "name", g->names[callers ? e->from : e->to]);
		ct_json_integer(j, "value", e->weight);
		ct_json_bool(j, "inlined", e->inlined);
		ct_json_close(j, '}');
	}
	ct_json_close(j, ']');
}

static void print_json(const struct ct_report *r, struct ct_regex *pick)
{
	const struct ct_graph *g = r->graph;
	struct ct_json j = ct_json_to(stdout);

	ct_json_open(&j, NULL, '{');
	ct_report_heading_json(r, &j);
	ct_json_open(&j, "rows", '[');
	for (size_t i = 0; i < g->kept_count; i++) {
		const struct ct_node *n = &g->nodes[g->order[i]];

		if (pick && !ct_regex_match(pick, g->names[g->order[i]]))
			continue;
		ct_json_open(&j, NULL, '{');
		ct_json_text(&j, "name", g->names[g->order[i]]);
		ct_json_integer(&j, "flat", ct_graph_node_flat(n));
		ct_json_integer(&j, "cum", ct_graph_node_cum(n));
		json_edges(&j, g, "callers", g->in_edges + n->first_in, n->in_count, true);
		json_edges(&j, g, "callees", g->out_edges + n->first_out, n->out_count, false);
		ct_json_close(&j, '}');
	}
	ct_json_close(&j, ']');
	ct_json_close(&j, '}');
}

/* PATTERN is NULL for tree. */
static int show_tree(char *const *sources, int count, const char *pattern)
{
	struct ct_regex *pick = pattern ? ct_regex_new("peek", pattern) : NULL;
	struct ct_graph_wish wish = { .never_trim = pattern,
				      .all_edges = true,
				      .usual_node_count = TREE_NODES };
	struct ct_report r;
	int status;

	if ((pattern && !pick) || ct_report_open(&r, sources, count)) {
		ct_regex_free(pick);
		return CT_FAILED;
	}
	if (r.settings.granularity == CT_ADDRESSES)
		ct_dwarf_module_file_addresses(r.p);
	ct_report_graph(&r, &wish);
	if (pick && !some_match(r.graph, pick)) {
		fprintf(stderr, "cprof: no function matches %s\n", pattern);
		status = CT_FAILED;
	} else {
		ct_report_begin(&r);
		if (ct_report_wants_json())
			print_json(&r, pick);
		else
			print_tree(&r, pick);
		status = ct_out_end();
	}
	ct_regex_free(pick);
	ct_report_close(&r);
	return status;
}

static int run_tree(int argc, char **argv)
{
	int first = ct_report_parse(&ct_verb_tree, argc, argv, options);

	if (first < 0)
		return ct_options_status(first);
	if (first == argc)
		return ct_options_wrong(&ct_verb_tree, "a profile is needed");
	return show_tree(argv + first, argc - first, NULL);
}

static int run_peek(int argc, char **argv)
{
	int first = ct_report_parse(&ct_verb_peek, argc, argv, options);

	if (first < 0)
		return ct_options_status(first);
	if (argc - first < 2)
		return ct_options_wrong(&ct_verb_peek, "an expression and a profile are needed");
	ct_report_say_swapped("peek", argv + first);
	return show_tree(argv + first + 1, argc - first - 1, argv[first]);
}

const struct ct_verb ct_verb_tree = {
	.name = "tree",
	.operands = "FILE...",
	.summary = "Each function between its callers and its callees",
	.details = "At most 80 functions, unless -nodecount says otherwise.\n",
	.run = run_tree,
};

const struct ct_verb ct_verb_peek = {
	.name = "peek",
	.operands = "REGEX FILE...",
	.summary = "Callers and callees of the functions that match",
	.details = "",
	.run = run_peek,
};
