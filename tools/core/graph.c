/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of the nodes, and which of them are shown; see report.h. The edges are in graph_edges.c.
 */
#include "core/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/read.h"

int64_t ct_graph_node_flat(const struct ct_node *n)
{
	return n->flat_div ? ct_divide(n->flat, n->flat_div) : n->flat;
}

int64_t ct_graph_node_cum(const struct ct_node *n)
{
	return n->cum_div ? ct_divide(n->cum, n->cum_div) : n->cum;
}

/* The data that is written for every frame, kept apart from the nodes so that it fits the caches.
 */
struct tally {
	uint32_t seen; /* number of the last sample that was counted */
	int64_t cum;
};

/* Counts a sample once for a function, even if the function is on its stack several times. */
static void count_sample(struct ct_graph *g, struct tally *tallies, uint32_t number, int64_t w,
			 int64_t dw)
{
	const struct ct_sample *s = &g->p->samples[number - 1];
	const uint32_t *frames = ct_frames(g->p, s);
	uint32_t leaf;

	for (uint32_t i = 0; i < s->depth; i++) {
		uint32_t end = g->first_node[frames[i] + 1];

		for (uint32_t k = g->first_node[frames[i]]; k < end; k++) {
			uint32_t node = g->location_nodes[k];
			struct tally *t = &tallies[node];

			if (t->seen == number)
				continue;
			t->seen = number;
			t->cum = ct_add(t->cum, w);
			if (dw)
				g->nodes[node].cum_div = ct_add(g->nodes[node].cum_div, dw);
		}
	}
	if (!s->depth)
		return;
	leaf = g->location_nodes[g->first_node[frames[0]]];
	g->nodes[leaf].flat = ct_add(g->nodes[leaf].flat, w);
	g->nodes[leaf].flat_div = ct_add(g->nodes[leaf].flat_div, dw);
}

struct ct_graph *ct_graph_new(struct ct_profile *p, const struct ct_graph_settings *settings)
{
	struct ct_graph *g = ct_memory_alloc(sizeof(*g));
	struct tally *tallies;

	g->p = p;
	g->settings = *settings;
	ct_graph_nodes_make(g);
	tallies = ct_memory_alloc(g->node_count * sizeof(*tallies));
	for (size_t i = 0; i < p->sample_count; i++) {
		const int64_t *values = ct_values(p, i);
		int64_t w = values[settings->type], dw = settings->mean ? values[0] : 0;

		if (w || dw)
			count_sample(g, tallies, (uint32_t)i + 1, w, dw);
	}
	for (size_t i = 0; i < g->node_count; i++)
		g->nodes[i].cum = tallies[i].cum;
	free(tallies);
	return g;
}

void ct_graph_free(struct ct_graph *g)
{
	if (!g)
		return;
	for (size_t i = 0; g->names && i < g->node_count; i++)
		free(g->names[i]);
	free(g->names);
	free(g->nodes);
	free(g->first_node);
	free(g->location_nodes);
	free(g->edges);
	free(g->in_edges);
	free(g->out_edges);
	free(g->order);
	free(g);
}

/* Returns for each label set whether it is the diff base's. */
static bool *base_sets(const struct ct_profile *p)
{
	bool *is_base = ct_memory_alloc(p->label_set_count * sizeof(*is_base));

	for (uint32_t i = 0; i < p->label_set_count; i++) {
		const struct ct_label *l = ct_model_label(p, i, CT_BASE_LABEL);

		is_base[i] = l && !strcmp(ct_text(p, l->text), "true");
	}
	return is_base;
}

int64_t ct_graph_total(const struct ct_profile *p, const struct ct_graph_settings *s)
{
	bool *is_base = base_sets(p);
	int64_t all = 0, all_div = 0, base = 0, base_div = 0;

	for (size_t i = 0; i < p->sample_count; i++) {
		int64_t v = ct_abs(ct_values(p, i)[s->type]), d = s->mean ? ct_values(p, i)[0] : 0;

		all = ct_add(all, v);
		all_div = ct_add(all_div, d);
		if (is_base[p->samples[i].label_set]) {
			base = ct_add(base, v);
			base_div = ct_add(base_div, d);
		}
	}
	free(is_base);
	if (base > 0) {
		all = base;
		all_div = base_div;
	}
	return all_div ? ct_divide(all, all_div) : all;
}

/* Larger absolute values first. */
static int by_size(int64_t a, int64_t b)
{
	uint64_t x = (uint64_t)ct_abs(a), y = (uint64_t)ct_abs(b);

	return x == y ? 0 : x > y ? -1 : 1;
}

/* Compares numbers as texts, "10" before "9", because pprof orders nodes so if they are equal
 * otherwise. */
static int by_digits(uint64_t a, uint64_t b)
{
	char x[24], y[24];

	if (a == b)
		return 0;
	snprintf(x, sizeof(x), "%" PRIu64, a);
	snprintf(y, sizeof(y), "%" PRIu64, b);
	return strcmp(x, y);
}

static int by_identity(const struct ct_graph *g, const struct ct_node *a, const struct ct_node *b)
{
	int r = strcmp(ct_text(g->p, a->name), ct_text(g->p, b->name));

	r = r ? r : by_digits(a->address, b->address);
	r = r ? r : strcmp(ct_text(g->p, a->file), ct_text(g->p, b->file));
	r = r ? r : by_digits((uint64_t)a->start_line, (uint64_t)b->start_line);
	r = r ? r : by_digits((uint64_t)a->line, (uint64_t)b->line);
	return r ? r : strcmp(ct_text(g->p, a->module), ct_text(g->p, b->module));
}

struct order {
	const struct ct_graph *g;
	bool by_cum;
};

static int compare_nodes(const void *x, const void *y, void *context)
{
	const struct order *o = context;
	uint32_t i = *(const uint32_t *)x, k = *(const uint32_t *)y;
	const struct ct_node *a = &o->g->nodes[i], *b = &o->g->nodes[k];
	int r = o->by_cum ? by_size(a->cum, b->cum) : by_size(a->flat, b->flat);

	r = r ? r : strcmp(o->g->names[i], o->g->names[k]);
	r = r ? r : o->by_cum ? by_size(a->flat, b->flat) : by_size(a->cum, b->cum);
	return r ? r : by_identity(o->g, a, b);
}

static int64_t share(int64_t total, double fraction)
{
	return ct_abs(ct_numbers_clamp((double)total * fraction));
}

/* If nothing is dropped, calls also begin and end at nodes whose values cancelled out, although
 * these nodes are not shown. Otherwise calls pass over these nodes as over any node that is not
 * kept. */
static void keep_cancelled(struct ct_graph *g)
{
	for (size_t i = 0; i < g->node_count; i++) {
		if (g->nodes[i].kept)
			continue;
		g->nodes[i].kept = g->nodes[i].cancelled = true;
		g->names[i] = ct_graph_nodes_name(g, &g->nodes[i]);
	}
}

struct ct_trimmed ct_graph_trim(struct ct_graph *g, const struct ct_trim *t)
{
	struct ct_trimmed done = { 0 };
	int64_t total = 0, cutoff;

	for (size_t i = 0; i < g->node_count; i++)
		total = ct_add(total, g->nodes[i].flat);
	cutoff = share(total, t->node_fraction);
	done.edge_cutoff = share(total, t->edge_fraction);
	g->names = ct_memory_alloc(g->node_count * sizeof(*g->names));
	g->order = ct_memory_alloc(g->node_count * sizeof(*g->order));
	for (uint32_t i = 0; i < g->node_count; i++) {
		struct ct_node *n = &g->nodes[i];

		if (!n->cum && !n->flat)
			continue;
		n->kept = ct_abs(n->cum) >= cutoff;
		done.dropped += !n->kept;
		if (!n->kept)
			continue;
		g->names[i] = ct_graph_nodes_name(g, n);
		g->order[g->kept_count++] = i;
	}
	done.before_count = g->kept_count;
	qsort_r(g->order, g->kept_count, sizeof(*g->order), compare_nodes,
		&(struct order){ g, t->by_cum });
	for (size_t i = t->node_count; t->node_count && i < g->kept_count; i++)
		g->nodes[g->order[i]].kept = false;
	if (t->node_count && g->kept_count > t->node_count)
		g->kept_count = t->node_count;
	else if (!done.dropped)
		keep_cancelled(g);
	return done;
}
