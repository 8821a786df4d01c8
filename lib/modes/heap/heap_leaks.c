/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists the stacks with the most memory in use; see heap.h. */
#include "modes/heap/heap.h"

#include "base/text.h"

#define TOP 5
#define FRAMES 5 /* number of frames of a stack that are named */

#define L(x) ((unsigned long)(x))
#define NO_ROW UINT32_MAX

static const struct cp_heap_row *amount(const struct cp_run *r, uint32_t row)
{
	return cp_heap_views_row(&r->aggregate, row);
}

static void insert_leak(const struct cp_run *r, uint32_t *top, uint32_t row)
{
	for (unsigned i = 0; i < TOP; i++) {
		uint32_t lower = top[i];

		if (lower != NO_ROW && amount(r, lower)->all_bytes >= amount(r, row)->all_bytes)
			continue;
		top[i] = row;
		if (lower == NO_ROW)
			return;
		row = lower;
	}
}

static const char *name_of(const struct cp_run *r, uint32_t number)
{
	const struct cp_location *l =
		CP_VEC_AT(&r->aggregate.locations, struct cp_location, number);

	return l->function ? CP_VEC_AT(&r->names.functions, struct cp_function, l->function)->name
			   : "?";
}

static void describe_leak(const struct cp_run *r, const struct cp_stack *s, char *to, size_t size)
{
	size_t n = 0;

	to[0] = '\0';
	for (uint32_t i = 0; i < s->depth && i < FRAMES && n + 1 < size; i++) {
		cp_text_format(to + n, size - n, "%s%s", i ? " < " : "",
			       name_of(r, s->locations[i]));
		n += strlen(to + n);
	}
}

void cp_heap_leaks_report(struct cp_comments *out, const struct cp_run *r)
{
	uint32_t top[TOP];
	char frames[160];

	for (unsigned i = 0; i < TOP; i++)
		top[i] = NO_ROW;
	for (uint32_t i = 0; i < r->aggregate.stacks.count; i++)
		if (amount(r, i)->all_bytes)
			insert_leak(r, top, i);
	for (unsigned i = 0; i < TOP && top[i] != NO_ROW; i++) {
		describe_leak(r, cp_aggregate_row_at(&r->aggregate, top[i]), frames,
			      sizeof(frames));
		cp_comments_line(out, "in use: %lu bytes, %lu objects: %s",
				 L(amount(r, top[i])->all_bytes), L(amount(r, top[i])->all_objects),
				 frames);
	}
}
