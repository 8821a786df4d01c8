/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists the stacks with the most memory in use; see heap_leaks.h. */
#include "modes/heap/heap_leaks.h"

#include <string.h>

#include "base/text.h"

#define TOP 5
#define FRAMES 5 /* number of frames of a stack that are named */

#define L(x) ((unsigned long)(x))
#define IN_USE_OBJECTS 2
#define IN_USE_BYTES 3

static void insert(const struct cp_stack **top, const struct cp_stack *s)
{
	for (unsigned i = 0; i < TOP; i++) {
		const struct cp_stack *lower = top[i];

		if (lower && lower->values[IN_USE_BYTES] >= s->values[IN_USE_BYTES])
			continue;
		top[i] = s;
		if (!lower)
			return;
		s = lower;
	}
}

static const char *name_of(const struct cp_run *r, uint32_t number)
{
	const struct cp_location *l =
		CP_VEC_AT(&r->aggregate.locations, struct cp_location, number);

	return l->function ? CP_VEC_AT(&r->names.functions, struct cp_function, l->function)->name
			   : "?";
}

static void describe(const struct cp_run *r, const struct cp_stack *s, char *to, size_t size)
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
	const struct cp_stack *top[TOP] = { 0 };
	char frames[160];

	for (uint32_t i = 0; i < r->aggregate.stacks.count; i++)
		if (cp_aggregate_row_at(&r->aggregate, i)->values[IN_USE_BYTES])
			insert(top, cp_aggregate_row_at(&r->aggregate, i));
	for (unsigned i = 0; i < TOP && top[i]; i++) {
		describe(r, top[i], frames, sizeof(frames));
		cp_comments_line(out, "in use: %lu bytes, %lu objects: %s",
				 L(top[i]->values[IN_USE_BYTES]), L(top[i]->values[IN_USE_OBJECTS]),
				 frames);
	}
}
