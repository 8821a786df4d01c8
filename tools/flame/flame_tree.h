/* SPDX-License-Identifier: BSD-3-Clause */
/* The call tree of one profile, or of two that are compared. Used by flame's two writers and
 * by convert's callgrind.
 *
 * Node 0 is all samples. Filters choose among rows. A row is a node, the labels, the side (1 is the
 * base of a comparison) and one value for each sample type.
 */
#ifndef CT_FLAME_TREE_H
#define CT_FLAME_TREE_H

#include "flame/flame_frames.h"

struct ct_tree_node {
	uint32_t parent;
	uint32_t frame : 31, inlined : 1; /* inlined: all its calls are inlined, if stacks tell */
};

struct ct_tree_row {
	uint32_t node, labels, side;
};

struct ct_tree {
	struct ct_tree_node *nodes;
	struct ct_tree_row *rows;
	int64_t *values; /* type_count values for each row */
	size_t node_count, row_count, type_count;
	size_t node_room, row_room, value_room;
	size_t labels_left_out; /* keys that were left out because they have too many values */
	size_t negative;	/* samples that were left out because a width can't be negative */
	uint32_t *slots;	/* nodes by parent and frame, open addressing; CT_NONE: free */
	size_t slot_count;
	struct ct_flame_map row_map;
};

struct ct_tree_source {
	const struct ct_frames_of *of;
	struct ct_frames *frames;
	uint32_t side;
	bool threads; /* the root of each stack is the thread's name */
	bool labels;  /* samples with other labels get rows of their own */
};

void ct_flame_tree_init(struct ct_tree *tree, size_t type_count);
void ct_flame_tree_release(struct ct_tree *tree);
void ct_flame_tree_add(struct ct_tree *tree, const struct ct_tree_source *source);
/* Renumbers nodes depth first, children in the order of their first sample, and rows by node. */
void ct_flame_tree_order(struct ct_tree *tree);

#endif
