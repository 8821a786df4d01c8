/* SPDX-License-Identifier: BSD-3-Clause */
/* The page of `cprof flame` for one profile; see serve.h. */
#include "flame/flame.h"
#include "serve/serve.h"

void ct_serve_flame(struct ct_profile *p, const char *title, FILE *to)
{
	struct ct_flame_tab tab = {
		.name = "", .file = (char *)title, .profile = p, .type = ct_model_default_type(p)
	};
	struct ct_flame flame = { .title = title, .tabs = &tab, .tab_count = 1 };
	struct ct_frames_of of = { 0 };
	struct ct_tree_source source = { .of = &of, .frames = &flame.frames, .labels = true };

	ct_flame_frames_init(&flame.frames, CT_BY_FUNCTION);
	flame.frames.builds_are_one = true;
	ct_flame_tree_init(&tab.tree, p->type_count);
	ct_flame_frames_take(&flame.frames, p, &of);
	ct_flame_tree_add(&tab.tree, &source);
	ct_flame_frames_of_release(&of);
	ct_flame_tree_order(&tab.tree);
	ct_flame_page(&flame, to);
	ct_flame_tree_release(&tab.tree);
	ct_flame_frames_release(&flame.frames);
}
