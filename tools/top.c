/* `cprof top`: the functions (lines, files, addresses) with the biggest values. */
#include <stdio.h>

#include "out.h"
#include "report.h"

static const struct ct_option options[] = { CT_END };

/* Is every call of it inlined, or some? */
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

	printf("%10s %s %s %10s %s  %s", ct_report_value(r, a, ct_node_flat(n)),
	       ct_report_share(r, b, ct_node_flat(n)), ct_report_share(r, c, sum),
	       ct_report_value(r, d, ct_node_cum(n)), ct_report_share(r, e, ct_node_cum(n)),
	       ct_paint(CT_BOLD));
	ct_out_text(stdout, name);
	printf("%s%s%s%s\n", ct_paint(CT_PLAIN), *how ? " (" : "", how, *how ? ")" : "");
}

static void print(const struct ct_report *r)
{
	const struct ct_graph *g = r->graph;
	int64_t sum = 0;

	ct_report_heading(r);
	printf("%s%10s %5s%% %5s%% %10s %5s%%%s\n", ct_paint(CT_DIM), "flat", "flat", "sum", "cum",
	       "cum", ct_paint(CT_PLAIN));
	for (size_t i = 0; i < g->kept_count; i++) {
		const struct ct_node *n = &g->nodes[g->order[i]];

		sum = ct_add(sum, ct_node_flat(n));
		print_row(r, n, g->names[g->order[i]], sum);
	}
}

static void print_json(const struct ct_report *r)
{
	const struct ct_graph *g = r->graph;
	struct ct_json j = ct_json_to(stdout);

	ct_json_open(&j, NULL, '{');
	ct_report_json(r, &j);
	ct_json_open(&j, "rows", '[');
	for (size_t i = 0; i < g->kept_count; i++) {
		const struct ct_node *n = &g->nodes[g->order[i]];

		ct_json_open(&j, NULL, '{');
		ct_json_text(&j, "name", g->names[g->order[i]]);
		ct_json_integer(&j, "flat", ct_node_flat(n));
		ct_json_integer(&j, "cum", ct_node_cum(n));
		ct_json_text(&j, "inlining", inlining(g, n));
		ct_json_close(&j, '}');
	}
	ct_json_close(&j, ']');
	ct_json_close(&j, '}');
}

static int run(int argc, char **argv)
{
	int first = ct_report_parse(&ct_verb_top, argc, argv, options);
	struct ct_report r;

	if (first < 0)
		return ct_options_status(first);
	if (first == argc)
		return ct_options_wrong(&ct_verb_top, "a profile is needed");
	if (ct_report_open(&r, argv + first, argc - first))
		return CT_FAILED;
	ct_report_graph(&r, &(struct ct_graph_wish){ 0 });
	ct_out_begin();
	if (ct_report_wants_json())
		print_json(&r);
	else
		print(&r);
	ct_report_close(&r);
	return ct_out_end();
}

const struct ct_verb ct_verb_top = {
	.name = "top",
	.operands = "FILE...",
	.summary = "The functions (files, lines, addresses) with the biggest values",
	.details = "Several profiles are merged. Columns: own value, share, running share, value\n"
		   "with callees, share.\n",
	.run = run,
};
