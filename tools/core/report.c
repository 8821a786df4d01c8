/* SPDX-License-Identifier: BSD-3-Clause */
/* Options, profile and units of a table; see report.h. Headings are in report_heading.c. */
#include "core/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/read.h"
#include "core/times.h"

static struct {
	const char *sample_index, *unit;
	int kind; /* enum ct_granularity */
	int by_cum;
	bool json, mean, no_inlines, relative, trim;
	long node_count;
	double node_fraction, edge_fraction;
} asked = {
	.unit = "auto",
	.trim = true,
	.node_count = -1,
	.node_fraction = 0.005,
	.edge_fraction = 0.001,
};

static const struct ct_option options[] = {
	CT_FLAG("json", &asked.json, "print JSON"),
	CT_TEXT("sample_index", "TYPE", &asked.sample_index,
		"sample type to show, by name or number"),
	CT_FLAG("mean", &asked.mean, "divide by the first sample type (size of an average one)"),
	CT_TEXT("unit", "UNIT", &asked.unit, "ns, us, ms, s, kB, MB, ...; or minimum, as pprof"),
	CT_CHOICE("flat", &asked.by_cum, 0, "sort by own value (default)"),
	CT_CHOICE("cum", &asked.by_cum, 1, "sort by value with callees"),
	CT_CHOICE("functions", &asked.kind, CT_FUNCTIONS, "a row for each function (default)"),
	CT_CHOICE("filefunctions", &asked.kind, CT_FILEFUNCTIONS, "for each file and function"),
	CT_CHOICE("files", &asked.kind, CT_FILES, "for each file"),
	CT_CHOICE("lines", &asked.kind, CT_LINES, "for each line"),
	CT_CHOICE("addresses", &asked.kind, CT_ADDRESSES, "for each address"),
	CT_CHOICE("modules", &asked.kind, CT_MODULES, "for each program and library"),
	CT_FLAG("noinlines", &asked.no_inlines, "count inlined calls for their caller"),
	CT_INTEGER("nodecount", "N", &asked.node_count, "show at most N rows"),
	CT_NUMBER("nodefraction", "F", &asked.node_fraction,
		  "no rows below this share with callees (0.005)"),
	CT_NUMBER("edgefraction", "F", &asked.edge_fraction, "no calls below this share (0.001)"),
	CT_FLAG("trim", &asked.trim, "-trim=false: all rows and calls"),
	CT_FLAG("relative_percentages", &asked.relative, "shares of what the filters left"),
	CT_END
};

int ct_report_parse(const struct ct_verb *verb, int argc, char **argv, const struct ct_option *own)
{
	const struct ct_option *tables[] = { own,
					     options,
					     ct_short_name_options,
					     ct_times_window_options,
					     ct_filter_options,
					     ct_load_options,
					     NULL };

	return ct_options_parse(verb, argc, argv, tables);
}

bool ct_report_wants_json(void)
{
	return asked.json;
}

static int unknown_type(const struct ct_profile *p, const char *name)
{
	fprintf(stderr, "cprof: -sample_index=%s is none of:", name);
	for (size_t i = 0; i < p->type_count; i++)
		fprintf(stderr, " %s", ct_text(p, p->types[i].type));
	fputc('\n', stderr);
	return -1;
}

/* Accepts a number, a name, or inuse_NAME if the file has the type NAME. */
static int choose_type(const struct ct_profile *p, size_t *index)
{
	const char *name = asked.sample_index, *rest = name;
	char *end;
	unsigned long n;

	*index = ct_model_default_type(p);
	if (!name || !*name)
		return 0;
	n = strtoul(name, &end, 10);
	if (!*end && *name != '-') {
		*index = n;
		return n < p->type_count ? 0 : unknown_type(p, name);
	}
	if (!strncmp(name, "inuse_", 6))
		rest += 6;
	for (size_t i = 0; i < p->type_count; i++) {
		const char *type = ct_text(p, p->types[i].type);

		if (!strcmp(type, name) || !strcmp(type, rest)) {
			*index = i;
			return 0;
		}
	}
	return unknown_type(p, name);
}

static int prepare_report(struct ct_report *r)
{
	struct ct_type type;

	if (!r->p->type_count) {
		fputs("cprof: the profile has no sample types\n", stderr);
		return -1;
	}
	if (choose_type(r->p, &r->settings.type))
		return -1;
	type = r->p->types[r->settings.type];
	r->settings.granularity = (enum ct_granularity)asked.kind;
	r->settings.no_inlines = asked.no_inlines;
	r->settings.mean = asked.mean;
	r->type = ct_text(r->p, type.type);
	r->from_unit = ct_text(r->p, type.unit);
	r->unit = ct_memory_strdup(asked.unit);
	ct_filter_tags_units_init(&r->label_units, r->p);
	if (!asked.relative)
		r->total = ct_graph_total(r->p, &r->settings);
	if (ct_filter(r->p, &r->label_units))
		return -1;
	if (asked.relative)
		r->total = ct_graph_total(r->p, &r->settings);
	return 0;
}

int ct_report_open(struct ct_report *r, char *const *sources, int count)
{
	*r = (struct ct_report){ .p = ct_load(sources, count) };
	if (!r->p)
		return -1;
	if (!prepare_report(r))
		return 0;
	ct_report_close(r);
	return -1;
}

void ct_report_say_swapped(const char *verb, char *const *operands)
{
	if (!access(operands[0], R_OK) && access(operands[1], F_OK) &&
	    strcmp(operands[1], "-") != 0 && !strstr(operands[1], "://"))
		fprintf(stderr, "cprof %s: the expression comes first: cprof %s %s %s\n", verb,
			verb, operands[1], operands[0]);
}

void ct_report_begin(const struct ct_report *r)
{
	ct_out_begin();
	if (!asked.json)
		ct_times_window_say(r->p, r->settings.type, stdout);
}

void ct_report_close(struct ct_report *r)
{
	ct_graph_free(r->graph);
	ct_filter_tags_units_release(&r->label_units);
	ct_model_free(r->p);
	free(r->unit);
	*r = (struct ct_report){ 0 };
}

/* Chooses the unit in which the smallest value shown is at least 0.01, or at least 1 if all values
 * are of about the same size. */
static void choose_unit(struct ct_report *r)
{
	const struct ct_graph *g = r->graph;
	const char *unit, *biggest;
	int64_t least = 0;

	if (strcmp(r->unit, "minimum") || !g->kept_count)
		return;
	for (size_t i = 0; i < g->kept_count; i++) {
		const struct ct_node *n = &g->nodes[g->order[i]];
		int64_t v = ct_abs(ct_graph_node_flat(n));

		if (!v)
			v = ct_abs(ct_graph_node_cum(n));
		if (v > 0 && (!least || v < least))
			least = v;
	}
	if (!least)
		least = r->total;
	ct_numbers_scale(least, r->from_unit, "minimum", &unit);
	ct_numbers_scale(r->total, r->from_unit, "minimum", &biggest);
	if (strcmp(unit, biggest) && (double)least * 100 < (double)r->total)
		ct_numbers_scale(ct_numbers_clamp((double)least * 100), r->from_unit, "minimum",
				 &unit);
	free(r->unit);
	r->unit = ct_memory_strdup(*unit ? unit : r->from_unit);
}

void ct_report_graph(struct ct_report *r, const struct ct_graph_wish *wish)
{
	r->trim = (struct ct_trim){ .by_cum = asked.by_cum };
	if (asked.trim && !wish->never_trim) {
		r->trim.node_fraction = asked.node_fraction;
		r->trim.edge_fraction = asked.edge_fraction;
		r->trim.node_count =
			asked.node_count >= 0 ? (size_t)asked.node_count : wish->usual_node_count;
	}
	if (wish->by_source) {
		r->settings.granularity = CT_LINES;
		r->settings.modules = true;
	}
	r->graph = ct_graph_new(r->p, &r->settings);
	r->trimmed = ct_graph_trim(r->graph, &r->trim);
	ct_graph_edges_add(r->graph, r->trimmed.edge_cutoff, !wish->all_edges);
	if (!wish->by_source) /* each value has its own unit */
		choose_unit(r);
}

char *ct_report_value(const struct ct_report *r, char *to, int64_t value)
{
	if (!strcmp(r->unit, "auto"))
		return ct_numbers_text(to, value, r->from_unit, r->total);
	return ct_numbers_format(to, value, r->from_unit, r->unit);
}

char *ct_report_share(const struct ct_report *r, char *to, int64_t value)
{
	return ct_numbers_percent(to, value, r->total);
}
