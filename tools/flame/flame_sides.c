/* SPDX-License-Identifier: BSD-3-Clause */
/* See flame.h. */
#include "flame/flame.h"

#include <stdlib.h>
#include <string.h>

#include "core/read.h"
#include "core/times.h"

struct ct_profile *ct_flame_sides_open(char *const *sources, int count)
{
	struct ct_profile *p = ct_load(sources, count);

	if (!p)
		return NULL;
	if (!ct_filter_alone(p)) {
		ct_times_window_say(p, ct_model_default_type(p), stderr);
		ct_threads_apart(p);
		return p;
	}
	ct_model_free(p);
	return NULL;
}

/* Returns "samples/count, cpu/nanoseconds", which the caller frees. */
static char *types_text(const struct ct_profile *p)
{
	char *text = ct_memory_strdup("");

	for (size_t i = 0; i < p->type_count; i++) {
		char *longer = ct_memory_printf("%s%s%s/%s", text, i ? ", " : "",
						ct_text(p, p->types[i].type),
						ct_text(p, p->types[i].unit));

		free(text);
		text = longer;
	}
	return text;
}

int ct_flame_sides_type(const struct ct_profile *p, const char *name, size_t *type)
{
	char *end, *has;
	unsigned long n;

	if (p->type_count == 0) {
		fputs("cprof: the profile has no sample type\n", stderr);
		return CT_FAILED;
	}
	if (!name) {
		*type = ct_model_default_type(p);
		return CT_OK;
	}
	*type = ct_model_type(p, name);
	if (*type < p->type_count)
		return CT_OK;
	n = strtoul(name, &end, 10);
	if (end != name && !*end && n < p->type_count) {
		*type = n;
		return CT_OK;
	}
	has = types_text(p);
	fprintf(stderr, "cprof: the profile has no sample type \"%s\"; it has %s\n", name, has);
	free(has);
	return CT_FAILED;
}

bool ct_flame_sides_equal_types(const struct ct_profile *a, const struct ct_profile *b)
{
	if (a->type_count != b->type_count)
		return false;
	for (size_t i = 0; i < a->type_count; i++)
		if (strcmp(ct_text(a, a->types[i].type), ct_text(b, b->types[i].type)) != 0 ||
		    strcmp(ct_text(a, a->types[i].unit), ct_text(b, b->types[i].unit)) != 0)
			return false;
	return true;
}

bool ct_flame_sides_same_types(const struct ct_profile *a, const char *a_name,
			       const struct ct_profile *b, const char *b_name)
{
	char *a_types, *b_types;

	if (ct_flame_sides_equal_types(a, b))
		return true;
	a_types = types_text(a);
	b_types = types_text(b);
	fprintf(stderr, "cprof: can't be compared: %s holds %s, but %s holds %s\n", a_name, a_types,
		b_name, b_types);
	free(a_types);
	free(b_types);
	return false;
}
