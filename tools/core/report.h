/* SPDX-License-Identifier: BSD-3-Clause */
/* The common parts of top, tree, peek, list and tags: their options, the profile they show, and how
 * values are written. Every option and number means what it means in pprof.
 *
 *     first = ct_report_parse(&ct_verb_top, argc, argv, options);
 *     if (first < 0)
 *         return ct_options_status(first);
 *     if (ct_report_open(&r, argv + first, argc - first))
 *         return CT_FAILED;
 *     ct_report_graph(&r, &how);
 *     ...
 *     ct_report_close(&r);
 */
#ifndef CT_REPORT_H
#define CT_REPORT_H

#include "core/filter.h"
#include "core/graph.h"
#include "core/json.h"
#include "core/numbers.h"
#include "core/options.h"

struct ct_report {
	struct ct_profile *p;
	struct ct_label_units label_units;
	struct ct_graph_settings settings;
	int64_t total;
	const char *type;      /* "cpu", "mean_delay" */
	const char *from_unit; /* the profile's */
	char *unit;	       /* unit in which values are shown */
	struct ct_graph *graph;
	struct ct_trimmed trimmed;
	struct ct_trim trim;
};

/* The graph that a verb needs. */
struct ct_graph_wish {
	bool never_trim;	 /* keep every node, whatever the options say */
	bool by_source;		 /* a node for each line and module, whatever the options say */
	bool all_edges;		 /* else only the edges that tell which functions are inlined */
	size_t usual_node_count; /* number of nodes if -nodecount is not given; 0 = all */
};

/* Parses the common options and OWN (ends with CT_END). Returns as ct_options_parse. */
int ct_report_parse(const struct ct_verb *verb, int argc, char **argv, const struct ct_option *own);
bool ct_report_wants_json(void);
/* Reads, combines and filters the profiles. Returns 0, or -1 after an error message. */
int ct_report_open(struct ct_report *r, char *const *sources, int count);
/* Makes the graph and chooses the unit. */
void ct_report_graph(struct ct_report *r, const struct ct_graph_wish *wish);
void ct_report_close(struct ct_report *r);

/* Writes VALUE in the report's unit. Returns TO, which has CT_NUMBER_ROOM bytes. */
char *ct_report_value(const struct ct_report *r, char *to, int64_t value);
char *ct_report_share(const struct ct_report *r, char *to, int64_t value);
/* Returns below which value values are ±50 % and more; 0: not known, or values are exact. */
double ct_report_heading_unsure(const struct ct_report *r);
/* Prints the lines above a table: program, type, time, duration, filters, the number of rows shown.
 */
void ct_report_heading(const struct ct_report *r);
/* The same as members of a JSON object, which the caller opens and closes. */
void ct_report_heading_json(const struct ct_report *r, struct ct_json *j);

#endif
