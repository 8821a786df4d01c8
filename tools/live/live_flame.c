/* SPDX-License-Identifier: BSD-3-Clause */
/* The flame graph of the last window: the root at the top, a level a row. See live.h. */
#include <stdlib.h>
#include <string.h>

#include "live/live.h"

#define DELETE 127

/* ---- paths ---- */

struct ct_live_path ct_live_flame_path(const struct ct_live_frame *frame)
{
	struct ct_live_path path = { 0 };

	for (; frame && frame->parent; frame = frame->parent)
		*CT_PUSH(path.names, path.count, path.room) = ct_memory_strdup(frame->name);
	return path;
}

static struct ct_live_frame *child_called(struct ct_live_frame *f, const char *name)
{
	for (f = f->children; f; f = f->next)
		if (!strcmp(f->name, name))
			break;
	return f;
}

void ct_live_flame_drop(struct ct_live_path *path)
{
	for (size_t i = 0; i < path->count; i++)
		free(path->names[i]);
	free(path->names);
	*path = (struct ct_live_path){ 0 };
}

struct ct_live_frame *ct_live_flame_find(struct ct_live_tree *tree, struct ct_live_path *path)
{
	struct ct_live_frame *f = tree->root.name ? &tree->root : NULL, *next = f;

	for (size_t i = path->count; i-- > 0 && next;) {
		next = child_called(f, path->names[i]);
		f = next ? next : f;
	}
	if (f)
		ct_live_flame_drop(path);
	return f;
}

/* ---- the picture ---- */

struct picture {
	const struct ct_live *l;
	double per_column;
	int rows, columns;
};

static size_t level_of(const struct ct_live_frame *f)
{
	size_t n = 0;

	while ((f = f->parent))
		n++;
	return n;
}

static enum ct_live_look look_of(const struct picture *p, const struct ct_live_frame *f, int odd)
{
	if (f == p->l->chosen)
		return CT_LOOK_CHOSEN;
	if (*p->l->filter && ct_live_matches(p->l, f->name))
		return CT_LOOK_HEAD;
	if (f->own)
		return odd ? CT_LOOK_OWN2 : CT_LOOK_OWN;
	return odd ? CT_LOOK_OTHER2 : CT_LOOK_OTHER;
}

/* Without colours, brackets show where frames begin and end. */
static void put_frame(const struct picture *p, const struct ct_live_frame *f, int row, int from,
		      int to, int odd)
{
	bool brackets = !ct_live_screen_has_colours();
	int width = to - from, room = width - (width > 3 ? 2 : 0);
	char *name = ct_short_name(f->name, (size_t)room),
	     *text = width > 3 ? ct_memory_printf("%c%s", brackets ? '[' : ' ', name)
			       : ct_memory_strdup(width > 1 ? f->name : "");

	ct_live_screen_fill(CT_LIVE_BODY + row, from, width, look_of(p, f, odd), text);
	if (brackets && width > 3)
		ct_live_screen_put(CT_LIVE_BODY + row, to - 1, 1, look_of(p, f, odd), "]");
	free(text);
	free(name);
}

/* Draws the children of F from column FROM on, and their children. LEVEL is that of the children.
 */
static void put_children(const struct picture *p, const struct ct_live_frame *f, double from,
			 long level)
{
	int odd = (int)level & 1;

	if (level >= p->rows)
		return;
	for (f = f->children; f; f = f->next) {
		double to = from + (double)f->value / p->per_column;
		int a = (int)(from + 0.5), b = (int)(to + 0.5);

		if (b > p->columns)
			b = p->columns;
		if (b > a) {
			if (level >= 0)
				put_frame(p, f, (int)level, a, b, odd);
			put_children(p, f, from, level + 1);
			odd = !odd;
		}
		from = to;
	}
}

/* Scrolls so that the chosen frame is on the screen. */
static void scroll_to(struct ct_live *l, int rows)
{
	size_t level = level_of(l->chosen);

	if (level < l->flame_top)
		l->flame_top = level;
	if (level >= l->flame_top + (size_t)rows)
		l->flame_top = level - (size_t)rows + 1;
}

/* Draws the callers of the frame that fills the width, and that frame. */
static void put_callers(const struct picture *p)
{
	const struct ct_live_frame *f = p->l->zoom;

	for (long level = (long)level_of(f) - (long)p->l->flame_top; f; f = f->parent, level--)
		if (level >= 0 && level < p->rows)
			put_frame(p, f, (int)level, 0, p->columns, (int)level & 1);
}

void ct_live_flame(struct ct_live *l)
{
	struct picture p = { .l = l,
			     .rows = ct_live_draw_body_rows(),
			     .columns = ct_live_screen_columns() };

	if (!l->zoom || !l->zoom->value || p.rows <= 0)
		return;
	p.per_column = (double)l->zoom->value / p.columns;
	scroll_to(l, p.rows);
	put_callers(&p);
	put_children(&p, l->zoom, 0, (long)level_of(l->zoom) + 1 - (long)l->flame_top);
}

/* ---- keys ---- */

static bool is_seen(const struct ct_live *l, const struct ct_live_frame *f)
{
	return (double)f->value * ct_live_screen_columns() >= (double)l->zoom->value / 2;
}

static struct ct_live_frame *biggest_child(const struct ct_live_frame *f)
{
	struct ct_live_frame *best = NULL;

	for (struct ct_live_frame *c = f->children; c; c = c->next)
		if (!best || c->value > best->value)
			best = c;
	return best;
}

static struct ct_live_frame *sibling(const struct ct_live *l, bool right)
{
	struct ct_live_frame *f = l->chosen, *best = NULL;

	if (!f->parent || f == l->zoom)
		return f;
	for (struct ct_live_frame *c = right ? f->next : f->parent->children; c && c != f;
	     c = c->next)
		if (is_seen(l, c)) {
			best = c;
			if (right)
				break;
		}
	return best ? best : f;
}

static bool is_below(const struct ct_live_frame *f, const struct ct_live_frame *above)
{
	while (f && f != above)
		f = f->parent;
	return f != NULL;
}

bool ct_live_flame_key(struct ct_live *l, int key)
{
	struct ct_live_frame *f = l->chosen;

	if (!f)
		return false;
	switch (key) {
	case CT_KEY_DOWN:
	case 'j': f = biggest_child(f); break;
	case CT_KEY_UP:
	case 'k': f = f->parent; break;
	case CT_KEY_LEFT: f = sibling(l, false); break;
	case CT_KEY_RIGHT: f = sibling(l, true); break;
	case CT_KEY_HOME:
	case 'g': l->zoom = f = &l->tree.root; break;
	case '\r':
	case '\n':
	case CT_KEY_ENTER: l->zoom = f; break;
	case DELETE:
	case '\b':
	case 'u':
	case CT_KEY_BACKSPACE:
		l->zoom = l->zoom->parent ? l->zoom->parent : l->zoom;
		f = l->zoom;
		break;
	default: return false;
	}
	if (f)
		l->chosen = f;
	/* It is a caller above the frame that fills the width. */
	if (!is_below(l->chosen, l->zoom))
		l->zoom = l->chosen;
	return true;
}
