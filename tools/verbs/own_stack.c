/* SPDX-License-Identifier: BSD-3-Clause */
/* Own functions of stacks, and sums by name; see verbs.h. */
#include "verbs/verbs.h"

#include <stdlib.h>
#include <string.h>

#define UNNAMED "(no name)"

static const char *name_of(const struct ct_profile *p, const struct ct_location *l, uint32_t line)
{
	uint32_t f = l->line_count ? p->lines[l->first_line + line].function : CT_NONE;
	const char *module, *slash;

	if (f != CT_NONE && *ct_text(p, p->functions[f].name))
		return ct_text(p, p->functions[f].name);
	module = l->mapping == CT_NONE ? UNNAMED : ct_text(p, p->mappings[l->mapping].file);
	slash = strrchr(module, '/');
	return slash && slash[1] ? slash + 1 : module;
}

const char *ct_own_stack_name(const struct ct_profile *p, const struct ct_sample *s, uint32_t k)
{
	return k < s->depth ? name_of(p, &p->locations[ct_frames(p, s)[k]], 0) : UNNAMED;
}

/* Is frame K the profiler's? A thread of the program writes files at the end, on another stack. */
static bool is_profilers(const struct ct_profile *p, const struct ct_sample *s, uint32_t k)
{
	uint32_t m = k < s->depth ? p->locations[ct_frames(p, s)[k]].mapping : CT_NONE;

	return m != CT_NONE &&
	       ct_starts(ct_base_name(ct_text(p, p->mappings[m].file)), "libcprof.so");
}

/* Returns the innermost own function from frame FIRST on; if there is none, frame FIRST. */
static const char *function_from(struct ct_own *o, const struct ct_profile *p,
				 const struct ct_sample *s, uint32_t first)
{
	for (uint32_t k = first; k < s->depth; k++) {
		const struct ct_location *l = &p->locations[ct_frames(p, s)[k]];
		int line = ct_own_line(o, l);

		if (line >= 0)
			return name_of(p, l, (uint32_t)line);
	}
	return is_profilers(p, s, first) ? "[libcprof]" : ct_own_stack_name(p, s, first);
}

/* Returns the first frame of the stack that waits; in a profile of wakers the stack that ended the
 * wait comes before it. Without a waking stack, the first frame is the one that says why. */
static uint32_t first_waiting(const struct ct_profile *p, const struct ct_sample *s)
{
	uint32_t mark = 0;

	while (mark < s->depth && *ct_own_stack_name(p, s, 0) != '[' &&
	       strcmp(ct_own_stack_name(p, s, mark), "[woken by]") != 0)
		mark++;
	return mark + 1 < s->depth ? mark + 1 : 0;
}

const char *ct_own_stack_function(struct ct_own *o, const struct ct_profile *p, size_t i)
{
	return function_from(o, p, &p->samples[i], 0);
}

static size_t add_name(const char **names, size_t n, size_t most, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return n;
	if (n < most)
		names[n++] = name;
	return n;
}

size_t ct_own_stack_functions(struct ct_own *o, const struct ct_profile *p, size_t i,
			      const char **names, size_t most)
{
	const struct ct_sample *s = &p->samples[i];
	size_t n = 0;

	for (uint32_t k = first_waiting(p, s); k < s->depth; k++) {
		const struct ct_location *l = &p->locations[ct_frames(p, s)[k]];

		for (uint32_t line = 0; line < l->line_count; line++)
			if (ct_own_is(o, l, &p->lines[l->first_line + line]))
				n = add_name(names, n, most, name_of(p, l, line));
	}
	return n ? n : add_name(names, 0, most, ct_own_stack_function(o, p, i));
}

struct text {
	char *data;
	size_t length, room;
};

static void append_name(struct text *text, const char *name)
{
	static const char between[] = " < ";
	size_t n = strlen(name), gap = text->data ? strlen(between) : 0;

	if (text->room - text->length <= gap + n)
		text->data = ct_memory_grow(text->data, &text->room, text->length + gap + n + 1, 1);
	memcpy(text->data + text->length, between, gap);
	memcpy(text->data + text->length + gap, name, n + 1);
	text->length += gap + n;
}

/* Appends the own functions of location L. */
static void append_own(struct text *text, struct ct_own *o, const struct ct_profile *p,
		       const struct ct_location *l)
{
	for (uint32_t line = 0; line < l->line_count; line++)
		if (ct_own_is(o, l, &p->lines[l->first_line + line]))
			append_name(text, name_of(p, l, line));
	if (!l->line_count && ct_own_is(o, l, NULL))
		append_name(text, name_of(p, l, 0));
}

char *ct_own_stack_waker(struct ct_own *o, const struct ct_profile *p, size_t i)
{
	const struct ct_sample *s = &p->samples[i];
	const char *first = ct_own_stack_name(p, s, 0);
	struct text text = { 0 };

	for (uint32_t k = 0; k < s->depth && *first != '['; k++) {
		const struct ct_location *l = &p->locations[ct_frames(p, s)[k]];

		if (!strcmp(name_of(p, l, 0), "[woken by]"))
			break;
		append_own(&text, o, p, l);
	}
	if (!text.data)
		append_name(&text, first);
	return text.data;
}

const char *ct_own_stack_waiter(struct ct_own *o, const struct ct_profile *p, size_t i)
{
	return function_from(o, p, &p->samples[i], first_waiting(p, &p->samples[i]));
}

char *ct_own_stack_text(struct ct_own *o, const struct ct_profile *p, size_t i)
{
	const struct ct_sample *s = &p->samples[i];
	struct text text = { 0 };

	for (uint32_t k = 0; k < s->depth; k++)
		append_own(&text, o, p, &p->locations[ct_frames(p, s)[k]]);
	if (!text.data)
		append_name(&text, ct_own_stack_function(o, p, i));
	return text.data;
}

static bool is_called(const void *context, uint32_t index, const void *name)
{
	return !strcmp(((const struct ct_sums *)context)->list[index].name, name);
}

struct ct_sum *ct_own_stack_sum(struct ct_sums *s, const char *name)
{
	uint64_t hash = ct_table_hash_text(name);
	uint32_t index = ct_table_find(&s->table, hash, is_called, s, name);

	if (index != UINT32_MAX)
		return &s->list[index];
	ct_table_add(&s->table, hash, (uint32_t)s->count);
	*CT_PUSH(s->list, s->count, s->room) = (struct ct_sum){ .name = ct_memory_strdup(name) };
	return &s->list[s->count - 1];
}

static int by_value(const void *x, const void *y)
{
	const struct ct_sum *a = x, *b = y;

	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return strcmp(a->name, b->name);
}

void ct_own_stack_sort(struct ct_sums *s)
{
	if (s->count)
		qsort(s->list, s->count, sizeof(*s->list), by_value);
}

void ct_own_stack_release(struct ct_sums *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->list[i].name);
	free(s->list);
	ct_table_release(&s->table);
	*s = (struct ct_sums){ 0 };
}

const char *ct_own_stack_label(const struct ct_profile *p, size_t i, const char *key)
{
	const struct ct_label *l = ct_model_label(p, p->samples[i].label_set, key);

	return l && l->text ? ct_text(p, l->text) : NULL;
}

int64_t ct_own_stack_number(const struct ct_profile *p, size_t i, const char *key, int64_t none)
{
	const struct ct_label *l = ct_model_label(p, p->samples[i].label_set, key);

	return l && !l->text ? l->number : none;
}
