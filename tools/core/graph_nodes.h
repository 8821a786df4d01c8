/* SPDX-License-Identifier: BSD-3-Clause */
/* The nodes of a graph, without values; used by graph.c only. */
#ifndef CT_GRAPH_NODES_H
#define CT_GRAPH_NODES_H

#include "core/graph.h"

/* Fills in nodes, first_node and location_nodes. */
void ct_graph_nodes_make(struct ct_graph *g);

#endif
