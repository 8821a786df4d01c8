/* SPDX-License-Identifier: BSD-3-Clause */
/* The last window of a process that has ended; see push_rest.h.
 *
 * Stacks are compared by their addresses: the file may have lines by then, or not yet, because the
 * program's own helper adds them.
 */
#include "push/push_rest.h"

#include <stdlib.h>
#include <string.h>

#include "core/combine.h"
#include "core/memory.h"

/* Removes what the tool finds again by itself. */
static void strip_lines(struct ct_profile *p)
{
	for (uint32_t i = 0; i < p->location_count; i++) {
		const struct ct_location *l = &p->locations[i];

		if (l->mapping != CT_NONE && l->line_count &&
		    *ct_text(p, p->mappings[l->mapping].file) == '/')
			p->locations[i].line_count = 0;
	}
	for (size_t i = 0; i < p->mapping_count; i++) {
		struct ct_mapping *m = &p->mappings[i];

		if (*ct_text(p, m->file) == '/')
			m->has_functions = m->has_filenames = m->has_lines = m->has_inlines = false;
	}
}

/* A copy of P as it is compared. */
static struct ct_profile *bare(struct ct_profile *p, const struct ct_push_series_how *how)
{
	struct ct_profile *copy = ct_combine(&p, 1), *merged;

	if (!copy)
		return NULL;
	strip_lines(copy);
	ct_push_series_choose_labels(copy, how);
	copy->comment_count = 0;
	merged = ct_combine(&copy, 1);
	ct_model_free(copy);
	return merged;
}

void ct_push_rest_add(struct ct_push_rest *r, struct ct_profile *p)
{
	struct ct_profile *both[2] = { r->taken, bare(p, r->how) }, *sum;

	r->until_ns = p->time_nanos + p->duration_nanos;
	if (!both[0] || !both[1]) {
		r->taken = both[0] ? both[0] : both[1];
		return;
	}
	sum = ct_combine(both, 2);
	ct_model_free(both[1]);
	if (!sum)
		return;
	ct_model_free(r->taken);
	r->taken = sum;
}

/* What the file has less than what was taken was estimated otherwise: it counts as 0. */
static void clamp(struct ct_profile *p)
{
	for (size_t i = 0; i < p->sample_count * p->type_count; i++)
		if (p->values[i] < 0)
			p->values[i] = 0;
}

static struct ct_profile *less(struct ct_profile *file, const struct ct_profile *taken)
{
	struct ct_profile *same = (struct ct_profile *)taken, *both[2], *rest;
	double *ratios = ct_memory_alloc((taken->type_count + 1) * sizeof(*ratios));

	both[0] = file;
	both[1] = ct_combine(&same, 1);
	/* Memory in use is that of the file. */
	for (size_t i = 0; i < taken->type_count; i++)
		ratios[i] = strncmp(ct_text(taken, taken->types[i].type), "inuse_", 6) ? -1 : 0;
	if (both[1])
		ct_combine_header_scale(both[1], ratios);
	free(ratios);
	rest = both[1] ? ct_combine(both, 2) : NULL;
	ct_model_free(both[1]);
	if (rest)
		clamp(rest);
	return rest;
}

struct ct_profile *ct_push_rest_of(const struct ct_push_rest *r, struct ct_profile *file)
{
	int64_t until = file->time_nanos + file->duration_nanos;
	struct ct_profile *all, *rest;

	if (r->until_ns && until <= r->until_ns)
		return NULL;
	all = bare(file, r->how);
	rest = all && r->taken ? less(all, r->taken) : all;
	if (rest != all)
		ct_model_free(all);
	if (rest && r->until_ns) {
		rest->time_nanos = r->until_ns;
		rest->duration_nanos = until - r->until_ns;
	}
	return rest;
}

void ct_push_rest_release(struct ct_push_rest *r)
{
	ct_model_free(r->taken);
	r->taken = NULL;
}
