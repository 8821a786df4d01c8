/* SPDX-License-Identifier: BSD-3-Clause */
/* A profile's samples as a call graph: the value of each function (line, file, address) alone and
 * with its callees, and the value of each call. The rules are pprof's.
 *
 *     struct ct_graph *g = ct_graph_new(p, &settings);
 *     ct_graph_trim(g, ...);                // which nodes stay
 *     ct_graph_edges_add(g, ...);           // only then: calls go over nodes that don't stay
 */
#ifndef CT_GRAPH_H
#define CT_GRAPH_H

#include "core/model.h"

enum ct_granularity {
	CT_FUNCTIONS,
	CT_FILEFUNCTIONS,
	CT_FILES,
	CT_LINES,
	CT_ADDRESSES,
};

struct ct_graph_settings {
	enum ct_granularity granularity;
	bool no_inlines; /* inlined calls count for the function that contains them */
	bool modules;	 /* functions of different modules are different nodes */
	bool mean;	 /* values are divided by those of the first type */
	size_t type;	 /* index of the sample type */
};

struct ct_node {
	uint64_t address;	     /* 0 = nodes are not distinguished by address */
	int64_t line, start_line;    /* 0 likewise */
	uint32_t name, file, module; /* strings; 0 = not distinguished by it */
	int64_t flat, flat_div, cum, cum_div;
	bool kept, may_be_inlined;
	bool cancelled; /* kept for its calls only: its values are 0 */
	/* Indices into EDGES, if there are any: in_edges[first_in ...], out_edges[...]. */
	uint32_t first_in, in_count, first_out, out_count;
};

struct ct_edge {
	uint32_t from, to; /* nodes */
	uint32_t seen;
	bool residual; /* leads over nodes that were dropped */
	bool inlined;  /* all of these calls were inlined */
	int64_t weight;
};

struct ct_graph {
	struct ct_profile *p;
	struct ct_graph_settings settings;
	struct ct_node *nodes;
	char **names; /* display names of the nodes that are kept; NULL before they are made */
	size_t node_count;
	/* Nodes of location L: location_nodes[first_node[L] .. first_node[L + 1] - 1], innermost
	 * first.
	 */
	uint32_t *first_node, *location_nodes;
	struct ct_edge *edges;
	size_t edge_count;
	uint32_t *in_edges, *out_edges; /* sorted by weight; made by ct_graph_edges_add */
	uint32_t *order; /* nodes that are kept, in the order in which they are shown */
	size_t kept_count;
};

struct ct_graph *ct_graph_new(struct ct_profile *p, const struct ct_graph_settings *settings);
void ct_graph_free(struct ct_graph *g);

/* The node's value, divided if there is a divisor. */
int64_t ct_graph_node_flat(const struct ct_node *n);
int64_t ct_graph_node_cum(const struct ct_node *n);
/* Returns the node's name as "name", "name file:line", "0000000000401136 name file:line",
 * "[module]" and so on. The caller frees it. */
char *ct_graph_nodes_name(const struct ct_graph *g, const struct ct_node *n);

/* Sum of the values of a sample type, taken without sign; of the diff base's samples alone if
 * there are any. */
int64_t ct_graph_total(const struct ct_profile *p, const struct ct_graph_settings *s);

struct ct_trim {
	double node_fraction, edge_fraction; /* of the total */
	size_t node_count;		     /* 0 = all */
	bool by_cum;
};

struct ct_trimmed {
	size_t dropped, before_count; /* nodes below the fraction; nodes left before the limit on
					 their number */
	int64_t edge_cutoff;
};

/* Chooses the nodes that are shown, and their order. */
struct ct_trimmed ct_graph_trim(struct ct_graph *g, const struct ct_trim *t);
/* Adds the edges between kept nodes of at least CUTOFF. ONLY_INLINED: adds only edges to nodes that
 * are inlined somewhere. */
void ct_graph_edges_add(struct ct_graph *g, int64_t cutoff, bool only_inlined);

#endif
