/* SPDX-License-Identifier: BSD-3-Clause */
/* Types, units, times and comments of several profiles; see model.h. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/report.h"
#include "core/times.h"

/* "sample" and "samples" are the same type. */
static bool same_name(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);

	n -= n && a[n - 1] == 's';
	m -= m && b[m - 1] == 's';
	return n == m && !memcmp(a, b, n);
}

static bool disagree(const struct ct_profile *a, struct ct_type x, const struct ct_profile *b,
		     struct ct_type y, const char *what)
{
	fprintf(stderr, "cprof: profiles of different %s can't be put together: %s/%s and %s/%s\n",
		what, ct_text(a, x.type), ct_text(a, x.unit), ct_text(b, y.type),
		ct_text(b, y.unit));
	return false;
}

static bool type_fits(const struct ct_profile *a, struct ct_type x, const struct ct_profile *b,
		      struct ct_type y, const char *what)
{
	return (same_name(ct_text(a, x.type), ct_text(b, y.type)) &&
		ct_numbers_units_compatible(ct_text(a, x.unit), ct_text(b, y.unit))) ||
	       disagree(a, x, b, y, what);
}

static bool all_fit(struct ct_profile *const *sources, size_t count)
{
	const struct ct_profile *a = sources[0];

	for (size_t i = 1; i < count; i++) {
		const struct ct_profile *b = sources[i];

		if (a->type_count != b->type_count) {
			fprintf(stderr,
				"cprof: profiles of %zu and of %zu sample types can't be put "
				"together\n",
				a->type_count, b->type_count);
			return false;
		}
		if (!type_fits(a, a->period_type, b, b->period_type, "periods"))
			return false;
		for (size_t t = 0; t < a->type_count; t++)
			if (!type_fits(a, a->types[t], b, b->types[t], "sample types"))
				return false;
	}
	return true;
}

static double ratio_of(const char *from, const char *to)
{
	const char *unit;

	return strcmp(from, to) ? ct_numbers_scale(1, from, to, &unit) : 1;
}

void ct_combine_header_scale(struct ct_profile *p, const double *ratios)
{
	uint32_t *map = ct_memory_alloc(p->sample_count * sizeof(*map));
	size_t kept = 0;
	bool all_one = true;

	for (size_t t = 0; t < p->type_count; t++)
		all_one = all_one && ratios[t] == 1;
	for (size_t i = 0; !all_one && i < p->sample_count; i++) {
		bool keep = false;

		for (size_t t = 0; t < p->type_count; t++) {
			int64_t v = ct_values(p, i)[t];

			v = ratios[t] == 1 ? v : ct_numbers_scale_value(v, ratios[t]);
			ct_values(p, kept)[t] = v;
			keep = keep || v;
		}
		p->samples[kept] = p->samples[i];
		map[i] = keep ? (uint32_t)kept : CT_NONE;
		kept += keep;
	}
	if (!all_one) {
		ct_times_map(p, map, p->sample_count, kept);
		p->sample_count = kept;
	}
	free(map);
}

/* Returns the finest unit of type T in the sources. */
static const char *finest(struct ct_profile *const *sources, size_t count, size_t t)
{
	const char *best = ct_text(sources[0], sources[0]->types[t].unit);

	for (size_t i = 1; i < count; i++) {
		const char *unit = ct_text(sources[i], sources[i]->types[t].unit);

		if (ratio_of(unit, best) < 1)
			best = unit;
	}
	return best;
}

static void scale_all(struct ct_profile *const *sources, size_t count)
{
	size_t types = sources[0]->type_count;
	double *ratios = ct_memory_alloc(types * sizeof(*ratios));
	char **units = ct_memory_alloc(types * sizeof(*units));

	for (size_t t = 0; t < types; t++)
		units[t] = ct_memory_strdup(finest(sources, count, t));
	for (size_t i = 0; i < count; i++) {
		for (size_t t = 0; t < types; t++) {
			ratios[t] =
				ratio_of(ct_text(sources[i], sources[i]->types[t].unit), units[t]);
			sources[i]->types[t].unit = ct_model_string(sources[i], units[t]);
		}
		ct_combine_header_scale(sources[i], ratios);
	}
	for (size_t t = 0; t < types; t++)
		free(units[t]);
	free(units);
	free(ratios);
}

static uint32_t copy_string(struct ct_profile *to, const struct ct_profile *from, uint32_t i)
{
	return ct_model_string(to, ct_text(from, i));
}

static struct ct_type copy_type(struct ct_profile *to, const struct ct_profile *from,
				struct ct_type t)
{
	return (struct ct_type){ copy_string(to, from, t.type), copy_string(to, from, t.unit) };
}

static void add_comments(struct ct_profile *to, const struct ct_profile *from)
{
	for (size_t i = 0; i < from->comment_count; i++) {
		uint32_t text = copy_string(to, from, from->comments[i]);
		size_t k = 0;

		while (k < to->comment_count && to->comments[k] != text)
			k++;
		if (k == to->comment_count)
			ct_model_add_comment(to, text);
	}
}

static void add_header(struct ct_profile *to, const struct ct_profile *from)
{
	if (!to->time_nanos || from->time_nanos < to->time_nanos)
		to->time_nanos = from->time_nanos;
	if (!to->period || to->period < from->period)
		to->period = from->period;
	if (!to->default_type)
		to->default_type = copy_string(to, from, from->default_type);
	if (!to->doc_url)
		to->doc_url = copy_string(to, from, from->doc_url);
	add_comments(to, from);
}

static int by_time(const void *x, const void *y)
{
	int64_t a = (*(struct ct_profile *const *)x)->time_nanos,
		b = (*(struct ct_profile *const *)y)->time_nanos;

	return (a > b) - (a < b);
}

/* Returns the time that the profiles cover together: that of the processes of a tree, which ran at
 * the same time, counts once. A profile whose time isn't known counts by itself. */
static int64_t time_passed(struct ct_profile *const *sources, size_t count)
{
	struct ct_profile **sorted =
		ct_memory_realloc(NULL, count + 1, sizeof(struct ct_profile *));
	int64_t sum = 0, until = 0;

	if (count == 1) {
		free(sorted);
		return sources[0]->duration_nanos;
	}
	memcpy(sorted, sources, count * sizeof(struct ct_profile *));
	qsort(sorted, count, sizeof(*sorted), by_time);
	for (size_t i = 0; i < count; i++) {
		int64_t begin = sorted[i]->time_nanos, end;

		if (!begin) {
			sum = ct_add(sum, sorted[i]->duration_nanos);
			continue;
		}
		end = ct_add(begin, sorted[i]->duration_nanos);
		begin = begin > until ? begin : until;
		if (end > begin) {
			sum = ct_add(sum, ct_add(end, ct_negate(begin)));
			until = end;
		}
	}
	free(sorted);
	return sum;
}

struct ct_profile *ct_combine_header_join(struct ct_profile *const *sources, size_t count)
{
	const struct ct_profile *first = sources[0];
	struct ct_profile *to;

	if (!all_fit(sources, count))
		return NULL;
	scale_all(sources, count);
	to = ct_model_new();
	for (size_t t = 0; t < first->type_count; t++)
		ct_model_add_type(to, copy_type(to, first, first->types[t]));
	to->period_type = copy_type(to, first, first->period_type);
	to->drop_frames = copy_string(to, first, first->drop_frames);
	to->keep_frames = copy_string(to, first, first->keep_frames);
	for (size_t i = 0; i < count; i++)
		add_header(to, sources[i]);
	to->duration_nanos = time_passed(sources, count);
	return to;
}
