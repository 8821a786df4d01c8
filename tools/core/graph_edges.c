/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls between the nodes that are shown; see report.h. */
#include <stdlib.h>
#include <string.h>

#include "core/report.h"

struct builder {
	struct ct_graph *g;
	struct ct_table table;
	size_t room;
	uint32_t *
		last; /* by called node: the edge that was used last, + 1; callers tend to repeat */
	unsigned char
		*roles; /* by node: the facts that are needed for every frame, in few cache lines */
};

enum role { KEPT = 1, WANTED = 2 };

static bool same_edge(const void *context, uint32_t index, const void *key)
{
	const struct ct_edge *a = &((const struct ct_graph *)context)->edges[index], *b = key;

	return a->from == b->from && a->to == b->to;
}

static struct ct_edge *find_or_add(struct builder *b, uint32_t from, uint32_t to, bool inlined)
{
	struct ct_graph *g = b->g;
	struct ct_edge want = { .from = from, .to = to, .inlined = inlined };
	uint64_t hash = ct_hash(from, to);
	uint32_t index = b->last[to];

	if (index && g->edges[index - 1].from == from)
		return &g->edges[index - 1];
	index = ct_table_find(&b->table, hash, same_edge, g, &want);
	if (index == UINT32_MAX) {
		index = (uint32_t)g->edge_count;
		*CT_PUSH(g->edges, g->edge_count, b->room) = want;
		ct_table_add(&b->table, hash, index);
	}
	b->last[to] = index + 1;
	return &g->edges[index];
}

struct walk {
	uint32_t number, parent; /* number of the sample; the calling node + 1, 0 = none */
	int64_t weight;
};

static void step_to(struct builder *b, struct walk *w, uint32_t node, bool inlined)
{
	if (!(b->roles[node] & KEPT))
		return;
	if (w->parent && w->parent - 1 != node && b->roles[node] & WANTED) {
		struct ct_edge *e = find_or_add(b, w->parent - 1, node, inlined);

		if (e->seen != w->number) { /* count once per sample */
			e->seen = w->number;
			e->weight = ct_add(e->weight, w->weight);
			e->inlined = e->inlined && inlined;
		}
	}
	w->parent = node + 1;
}

static void walk_sample(struct builder *b, const struct ct_sample *s, struct walk w)
{
	const struct ct_graph *g = b->g;
	const uint32_t *frames = ct_frames(g->p, s);

	for (uint32_t i = s->depth; i--;) {
		uint32_t first = g->first_node[frames[i]], end = g->first_node[frames[i] + 1];

		for (uint32_t k = end; k-- > first;)
			step_to(b, &w, g->location_nodes[k], k != end - 1);
	}
}

/* Drops edges lighter than CUTOFF. As in pprof, the weight of calls to a function that isn't shown
 * is not checked. */
static void drop_light(struct ct_graph *g, int64_t cutoff)
{
	size_t kept = 0;

	for (size_t i = 0; i < g->edge_count; i++)
		if (ct_abs(g->edges[i].weight) >= cutoff || g->nodes[g->edges[i].to].cancelled)
			g->edges[kept++] = g->edges[i];
	g->edge_count = kept;
}

/* Heavier edges first; names decide between equal ones. */
static int compare_edges(const void *x, const void *y, void *context)
{
	const struct ct_graph *g = context;
	const struct ct_edge *a = &g->edges[*(const uint32_t *)x];
	const struct ct_edge *b = &g->edges[*(const uint32_t *)y];
	uint64_t v = (uint64_t)ct_abs(a->weight), w = (uint64_t)ct_abs(b->weight);
	int r;

	if (v != w)
		return v > w ? -1 : 1;
	r = strcmp(g->names[a->from], g->names[b->from]);
	return r ? r : strcmp(g->names[a->to], g->names[b->to]);
}

/* Sorts the edges by one of their ends (counting sort). */
static void index_edges(struct ct_graph *g)
{
	uint32_t in = 0, out = 0;

	g->in_edges = ct_memory_alloc(g->edge_count * sizeof(uint32_t));
	g->out_edges = ct_memory_alloc(g->edge_count * sizeof(uint32_t));
	for (size_t i = 0; i < g->edge_count; i++) {
		g->nodes[g->edges[i].to].in_count++;
		g->nodes[g->edges[i].from].out_count++;
	}
	for (size_t i = 0; i < g->node_count; i++) {
		struct ct_node *n = &g->nodes[i];

		n->first_in = in;
		n->first_out = out;
		in += n->in_count;
		out += n->out_count;
		n->in_count = n->out_count = 0;
	}
	for (uint32_t i = 0; i < g->edge_count; i++) {
		struct ct_node *to = &g->nodes[g->edges[i].to], *from = &g->nodes[g->edges[i].from];

		g->in_edges[to->first_in + to->in_count++] = i;
		g->out_edges[from->first_out + from->out_count++] = i;
	}
	for (size_t i = 0; i < g->node_count; i++) {
		struct ct_node *n = &g->nodes[i];

		qsort_r(g->in_edges + n->first_in, n->in_count, sizeof(uint32_t), compare_edges, g);
		qsort_r(g->out_edges + n->first_out, n->out_count, sizeof(uint32_t), compare_edges,
			g);
	}
}

static bool has_inlined(const struct ct_graph *g)
{
	for (size_t i = 0; i < g->node_count; i++)
		if (g->nodes[i].may_be_inlined)
			return true;
	return false;
}

void ct_graph_edges_add(struct ct_graph *g, int64_t cutoff, bool only_inlined)
{
	struct builder b = { .g = g };
	const struct ct_graph_settings *s = &g->settings;
	bool walk = !only_inlined || has_inlined(g);

	b.last = ct_memory_alloc(g->node_count * sizeof(*b.last));
	b.roles = ct_memory_alloc(g->node_count);
	for (size_t i = 0; i < g->node_count; i++) {
		bool wanted = !only_inlined || g->nodes[i].may_be_inlined;

		b.roles[i] = (unsigned char)((g->nodes[i].kept ? KEPT : 0) | (wanted ? WANTED : 0));
	}
	for (size_t i = 0; walk && i < g->p->sample_count; i++) {
		const int64_t *values = ct_values(g->p, i);
		struct walk w = { .number = (uint32_t)i + 1, .weight = values[s->type] };

		if (w.weight || (s->mean && values[0]))
			walk_sample(&b, &g->p->samples[i], w);
	}
	free(b.last);
	free(b.roles);
	ct_table_release(&b.table);
	drop_light(g, cutoff);
	index_edges(g);
}
