/* SPDX-License-Identifier: BSD-3-Clause */
/* tools/core/filter.c, combine.c, drop_frames.c, graph.c on a profile of a few stacks; what is
 * the same as in go tool pprof, tests/e2e/tool-numbers.sh proves. */
#include "core/model.h"
#include "core/report.h"
#include "harness.h"

enum { MAIN, READ, PARSE, ALLOC, FUNCTIONS };

static const char *const names[] = { "main", "read_all", "parse(int)", "alloc" };

static uint32_t text(struct ct_profile *p, const char *s)
{
	return ct_model_string(p, s);
}

static uint32_t label(struct ct_profile *p, const char *key, const char *value, int64_t number)
{
	struct ct_label l = { .key = text(p, key), .text = text(p, value), .number = number };

	return ct_model_label_set(p, &l, 1);
}

/* Location I is function I in /bin/app, loaded at START; location FUNCTIONS is alloc inlined
 * into parse. */
static struct ct_profile *build(uint64_t start)
{
	struct ct_profile *p = ct_model_new();

	ct_model_add_type(p, (struct ct_type){ text(p, "cpu"), text(p, "nanoseconds") });
	ct_model_add_mapping(p, &(struct ct_mapping){ .start = start,
						      .limit = start + 0x1000,
						      .file = text(p, "/bin/app") });
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		ct_model_add_function(
			p, &(struct ct_function){ .name = text(p, names[i]),
						  .filename = text(p, i == ALLOC ? "/src/./alloc.c"
										 : "/src/app.c") });
		ct_model_add_location(p, &(struct ct_location){ .address = start + 16 * i },
				      &(struct ct_line){ .function = i, .line = 10 + i }, 1);
	}
	ct_model_add_location(p, &(struct ct_location){ .address = start + 16 * FUNCTIONS },
			      (const struct ct_line[]){ { .function = ALLOC, .line = 5 },
							{ .function = PARSE, .line = 6 } },
			      2);
	return p;
}

static struct ct_profile *usual(uint64_t start)
{
	struct ct_profile *p = build(start);

	ct_model_add_sample(p, (const uint32_t[]){ READ, MAIN }, 2, (const int64_t[]){ 100 },
			    label(p, "thread", "reader", 0));
	ct_model_add_sample(p, (const uint32_t[]){ FUNCTIONS, MAIN }, 2, (const int64_t[]){ 40 },
			    label(p, "thread", "parser", 0));
	ct_model_add_sample(p, (const uint32_t[]){ ALLOC, PARSE, MAIN }, 3, (const int64_t[]){ 7 },
			    label(p, "bytes", "", 4096));
	return p;
}

static int64_t total(const struct ct_profile *p)
{
	return ct_graph_total(p, &(struct ct_graph_settings){ 0 });
}

TEST(test_dropped_frames_take_their_callees_along)
{
	struct ct_profile *p = usual(0x4000);

	p->drop_frames = text(p, "parse|main");
	p->keep_frames = text(p, "main");
	ct_drop_frames(p);
	CHECK_EQ(p->samples[0].depth, 2);
	CHECK_EQ(p->samples[2].depth, 1); /* parse(int) and alloc went */
	CHECK_EQ(ct_frames(p, &p->samples[2])[0], MAIN);
	CHECK_EQ(p->samples[1].depth, 1);
	ct_model_free(p);
}

TEST(test_modules_loaded_elsewhere_are_the_same)
{
	struct ct_profile *a = usual(0x4000), *b = usual(0x555500004000), *both;

	both = ct_combine((struct ct_profile *[]){ a, b }, 2);
	CHECK_EQ(both->sample_count, 3);
	CHECK_EQ(both->mapping_count, 1);
	CHECK_EQ(both->location_count, 5);
	CHECK_EQ(ct_values(both, 0)[0], 200);
	CHECK_EQ(total(both), 294);
	ct_model_free(a);
	ct_model_free(b);
	ct_model_free(both);
}

TEST(test_samples_that_cancel_out_go)
{
	struct ct_profile *a = usual(0x4000), *b = usual(0x8000), *both;

	ct_combine_header_scale(b, (const double[]){ -1 });
	ct_values(b, 0)[0] = -60;
	both = ct_combine((struct ct_profile *[]){ a, b }, 2);
	CHECK_EQ(both->sample_count, 1);
	CHECK_EQ(both->function_count, 2);
	CHECK_EQ(total(both), 40);
	ct_model_free(a);
	ct_model_free(b);
	ct_model_free(both);
}

TEST(test_units_become_the_finer)
{
	struct ct_profile *a = usual(0x4000), *b = usual(0x4000), *both;

	b->types[0].unit = text(b, "microseconds");
	both = ct_combine((struct ct_profile *[]){ a, b }, 2);
	CHECK_STR(ct_text(both, both->types[0].unit), "nanoseconds");
	CHECK_EQ(total(both), 147 + 147000);
	ct_model_free(both);
	b->types[0].unit = text(b, "bytes");
	CHECK(!ct_combine((struct ct_profile *[]){ a, b }, 2));
	ct_model_free(a);
	ct_model_free(b);
}

static const struct ct_node *node(const struct ct_graph *g, const char *name)
{
	for (size_t i = 0; i < g->kept_count; i++)
		if (!strcmp(g->names[g->order[i]], name))
			return &g->nodes[g->order[i]];
	return NULL;
}

static struct ct_graph *graph(struct ct_profile *p, struct ct_graph_settings s, struct ct_trim t)
{
	struct ct_graph *g = ct_graph_new(p, &s);
	struct ct_trimmed done = ct_graph_trim(g, &t);

	ct_graph_edges_add(g, done.edge_cutoff, false);
	return g;
}

/* read_all's two calls of alloc cancel out; its call of parse does not. */
TEST(test_calls_from_nodes_that_cancel_out)
{
	struct ct_profile *p = build(0x4000);
	struct ct_graph *g;

	ct_model_add_sample(p, (const uint32_t[]){ ALLOC, READ, MAIN }, 3, (const int64_t[]){ 5 },
			    0);
	ct_model_add_sample(p, (const uint32_t[]){ PARSE, READ, MAIN }, 3, (const int64_t[]){ -5 },
			    0);
	ct_model_add_sample(p, (const uint32_t[]){ MAIN }, 1, (const int64_t[]){ 300 }, 0);
	g = graph(p, (struct ct_graph_settings){ 0 }, (struct ct_trim){ 0 });
	CHECK(!node(g, "read_all"));
	CHECK_EQ(node(g, "alloc")->in_count, 1);
	CHECK_STR(g->names[g->edges[g->in_edges[node(g, "alloc")->first_in]].from], "read_all");
	ct_graph_free(g);
	/* The cutoff for calls, 30, is not for those to it. */
	g = graph(p, (struct ct_graph_settings){ 0 }, (struct ct_trim){ .edge_fraction = 0.1 });
	CHECK_EQ(node(g, "main")->out_count, 1);
	CHECK_EQ(node(g, "alloc")->in_count, 0);
	ct_graph_free(g);
	g = graph(p, (struct ct_graph_settings){ 0 }, (struct ct_trim){ .node_count = 2 });
	CHECK_EQ(node(g, "alloc")->in_count, 1);
	CHECK_STR(g->names[g->edges[g->in_edges[node(g, "alloc")->first_in]].from], "main");
	ct_graph_free(g);
	ct_model_free(p);
}

/* A profile of one address and nothing else: no lines, no samples, no labels. */
TEST(test_next_to_nothing_is_shown_too)
{
	struct ct_profile *p = ct_model_new(), *both;
	struct ct_graph *g;

	ct_model_add_type(p, (struct ct_type){ text(p, "cpu"), text(p, "nanoseconds") });
	ct_model_add_location(p, &(struct ct_location){ .address = 16, .mapping = CT_NONE }, NULL,
			      0);
	g = graph(p, (struct ct_graph_settings){ 0 }, (struct ct_trim){ 0 });
	CHECK_EQ(g->kept_count, 0);
	ct_graph_free(g);
	ct_model_add_sample(p, NULL, 0, (const int64_t[]){ 5 }, 0);
	both = ct_combine((struct ct_profile *[]){ p, p }, 2);
	CHECK_EQ(both->sample_count, 1);
	CHECK_EQ(total(both), 10);
	g = graph(both, (struct ct_graph_settings){ 0 }, (struct ct_trim){ 0 });
	CHECK_EQ(g->kept_count, 0);
	ct_graph_free(g);
	ct_model_free(both);
	ct_model_free(p);
}
