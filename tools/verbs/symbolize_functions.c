/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of a profile while it is symbolized. See verbs.h. */
#include "verbs/verbs.h"

#include <stdlib.h>
#include <string.h>

#include "symbols/demangle.h"

#define NAME_MAX_BYTES (16 << 10)

static bool is_equal(const void *profile, uint32_t index, const void *key)
{
	const struct ct_function *a = &((const struct ct_profile *)profile)->functions[index];
	const struct ct_function *b = key;

	return a->name == b->name && a->system_name == b->system_name &&
	       a->filename == b->filename && a->start_line == b->start_line;
}

uint32_t ct_symbolize_functions_add(struct ct_functions *t, const struct ct_function *f)
{
	uint64_t hash = ct_hash(ct_hash(f->name, f->system_name), f->filename);
	uint32_t index;

	hash = ct_hash(hash, (uint64_t)f->start_line);
	index = ct_table_find(&t->table, hash, is_equal, t->p, f);
	if (index == UINT32_MAX) {
		index = ct_model_add_function(t->p, f);
		ct_table_add(&t->table, hash, index);
	}
	return index;
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
	ct_table_release(&t->table);
	*t = (struct ct_functions){ .p = p };
}
