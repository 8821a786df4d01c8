/* A profile's samples as a call graph: what each function (line, file, address) took itself and
 * with what it called, and what went over each call. The rules are pprof's.
 *
 *     struct ct_graph *g = ct_graph_new(p, &settings);
 *     ct_graph_trim(g, ...);                // which nodes stay
 *     ct_graph_add_edges(g, ...);           // only then: calls go over nodes that don't stay
 */
#ifndef CT_GRAPH_H
#define CT_GRAPH_H

#include "profile.h"

enum ct_granularity {
	CT_FUNCTIONS,
	CT_FILEFUNCTIONS,
	CT_FILES,
	CT_LINES,
	CT_ADDRESSES,
};

struct ct_graph_settings {
	enum ct_granularity granularity;
	bool no_inlines; /* inlined calls count for the function they are inlined into */
	bool modules;	 /* functions of different modules are different */
	bool mean;	 /* values are divided by the first type's */
	size_t type;	 /* index of the sample type */
};

struct ct_node {
	uint64_t address;	     /* 0 = not told apart by it */
	int64_t line, start_line;    /* 0 likewise */
	uint32_t name, file, module; /* strings, 0 likewise */
	int64_t flat, flat_div, cum, cum_div;
	bool kept, may_be_inlined;
	bool cancelled; /* kept for its calls only: its values are 0 */
	/* Indices into EDGES, when there are any: in_edges[first_in ...], out_edges[...]. */
	uint32_t first_in, in_count, first_out, out_count;
};

struct ct_edge {
	uint32_t from, to; /* nodes */
	uint32_t seen;
	bool residual; /* goes over nodes that were not kept */
	bool inlined;  /* every such call was inlined */
	int64_t weight;
};

struct ct_graph {
	struct ct_profile *p;
	struct ct_graph_settings settings;
	struct ct_node *nodes;
	char **names; /* of nodes that are kept, as they are printed; NULL until then */
	size_t node_count;
	/* Of location L: location_nodes[first_node[L] .. first_node[L + 1] - 1], innermost first.
	 */
	uint32_t *first_node, *location_nodes;
	struct ct_edge *edges;
	size_t edge_count;
	uint32_t *in_edges, *out_edges; /* sorted by weight; made by ct_graph_add_edges */
	uint32_t *order;		/* kept nodes as they are to be shown */
	size_t kept_count;
};

struct ct_graph *ct_graph_new(struct ct_profile *p, const struct ct_graph_settings *settings);
void ct_graph_free(struct ct_graph *g);

/* With a divisor, where there is one. */
int64_t ct_node_flat(const struct ct_node *n);
int64_t ct_node_cum(const struct ct_node *n);
/* "name", "name file:line", "0000000000401136 name file:line", "[module]", ... To be freed. */
char *ct_node_name(const struct ct_graph *g, const struct ct_node *n);

/* Sum of the values of a sample type, taken without sign; of the diff base's samples alone if
 * there are any. */
int64_t ct_graph_total(const struct ct_profile *p, const struct ct_graph_settings *s);

struct ct_trim {
	double node_fraction, edge_fraction; /* of the total */
	size_t node_count;		     /* 0 = all */
	bool by_cum;
};

struct ct_trimmed {
	size_t dropped, before_count; /* below the fraction; left before the count applied */
	int64_t edge_cutoff;
};

/* Chooses and orders the nodes to be shown. */
struct ct_trimmed ct_graph_trim(struct ct_graph *g, const struct ct_trim *t);
/* Adds the edges between kept nodes of at least CUTOFF; ONLY_INLINED: only those to nodes that
 * somewhere are inlined. */
void ct_graph_add_edges(struct ct_graph *g, int64_t cutoff, bool only_inlined);

#endif
