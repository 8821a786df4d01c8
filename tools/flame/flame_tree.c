/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes a tree from stacks. See flame.h. Its second part chooses the labels that filters offer. */
#include "flame/flame.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 1024

void ct_flame_tree_init(struct ct_tree *tree, size_t type_count)
{
	*tree = (struct ct_tree){ .type_count = type_count };
	*CT_PUSH(tree->nodes, tree->node_count, tree->node_room) =
		(struct ct_tree_node){ .parent = CT_NONE };
}

void ct_flame_tree_release(struct ct_tree *tree)
{
	free(tree->nodes);
	free(tree->rows);
	free(tree->values);
	free(tree->slots);
	ct_flame_map_release(&tree->row_map);
}

/* Returns the slot of the node with this PARENT and FRAME. The table is not a struct ct_flame_map:
 * a slot here is only the node's number, which takes a seventh of the memory, and a tree has
 * millions of nodes.
 */
static uint32_t *find_node(const struct ct_tree *tree, uint32_t parent, uint32_t frame)
{
	uint64_t hash = ((uint64_t)parent << 32 | frame) * UINT64_C(0x9e3779b97f4a7c15);
	size_t i = (hash ^ hash >> 32) & (tree->slot_count - 1);

	while (tree->slots[i] != CT_NONE && (tree->nodes[tree->slots[i]].parent != parent ||
					     tree->nodes[tree->slots[i]].frame != frame))
		i = (i + 1) & (tree->slot_count - 1);
	return &tree->slots[i];
}

static void widen_tree(struct ct_tree *tree)
{
	free(tree->slots);
	tree->slot_count = tree->slot_count ? tree->slot_count * 2 : FIRST_SLOTS;
	tree->slots = ct_memory_realloc(NULL, tree->slot_count, sizeof(*tree->slots));
	memset(tree->slots, 0xff, tree->slot_count * sizeof(*tree->slots));
	for (size_t i = 1; i < tree->node_count; i++)
		*find_node(tree, tree->nodes[i].parent, tree->nodes[i].frame) = i;
}

static uint32_t child(struct ct_tree *tree, uint32_t parent, uint32_t marked)
{
	uint32_t *at, frame = marked & ~CT_FRAME_INLINED, inlined = marked != frame;

	if (tree->node_count * 2 >= tree->slot_count)
		widen_tree(tree);
	at = find_node(tree, parent, frame);
	if (*at == CT_NONE) {
		*at = tree->node_count;
		*CT_PUSH(tree->nodes, tree->node_count, tree->node_room) =
			(struct ct_tree_node){ parent, frame, inlined };
	}
	tree->nodes[*at].inlined &= inlined;
	return *at;
}

static int64_t *row(struct ct_tree *tree, struct ct_tree_row r)
{
	struct ct_flame_key key = { r.node, r.labels, r.side };
	uint32_t *at = ct_flame_map_at(&tree->row_map, key);

	if (*at == CT_NONE) {
		size_t values = tree->row_count * tree->type_count;

		*at = tree->row_count;
		*CT_PUSH(tree->rows, tree->row_count, tree->row_room) = r;
		if (values + tree->type_count > tree->value_room)
			tree->values =
				ct_memory_grow(tree->values, &tree->value_room,
					       values + tree->type_count, sizeof(*tree->values));
		memset(tree->values + values, 0, tree->type_count * sizeof(*tree->values));
	}
	return tree->values + *at * tree->type_count;
}

static bool any_negative(const int64_t *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (values[i] < 0)
			return true;
	return false;
}

static uint32_t root_of(struct ct_tree *tree, const struct ct_tree_source *source,
			const struct ct_sample *s)
{
	const char *thread = NULL;

	if (!source->threads)
		return 0;
	thread = ct_flame_frames_label(source->of->profile, s, "thread");
	return child(tree, 0,
		     ct_flame_frames_named(source->frames, thread ? thread : "(no thread)"));
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
	uint32_t *stack = NULL, *sets;
	size_t room = 0;

	sets = source->labels ? flame_labels_sets(source->frames->pool, p, &tree->labels_left_out)
			      : NULL;
	for (size_t i = 0; i < p->sample_count; i++) {
		const struct ct_sample *s = &p->samples[i];
		const int64_t *values = ct_values(p, i);
		struct ct_tree_row r = { .labels = sets ? sets[s->label_set] : 0,
					 .side = source->side };
		size_t depth;
		int64_t *sums;

		if (any_negative(values, p->type_count)) {
			tree->negative++;
			continue;
		}
		r.node = root_of(tree, source, s);
		depth = ct_flame_frames_stack(source->of, s, &stack, &room);
		for (size_t j = 0; j < depth; j++)
			r.node = child(tree, r.node, stack[j]);
		sums = row(tree, r);
		for (size_t j = 0; j < tree->type_count; j++)
			if (__builtin_add_overflow(sums[j], values[j], &sums[j]))
				sums[j] = INT64_MAX;
	}
	free(stack);
	free(sets);
}

/* Returns the number of each node in depth-first order. */
static uint32_t *ranks(const struct ct_tree *tree)
{
	size_t n = tree->node_count;
	uint32_t *first = ct_memory_realloc(NULL, n, sizeof(*first));
	uint32_t *next = ct_memory_realloc(NULL, n, sizeof(*next));
	uint32_t *rank = ct_memory_realloc(NULL, n, sizeof(*rank));
	uint32_t at = 0, count = 0;

	memset(first, 0xff, n * sizeof(*first));
	/* Backwards, so that the lists are in forward order. */
	for (size_t i = n; i-- > 1;) {
		next[i] = first[tree->nodes[i].parent];
		first[tree->nodes[i].parent] = i;
	}
	next[0] = CT_NONE;
	while (at != CT_NONE) {
		rank[at] = count++;
		if (first[at] != CT_NONE) {
			at = first[at];
			continue;
		}
		while (at != CT_NONE && next[at] == CT_NONE)
			at = tree->nodes[at].parent;
		at = at == CT_NONE ? CT_NONE : next[at];
	}
	free(first);
	free(next);
	return rank;
}

static int by_node(const void *a, const void *b, void *tree)
{
	const struct ct_tree_row *rows = ((const struct ct_tree *)tree)->rows;
	const struct ct_tree_row *x = &rows[*(const uint32_t *)a], *y = &rows[*(const uint32_t *)b];

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	if (x->labels != y->labels)
		return x->labels < y->labels ? -1 : 1;
	return (int)x->side - (int)y->side;
}

static void sort_rows(struct ct_tree *tree)
{
	size_t n = tree->row_count, types = tree->type_count;
	uint32_t *order = ct_memory_realloc(NULL, n + 1, sizeof(*order));
	struct ct_tree_row *rows = ct_memory_realloc(NULL, n + 1, sizeof(*rows));
	int64_t *values = ct_memory_realloc(NULL, n * types + 1, sizeof(*values));

	for (size_t i = 0; i < n; i++)
		order[i] = i;
	qsort_r(order, n, sizeof(*order), by_node, tree);
	for (size_t i = 0; i < n; i++) {
		rows[i] = tree->rows[order[i]];
		memcpy(values + i * types, tree->values + order[i] * types,
		       types * sizeof(*values));
	}
	free(order);
	free(tree->rows);
	free(tree->values);
	tree->rows = rows;
	tree->values = values;
	tree->row_room = n + 1;
	tree->value_room = n * types + 1;
}

void ct_flame_tree_order(struct ct_tree *tree)
{
	uint32_t *rank = ranks(tree);
	struct ct_tree_node *nodes = ct_memory_realloc(NULL, tree->node_count, sizeof(*nodes));

	for (size_t i = 0; i < tree->node_count; i++) {
		uint32_t parent = tree->nodes[i].parent;

		nodes[rank[i]] = tree->nodes[i];
		nodes[rank[i]].parent = parent == CT_NONE ? CT_NONE : rank[parent];
	}
	free(tree->nodes);
	tree->nodes = nodes;
	tree->node_room = tree->node_count;
	for (size_t i = 0; i < tree->row_count; i++)
		tree->rows[i].node = rank[tree->rows[i].node];
	free(rank);
	sort_rows(tree);
	/* The nodes were renumbered. */
	free(tree->slots);
	tree->slots = NULL;
	tree->slot_count = 0;
	ct_flame_map_release(&tree->row_map);
}
