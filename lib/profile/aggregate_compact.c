/* SPDX-License-Identifier: BSD-3-Clause */
/* Gives up rows; see profile.h. */
#include "profile/profile.h"

#include <errno.h>
#include <string.h>

/* Memory above this size is given back when no row stays. */
#define KEPT_BYTES ((size_t)256 << 10)

int cp_aggregate_compact_begin(struct cp_compaction *c, const struct cp_aggregate *a)
{
	*c = (struct cp_compaction){ { .size = sizeof(uint32_t) }, { .size = sizeof(uint32_t) } };
	if (cp_vec_extend(&c->rows, a->stacks.count) &&
	    cp_vec_extend(&c->threads, a->threads.count))
		return 0;
	cp_aggregate_compact_release(c);
	return -ENOMEM;
}

void cp_aggregate_compact_release(struct cp_compaction *c)
{
	cp_vec_release(&c->rows);
	cp_vec_release(&c->threads);
}

void cp_aggregate_compact_keep(struct cp_compaction *c, uint32_t row)
{
	if (row < c->rows.count)
		*CP_VEC_AT(&c->rows, uint32_t, row) = 1;
}

static uint32_t new_number(const struct cp_vec *numbers, uint32_t old)
{
	return old < numbers->count ? *CP_VEC_AT(numbers, uint32_t, old) - 1 : CP_INDEX_NONE;
}

uint32_t cp_aggregate_compact_row(const struct cp_compaction *c, uint32_t row)
{
	return new_number(&c->rows, row);
}

uint32_t cp_aggregate_compact_thread(const struct cp_compaction *c, uint32_t thread)
{
	return new_number(&c->threads, thread);
}

/* Copies the locations of the rows that stay to TO. Returns the first row's, or NULL without
 * memory. */
static uint32_t *copy_locations(const struct cp_compaction *c, const struct cp_aggregate *a,
				struct cp_arena *to)
{
	size_t total = 0;
	uint32_t *block, *at;

	for (uint32_t i = 0; i < a->stacks.count; i++)
		if (*CP_VEC_AT(&c->rows, uint32_t, i))
			total += cp_aggregate_row_at(a, i)->depth;
	block = at = cp_arena_alloc(to, (total + 1) * sizeof(*block));
	for (uint32_t i = 0; block && i < a->stacks.count; i++) {
		const struct cp_stack *s = cp_aggregate_row_at(a, i);

		if (!*CP_VEC_AT(&c->rows, uint32_t, i))
			continue;
		memcpy(at, s->locations, s->depth * sizeof(*at));
		at += s->depth;
	}
	return block;
}

static void move_rows(struct cp_compaction *c, struct cp_aggregate *a, const uint32_t *locations)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < a->stacks.count; i++) {
		uint32_t *number = CP_VEC_AT(&c->rows, uint32_t, i);
		struct cp_stack *s = cp_aggregate_row_at(a, count);

		if (!*number)
			continue;
		*s = *cp_aggregate_row_at(a, i);
		s->locations = locations;
		locations += s->depth;
		if (s->thread < c->threads.count)
			*CP_VEC_AT(&c->threads, uint32_t, s->thread) = 1;
		*number = ++count;
	}
	a->stacks.count = count;
}

/* A label that threads share is in the index of names. */
static void move_threads(struct cp_compaction *c, struct cp_aggregate *a)
{
	uint32_t count = 0;

	cp_index_clear(&a->name_index);
	for (uint32_t i = 0; i < a->threads.count; i++) {
		uint32_t *number = CP_VEC_AT(&c->threads, uint32_t, i);
		struct cp_thread_label *l = CP_VEC_AT(&a->threads, struct cp_thread_label, count);

		if (!*number)
			continue;
		*l = *CP_VEC_AT(&a->threads, struct cp_thread_label, i);
		if (!l->tid)
			(void)cp_index_add(&a->name_index, cp_index_hash(l->name, strlen(l->name)),
					   count);
		*number = ++count;
	}
	a->threads.count = count;
}

/* The index has had at least as many entries, so adding needs no memory. */
static void index_rows(const struct cp_compaction *c, struct cp_aggregate *a)
{
	cp_index_clear(&a->stack_index);
	for (uint32_t i = 0; i < a->stacks.count; i++) {
		struct cp_stack *s = cp_aggregate_row_at(a, i);

		if (s->thread != CP_NO_THREAD)
			s->thread = cp_aggregate_compact_thread(c, s->thread);
		(void)cp_index_add(&a->stack_index, cp_aggregate_hash(s), i);
	}
}

int cp_aggregate_compact_apply(struct cp_compaction *c, struct cp_aggregate *a)
{
	struct cp_arena arena = { .limit = a->arena.limit };
	const uint32_t *locations = copy_locations(c, a, &arena);

	if (!locations)
		return -ENOMEM;
	move_rows(c, a, locations);
	move_threads(c, a);
	index_rows(c, a);
	cp_arena_release(&a->arena);
	a->arena = arena;
	if (!a->stacks.count && a->stacks.room * a->stacks.size > KEPT_BYTES) {
		cp_vec_release(&a->stacks);
		cp_index_release(&a->stack_index);
	}
	return 0;
}
