/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of a profile while it is symbolized. See verbs.h. */
#include "verbs/verbs.h"

#include <stdlib.h>
#include <string.h>

#include "symbols/demangle.h"

#define NAME_MAX_BYTES (16 << 10)

static uint64_t hash_of(const struct ct_function *f)
{
	uint64_t h = f->name;

	h = (h ^ f->system_name) * UINT64_C(0x9e3779b97f4a7c15);
	h = (h ^ f->filename ^ h >> 32) * UINT64_C(0x9e3779b97f4a7c15);
	h = (h ^ (uint64_t)f->start_line ^ h >> 32) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 32;
}

static bool equal(const struct ct_function *a, const struct ct_function *b)
{
	return a->name == b->name && a->system_name == b->system_name &&
	       a->filename == b->filename && a->start_line == b->start_line;
}

static uint32_t *slot_of(const struct ct_functions *t, const struct ct_function *f)
{
	size_t i = hash_of(f) & (t->room - 1);

	while (t->table[i] && !equal(&t->p->functions[t->table[i] - 1], f))
		i = (i + 1) & (t->room - 1);
	return &t->table[i];
}

static void grow_functions(struct ct_functions *t)
{
	struct ct_functions old = *t;

	t->room = old.room ? old.room * 2 : 1024;
	t->table = ct_memory_alloc(t->room * sizeof(*t->table));
	for (size_t i = 0; i < old.room; i++)
		if (old.table[i])
			*slot_of(t, &t->p->functions[old.table[i] - 1]) = old.table[i];
	free(old.table);
}

uint32_t ct_symbolize_functions_add(struct ct_functions *t, const struct ct_function *f)
{
	uint32_t *slot;

	if (t->used * 2 >= t->room)
		grow_functions(t);
	slot = slot_of(t, f);
	if (!*slot) {
		*slot = ct_model_add_function(t->p, f) + 1;
		t->used++;
	}
	return *slot - 1;
}

uint32_t ct_symbolize_functions_readable(struct ct_functions *t, const char *mangled)
{
	static char name[NAME_MAX_BYTES];

	return ct_model_string(t->p, cp_demangle(mangled, name, sizeof(name)) ? name : mangled);
}

static struct ct_function copy_function(struct ct_profile *to, const struct ct_profile *from,
					uint32_t i)
{
	const struct ct_function *f = &from->functions[i];

	return (struct ct_function){ ct_model_string(to, ct_text(from, f->name)),
				     ct_model_string(to, ct_text(from, f->system_name)),
				     ct_model_string(to, ct_text(from, f->filename)),
				     f->start_line };
}

struct ct_line *ct_symbolize_functions_copy(struct ct_functions *to, const struct ct_profile *from,
					    const struct ct_location *l)
{
	struct ct_line *lines = ct_memory_alloc((l->line_count + 1) * sizeof(*lines));

	for (uint32_t i = 0; i < l->line_count; i++) {
		struct ct_function f;

		lines[i] = from->lines[l->first_line + i];
		if (lines[i].function == CT_NONE)
			continue;
		f = copy_function(to->p, from, lines[i].function);
		lines[i].function = ct_symbolize_functions_add(to, &f);
	}
	return lines;
}

void ct_symbolize_functions_finish(struct ct_functions *t)
{
	struct ct_profile *p = t->p;
	uint32_t *number = ct_memory_alloc((p->function_count + 1) * sizeof(*number)), count = 0;

	for (size_t i = 0; i < p->location_count; i++)
		for (uint32_t k = 0; k < p->locations[i].line_count; k++) {
			uint32_t f = p->lines[p->locations[i].first_line + k].function;

			if (f != CT_NONE)
				number[f] = 1;
		}
	for (uint32_t i = 0; i < p->function_count; i++) {
		if (!number[i])
			continue;
		p->functions[count] = p->functions[i];
		number[i] = ++count;
	}
	for (size_t i = 0; i < p->line_count; i++) {
		uint32_t *f = &p->lines[i].function;

		if (*f != CT_NONE)
			*f = number[*f] ? number[*f] - 1 : CT_NONE;
	}
	p->function_count = count;
	free(number);
	free(t->table);
	*t = (struct ct_functions){ .p = p };
}
