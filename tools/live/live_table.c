/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of a window; see live.h. */
#include "live/live.h"

#include <stdlib.h>
#include <string.h>

#include "verbs/verbs.h"

/* ---- rows ---- */

static void add_all(struct ct_live_table *t, const struct ct_graph *g)
{
	t->all = ct_memory_alloc((g->node_count + 1) * sizeof(*t->all));
	for (size_t i = 0; i < g->node_count; i++) {
		const struct ct_node *n = &g->nodes[i];

		if (n->flat || n->cum)
			t->all[t->all_count++] =
				(struct ct_live_row){ ct_graph_nodes_name(g, n), n->flat, n->cum };
	}
}

static void add_own(struct ct_live_table *t, const struct ct_report *r)
{
	struct ct_own_table own;

	/* The expression was valid at the start. */
	if (ct_own_table_make(&own, r))
		return;
	t->own = ct_memory_alloc((own.count + 1) * sizeof(*t->own));
	t->inside = own.inside;
	for (size_t i = 0; i < own.count; i++)
		t->own[t->own_count++] = (struct ct_live_row){
			ct_graph_nodes_name(r->graph, &r->graph->nodes[own.rows[i].node]),
			own.rows[i].own, own.rows[i].total
		};
	ct_own_table_release(&own);
}

/* Returns the number of samples: the sum of the first type, if that type counts. */
static int64_t count_samples(const struct ct_profile *p)
{
	return strcmp(ct_text(p, p->types[0].unit), "count") ? (int64_t)p->sample_count
							     : ct_model_total(p, 0);
}

void ct_live_table_make(struct ct_live_table *t, struct ct_profile *p, size_t type)
{
	struct ct_report r = { .p = p, .settings = { .type = type } };

	*t = (struct ct_live_table){ .type = type, .from_unit = ct_text(p, p->types[type].unit) };
	t->sum = ct_graph_total(p, &r.settings);
	t->samples = count_samples(p);
	r.graph = ct_graph_new(p, &r.settings);
	add_all(t, r.graph);
	add_own(t, &r);
	ct_graph_free(r.graph);
}

static void release_rows(struct ct_live_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(rows[i].name);
	free(rows);
}

void ct_live_table_release(struct ct_live_table *t)
{
	release_rows(t->own, t->own_count);
	release_rows(t->all, t->all_count);
	*t = (struct ct_live_table){ 0 };
}

/* ---- order ---- */

static int by(int64_t a, int64_t b, int64_t c, int64_t d, const char *e, const char *f)
{
	if (a != b)
		return a > b ? -1 : 1;
	if (c != d)
		return c > d ? -1 : 1;
	return strcmp(e, f);
}

static int by_self(const void *x, const void *y)
{
	const struct ct_live_row *a = x, *b = y;

	return by(a->self, b->self, a->total, b->total, a->name, b->name);
}

static int by_total(const void *x, const void *y)
{
	const struct ct_live_row *a = x, *b = y;

	return by(a->total, b->total, a->self, b->self, a->name, b->name);
}

void ct_live_table_sort(struct ct_live_table *t, bool total)
{
	if (t->own_count)
		qsort(t->own, t->own_count, sizeof(*t->own), total ? by_total : by_self);
	if (t->all_count)
		qsort(t->all, t->all_count, sizeof(*t->all), total ? by_total : by_self);
}

/* ---- values ---- */

char *ct_live_table_value(const struct ct_live_table *t, char *to, int64_t value)
{
	return ct_numbers_text(to, value, t->from_unit, t->sum);
}
