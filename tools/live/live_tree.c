/* SPDX-License-Identifier: BSD-3-Clause */
/* The stacks of a window as a tree; see live.h. */
#include "live/live.h"

#include <stdlib.h>
#include <string.h>

#include "verbs/verbs.h"

#define BLOCK 1024

static struct ct_live_frame *new_frame(struct ct_live_tree *t)
{
	if (t->used % BLOCK == 0)
		*CT_PUSH(t->blocks, t->block_count, t->block_room) =
			ct_memory_alloc(BLOCK * sizeof(**t->blocks));
	t->used++;
	return &t->blocks[t->block_count - 1][(t->used - 1) % BLOCK];
}

static const char *name_of(const struct ct_profile *p, const struct ct_location *l,
			   const struct ct_line *line)
{
	const char *module, *slash;

	if (line && line->function != CT_NONE && *ct_text(p, p->functions[line->function].name))
		return ct_text(p, p->functions[line->function].name);
	module = l->mapping == CT_NONE ? "?" : ct_text(p, p->mappings[l->mapping].file);
	slash = strrchr(module, '/');
	return slash && slash[1] ? slash + 1 : module;
}

/* Returns the child of FRAME called NAME; makes it if it is new. */
static struct ct_live_frame *child(struct ct_live_tree *t, struct ct_live_frame *frame,
				   const char *name, bool own)
{
	struct ct_live_frame **at = &frame->children, *f;
	int order = -1;

	while (*at && (order = strcmp((*at)->name, name)) < 0)
		at = &(*at)->next;
	if (*at && !order)
		return *at;
	f = new_frame(t);
	*f = (struct ct_live_frame){ .name = name, .own = own, .parent = frame, .next = *at };
	*at = f;
	return f;
}

static void add_sample(struct ct_live_tree *t, const struct ct_profile *p, struct ct_own *o,
		       size_t i, int64_t value)
{
	const struct ct_sample *s = &p->samples[i];
	struct ct_live_frame *f = &t->root;

	f->value = ct_add(f->value, value);
	for (uint32_t k = s->depth; k-- > 0;) {
		const struct ct_location *l = &p->locations[ct_frames(p, s)[k]];
		uint32_t n = l->line_count ? l->line_count : 1;

		while (n-- > 0) {
			const struct ct_line *line =
				l->line_count ? &p->lines[l->first_line + n] : NULL;

			f = child(t, f, name_of(p, l, line), o && ct_own_is(o, l, line));
			f->value = ct_add(f->value, value);
		}
	}
}

void ct_live_tree_make(struct ct_live_tree *t, const struct ct_profile *p, size_t type)
{
	struct ct_own *o = ct_own_table_rule(p);

	*t = (struct ct_live_tree){ .root.name = "all" };
	for (size_t i = 0; i < p->sample_count; i++) {
		int64_t value = ct_values(p, i)[type];

		if (value > 0)
			add_sample(t, p, o, i, value);
	}
	ct_own_free(o);
}

void ct_live_tree_release(struct ct_live_tree *t)
{
	for (size_t i = 0; i < t->block_count; i++)
		free(t->blocks[i]);
	free(t->blocks);
	*t = (struct ct_live_tree){ 0 };
}
