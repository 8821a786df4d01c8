/* SPDX-License-Identifier: BSD-3-Clause */
/* Gives up rows; see collect.h. */
#include "collect/collect.h"

/* Number of locations that are kept with their names over windows, because naming is expensive. */
#define LOCATIONS_KEPT 32768u

static void keep_row(uint32_t *row, void *arg)
{
	cp_aggregate_compact_keep(arg, *row);
}

static void renumber(uint32_t *row, void *arg)
{
	*row = cp_aggregate_compact_row(arg, *row);
}

static bool has_stayed(uint32_t row, const void *arg)
{
	return cp_aggregate_compact_row(arg, row) != CP_INDEX_NONE;
}

/* Give threads the new numbers of their labels. Returns how many threads have a label. */
static uint32_t renumber_threads(const struct cp_run *r, const struct cp_compaction *c)
{
	uint32_t labelled = 0;

	for (uint32_t i = 0; i < cp_thread_limit(); i++) {
		struct cp_thread *t = cp_thread_at(i);
		uint64_t *label = cp_thread_part(t, r->ops->thread_label);

		/* A label that is gone becomes 0, which means none. */
		if (*label)
			*label = cp_aggregate_compact_thread(c, (uint32_t)*label - 1) + 1u;
		labelled += *label && cp_load_acquire(&t->state) != CP_THREAD_FREE;
	}
	return labelled;
}

static uint32_t own_labels(const struct cp_aggregate *a)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < a->threads.count; i++)
		count += CP_VEC_AT(&a->threads, struct cp_thread_label, i)->tid != 0;
	return count;
}

static bool is_empty(const struct cp_aggregate *a, uint32_t row)
{
	bool empty = true;

	for (unsigned v = 0; v < CP_VALUES; v++)
		empty &= !cp_aggregate_since(a, row, v, NULL);
	return empty;
}

/* Marks R's needed rows in C and returns their number. Sets *GIVES_UP if a row that is not needed
 * has values. */
static uint32_t mark_rows(struct cp_run *r, struct cp_compaction *c, bool *gives_up)
{
	uint32_t needed = 0;

	for (uint32_t i = 0; i < r->aggregate.stacks.count; i++)
		if (cp_consumers_need(r, i)) {
			cp_aggregate_compact_keep(c, i);
			needed++;
		} else {
			*gives_up |= !is_empty(&r->aggregate, i);
		}
	if (r->ops->rows)
		r->ops->rows(r, keep_row, c);
	return needed;
}

static void shrink(struct cp_run *r, struct cp_compaction *c)
{
	struct cp_aggregate *a = &r->aggregate;
	uint32_t labelled, own;
	bool gives_up = false;

	if (mark_rows(r, c, &gives_up) > a->stacks.count / 2 || cp_aggregate_compact_apply(c, a))
		return;
	if (r->ops->rows)
		r->ops->rows(r, renumber, c);
	cp_consumers_rows_moved(r, has_stayed, c);
	cp_times_release(&r->times); /* it has rows' old numbers */
	labelled = renumber_threads(r, c);
	own = own_labels(a);
	a->ended = own > labelled ? own - labelled : 0;
	a->crowd = 0;
	r->gave_up |= gives_up;
}

/* Only rows refer to locations. */
static void forget_locations(struct cp_run *r)
{
	struct cp_aggregate *a = &r->aggregate;

	if (a->stacks.count || a->locations.count < LOCATIONS_KEPT)
		return;
	cp_names_release(&r->names);
	cp_names_init(&r->names);
	cp_aggregate_forget_locations(a);
}

void cp_shrink_run(struct cp_run *r)
{
	struct cp_compaction c;

	if (!r->ops->thread_label)
		return;
	/* The mode's data of rows and threads have the old numbers until its next settle. */
	if (r->ops->settle)
		r->ops->settle(r);
	if (cp_aggregate_compact_begin(&c, &r->aggregate))
		return;
	shrink(r, &c);
	cp_aggregate_compact_release(&c);
	forget_locations(r);
}
