/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes a tree from stacks. See flame.h. Its second part chooses the labels that filters offer. */
#include "flame/flame.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void ct_flame_tree_init(struct ct_tree *tree, size_t type_count)
{
	*tree = (struct ct_tree){ .type_count = type_count };
}

void ct_flame_tree_release(struct ct_tree *tree)
{
	free(tree->nodes);
	free(tree->rows);
	free(tree->values);
	free(tree->items);
	free(tree->row_of);
}

static bool any_negative(const int64_t *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (values[i] < 0)
			return true;
	return false;
}

/* Moves on to the next frame of a stack, from the root to the leaf. */
static void step(struct ct_tree_item *item)
{
	const struct ct_frames_of *of = item->of;
	const uint32_t *first;

	item->frame = CT_NONE;
	if (!item->within && !item->left)
		return;
	if (!item->within)
		item->left--;
	first = &of->first[item->stack[item->left]];
	if (!item->within)
		item->within = first[1] - first[0];
	item->frame = of->frames[first[0] + --item->within];
}

/* The first frame of a stack is the thread's name, if that is wanted. */
static void begin(struct ct_tree_item *item, const struct ct_tree_source *source,
		  const struct ct_sample *s)
{
	const char *thread;

	if (!source->threads) {
		step(item);
		return;
	}
	thread = ct_flame_frames_label(source->of->profile, s, "thread");
	item->frame = ct_flame_frames_named(source->frames, thread ? thread : "(no thread)");
}

/* ---- labels of filters ---- */

static uint32_t value_text(struct ct_profile *pool, const struct ct_profile *p,
			   const struct ct_label *l)
{
	const char *unit = ct_text(p, l->unit);
	uint32_t string;
	char *text;

	if (l->text)
		return ct_model_string(pool, ct_text(p, l->text));
	text = ct_memory_printf("%" PRId64 "%s%s", l->number, *unit ? " " : "", unit);
	string = ct_model_string(pool, text);
	free(text);
	return string;
}

/* Returns a label of the pool as key and value. */
static struct ct_label *as_text(struct ct_profile *pool, const struct ct_profile *p)
{
	struct ct_label *labels = ct_memory_realloc(NULL, p->label_count + 1, sizeof(*labels));

	for (size_t i = 0; i < p->label_count; i++)
		labels[i] = (struct ct_label){
			.key = ct_model_string(pool, ct_text(p, p->labels[i].key)),
			.text = value_text(pool, p, &p->labels[i]),
		};
	return labels;
}

/* Counts the values of each key. The result is indexed by string of the pool. */
static uint32_t *count_values(const struct ct_profile *pool, const struct ct_label *labels,
			      size_t count)
{
	uint32_t *values = ct_memory_alloc((pool->string_count + 1) * sizeof(*values));
	struct ct_flame_map seen = { 0 };

	for (size_t i = 0; i < count; i++) {
		uint32_t *at = ct_flame_map_at(
			&seen, (struct ct_flame_key){ labels[i].key, labels[i].text, 0 });

		if (*at == CT_NONE)
			values[labels[i].key]++;
		*at = 0;
	}
	ct_flame_map_release(&seen);
	return values;
}

/* Returns the number in POOL of each label set of P; the caller frees the array. Adds the number of
 * keys that are left out to LEFT_OUT. */
static uint32_t *flame_labels_sets(struct ct_profile *pool, const struct ct_profile *p,
				   size_t *left_out)
{
	uint32_t *sets = ct_memory_realloc(NULL, p->label_set_count + 1, sizeof(*sets));
	struct ct_label *labels = as_text(pool, p), *kept = NULL;
	uint32_t *values = count_values(pool, labels, p->label_count);
	size_t room = 0;

	for (size_t i = 0; i < p->label_set_count; i++) {
		const struct ct_label_set *set = &p->label_sets[i];
		size_t n = 0;

		for (uint32_t j = set->first; j < set->first + set->count; j++)
			if (values[labels[j].key] <= CT_FLAME_LABEL_VALUES)
				*CT_PUSH(kept, n, room) = labels[j];
		sets[i] = ct_model_label_set(pool, kept, n);
	}
	for (size_t i = 0; i < pool->string_count; i++)
		*left_out += values[i] > CT_FLAME_LABEL_VALUES;
	free(kept);
	free(labels);
	free(values);
	return sets;
}

void ct_flame_tree_add(struct ct_tree *tree, const struct ct_tree_source *source)
{
	const struct ct_profile *p = source->of->profile;
	uint32_t *sets =
		source->labels ? flame_labels_sets(source->frames->pool, p, &tree->labels_left_out)
			       : NULL;

	for (size_t i = 0; i < p->sample_count; i++) {
		const struct ct_sample *s = &p->samples[i];
		struct ct_tree_item *item;

		if (any_negative(ct_values(p, i), p->type_count)) {
			tree->negative++;
			continue;
		}
		item = CT_PUSH(tree->items, tree->item_count, tree->item_room);
		*item = (struct ct_tree_item){ .of = source->of,
					       .stack = ct_frames(p, s),
					       .sample = (uint32_t)i,
					       .left = s->depth,
					       .labels = sets ? sets[s->label_set] : 0,
					       .side = source->side };
		begin(item, source, s);
	}
	if (tree->frame_count < source->frames->count)
		tree->frame_count = source->frames->count;
	free(sets);
}

/* ---- the order: stacks are sorted from the root on ---- */

/* Items items[first .. first + count - 1] have the same stack up to a node below PARENT. */
struct group {
	uint32_t first, count, parent, frame; /* FRAME is marked if all of them mark it */
};

struct sorter {
	struct ct_tree *tree;
	struct ct_tree_item *other; /* room for all items */
	struct group *groups;	    /* a stack: those that are still to be divided */
	size_t count, room;
	uint32_t *at; /* by frame: where its group may be in GROUPS */
};

static uint32_t add_node(struct ct_tree *tree, uint32_t parent, uint32_t marked)
{
	uint32_t frame = marked & ~CT_FRAME_INLINED;

	*CT_PUSH(tree->nodes, tree->node_count, tree->node_room) =
		(struct ct_tree_node){ parent, frame, marked != frame };
	return (uint32_t)tree->node_count - 1;
}

static int by_labels(const void *a, const void *b)
{
	const struct ct_tree_item *x = a, *y = b;

	if (x->labels != y->labels)
		return x->labels < y->labels ? -1 : 1;
	return (int)x->side - (int)y->side;
}

static int64_t *add_row(struct ct_tree *tree, struct ct_tree_row r)
{
	size_t values = tree->row_count * tree->type_count;

	*CT_PUSH(tree->rows, tree->row_count, tree->row_room) = r;
	if (values + tree->type_count > tree->value_room)
		tree->values = ct_memory_grow(tree->values, &tree->value_room,
					      values + tree->type_count, sizeof(*tree->values));
	return memset(tree->values + values, 0, tree->type_count * sizeof(*tree->values));
}

/* Makes the rows of a node from the COUNT items whose stacks end there. */
static void add_rows(struct ct_tree *tree, uint32_t node, struct ct_tree_item *items, size_t count)
{
	int64_t *sums = NULL;

	if (count > 1)
		qsort(items, count, sizeof(*items), by_labels);
	for (size_t i = 0; i < count; i++) {
		const int64_t *values = ct_values(items[i].of->profile, items[i].sample);

		if (!i || by_labels(&items[i - 1], &items[i]))
			sums = add_row(
				tree, (struct ct_tree_row){ node, items[i].labels, items[i].side });
		if (tree->row_of && !items[i].side)
			tree->row_of[items[i].sample] = (uint32_t)tree->row_count - 1;
		for (size_t j = 0; j < tree->type_count; j++)
			if (__builtin_add_overflow(sums[j], values[j], &sums[j]))
				sums[j] = INT64_MAX;
	}
}

/* Returns the group of the stacks that go on with this frame; the groups of the same node are those
 * from BASE on. */
static struct group *group_of(struct sorter *s, size_t base, uint32_t node, uint32_t marked)
{
	uint32_t frame = marked & ~CT_FRAME_INLINED, at = s->at[frame];

	if (at < base || at >= s->count || (s->groups[at].frame & ~CT_FRAME_INLINED) != frame) {
		at = s->at[frame] = (uint32_t)s->count;
		*CT_PUSH(s->groups, s->count, s->room) =
			(struct group){ .parent = node, .frame = marked };
	}
	return &s->groups[at];
}

/* Moves the items of G into the order of the groups from BASE on, after the ENDED ones, and each
 * one to its next frame. */
static void move_items(struct sorter *s, const struct group *g, size_t base, uint32_t ended)
{
	struct ct_tree_item *items = s->tree->items + g->first, *end = s->other;
	uint32_t first = ended;

	for (size_t k = base; k < s->count; k++) {
		s->groups[k].first = first;
		first += s->groups[k].count;
	}
	for (uint32_t i = 0; i < g->count; i++) {
		struct ct_tree_item *to = end;

		if (items[i].frame == CT_NONE)
			end++;
		else
			to = s->other +
			     s->groups[s->at[items[i].frame & ~CT_FRAME_INLINED]].first++;
		*to = items[i];
		step(to);
		/* Stacks are all over the memory; this one comes soon where few share a node. */
		__builtin_prefetch(to->stack);
		__builtin_prefetch(to->stack + to->left);
		__builtin_prefetch(ct_values(to->of->profile, to->sample));
	}
	memcpy(items, s->other, g->count * sizeof(*items));
	for (size_t k = base; k < s->count; k++)
		s->groups[k].first += g->first - s->groups[k].count;
}

/* Divides the items of a node among its children, in the order of their first items. */
static void divide(struct sorter *s, const struct group *g, uint32_t node)
{
	const struct ct_tree_item *items = s->tree->items + g->first;
	size_t base = s->count;
	uint32_t ended = 0;

	for (uint32_t i = 0; i < g->count; i++) {
		struct group *to;

		if (items[i].frame == CT_NONE) {
			ended++;
			continue;
		}
		to = group_of(s, base, node, items[i].frame);
		to->count++;
		to->frame &= items[i].frame;
	}
	move_items(s, g, base, ended);
	add_rows(s->tree, node, s->tree->items + g->first, ended);
	/* The first one is taken first. */
	for (size_t k = base, last = s->count; k + 1 < last; k++) {
		struct group swap = s->groups[k];

		s->groups[k] = s->groups[--last];
		s->groups[last] = swap;
	}
}

/* The rest of a stack that no other one shares. */
static void add_alone(struct ct_tree *tree, struct ct_tree_item *item, uint32_t node)
{
	for (; item->frame != CT_NONE; step(item))
		node = add_node(tree, node, item->frame);
	add_rows(tree, node, item, 1);
}

void ct_flame_tree_order(struct ct_tree *tree)
{
	struct sorter s = { .tree = tree };
	struct group g = { .count = (uint32_t)tree->item_count, .parent = CT_NONE };

	s.other = ct_memory_realloc(NULL, tree->item_count + 1, sizeof(*s.other));
	s.at = ct_memory_alloc((tree->frame_count + 1) * sizeof(*s.at));
	*CT_PUSH(s.groups, s.count, s.room) = g;
	while (s.count) {
		uint32_t node;

		g = s.groups[--s.count];
		node = add_node(tree, g.parent, g.frame);
		if (g.count == 1)
			add_alone(tree, &tree->items[g.first], node);
		else
			divide(&s, &g, node);
	}
	free(s.other);
	free(s.groups);
	free(s.at);
	free(tree->items);
	tree->items = NULL;
}
