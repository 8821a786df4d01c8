/* SPDX-License-Identifier: BSD-3-Clause */
/* The stacks of a window as a tree, for the flame graph. */
#ifndef CT_LIVE_TREE_H
#define CT_LIVE_TREE_H

#include <stdbool.h>

#include "core/model.h"

struct ct_live_frame {
	const char *name;				/* of the profile */
	int64_t value;					/* with its children */
	bool own;					/* the program's own code */
	struct ct_live_frame *parent, *children, *next; /* NEXT: by name */
};

struct ct_live_tree {
	struct ct_live_frame root; /* called "all" */
	struct ct_live_frame **blocks;
	size_t used, block_count, block_room;
};

/* Makes the tree of sample type TYPE of P, which must live as long. */
void ct_live_tree_make(struct ct_live_tree *t, const struct ct_profile *p, size_t type);
void ct_live_tree_release(struct ct_live_tree *t);

#endif
