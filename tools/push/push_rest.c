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
#include "core/table.h"
#include "verbs/symbolize_functions.h"

/* Removes what the file may have, or not yet. */
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
	/* The first one says that the profile is libcprof's; the others are of the whole run. */
	copy->comment_count = copy->comment_count ? 1 : 0;
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
		ratios[i] = ct_model_is_of_moment(taken, i) ? 0 : -1;
	if (both[1])
		ct_combine_header_scale(both[1], ratios);
	free(ratios);
	rest = both[1] ? ct_combine(both, 2) : NULL;
	ct_model_free(both[1]);
	if (rest)
		clamp(rest);
	return rest;
}

/* ---- names and lines, as the file has them ---- */

struct named {
	const struct ct_profile *p, *file;
};

static bool same_mapping(const struct named *n, uint32_t of_p, uint32_t of_file)
{
	const struct ct_mapping *a = &n->p->mappings[of_p], *b = &n->file->mappings[of_file];

	return a->start == b->start && !strcmp(ct_text(n->p, a->file), ct_text(n->file, b->file));
}

static bool same_place(const void *context, uint32_t index, const void *key)
{
	const struct named *n = context;
	const struct ct_location *l = key, *of_file = &n->file->locations[index];

	return l->address == of_file->address && l->mapping != CT_NONE &&
	       of_file->mapping != CT_NONE && same_mapping(n, l->mapping, of_file->mapping);
}

static void name_location(const struct named *n, struct ct_functions *functions, uint32_t i,
			  const struct ct_location *from)
{
	struct ct_line *lines = ct_symbolize_functions_copy(functions, n->file, from);

	ct_model_set_lines(functions->p, i, lines, from->line_count);
	free(lines);
}

static void take_flags(const struct named *n, struct ct_mapping *m, uint32_t i)
{
	for (uint32_t of_file = 0; of_file < n->file->mapping_count; of_file++) {
		const struct ct_mapping *from = &n->file->mappings[of_file];

		if (!same_mapping(n, i, of_file))
			continue;
		m->has_functions = from->has_functions;
		m->has_filenames = from->has_filenames;
		m->has_lines = from->has_lines;
		m->has_inlines = from->has_inlines;
	}
}

/* The library's names are those of the windows. The tool alone would find others: a function of
 * libc has several names, and debug information has others than the dynamic symbols. */
static void name_as_file(struct ct_profile *p, const struct ct_profile *file)
{
	const struct named n = { p, file };
	struct ct_functions functions = { .p = p };
	struct ct_table places = { .room = 0 };

	for (uint32_t i = 0; i < file->location_count; i++)
		if (file->locations[i].line_count)
			ct_table_add(&places, ct_hash(1, file->locations[i].address), i);
	for (uint32_t i = 0; i < p->location_count; i++) {
		const struct ct_location *l = &p->locations[i];
		uint32_t from = l->line_count ? UINT32_MAX
					      : ct_table_find(&places, ct_hash(1, l->address),
							      same_place, &n, l);

		if (from != UINT32_MAX)
			name_location(&n, &functions, i, &file->locations[from]);
	}
	for (uint32_t i = 0; i < p->mapping_count; i++)
		take_flags(&n, &p->mappings[i], i);
	free(functions.table);
	ct_table_release(&places);
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
	if (rest)
		name_as_file(rest, file);
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
