/* SPDX-License-Identifier: BSD-3-Clause */
/* A profile as `go tool pprof -raw` shows it: for people, grep and diff. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "convert/convert.h"
#include "core/memory.h"
#include "core/out.h"

static void text(const struct ct_profile *p, uint32_t string, FILE *to)
{
	ct_out_text(to, ct_text(p, string));
}

static void put_header(const struct ct_profile *p, FILE *to)
{
	time_t seconds = p->time_nanos / 1000000000;
	char when[64];
	struct tm tm;

	for (size_t i = 0; i < p->comment_count; i++) {
		fputs("Comment: ", to);
		text(p, p->comments[i], to);
		fputc('\n', to);
	}
	fputs("PeriodType: ", to);
	text(p, p->period_type.type, to);
	fputc(' ', to);
	text(p, p->period_type.unit, to);
	fprintf(to, "\nPeriod: %" PRId64 "\n", p->period);
	if (p->time_nanos && gmtime_r(&seconds, &tm) &&
	    strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S +0000 UTC", &tm))
		fprintf(to, "Time: %s\n", when);
	if (p->duration_nanos)
		fprintf(to, "Duration: %.9gs\n", (double)p->duration_nanos / 1e9);
}

static int by_key(const void *a, const void *b, void *profile)
{
	const struct ct_label *x = a, *y = b;

	return strcmp(ct_text(profile, x->key), ct_text(profile, y->key));
}

static void put_label(const struct ct_profile *p, const struct ct_label *l, FILE *to)
{
	text(p, l->key, to);
	fputs(":[", to);
	if (l->text) {
		text(p, l->text, to);
	} else {
		fprintf(to, "%" PRId64 "%s", l->number, l->unit ? " " : "");
		text(p, l->unit, to);
	}
	fputc(']', to);
}

/* Writes a line of text labels, then a line of numeric ones, each in the order of the keys. */
static void put_labels(const struct ct_profile *p, const struct ct_sample *s, FILE *to)
{
	const struct ct_label_set *set = &p->label_sets[s->label_set];
	struct ct_label *labels = ct_memory_alloc((set->count + 1) * sizeof(*labels));

	memcpy(labels, p->labels + set->first, set->count * sizeof(*labels));
	qsort_r(labels, set->count, sizeof(*labels), by_key, (void *)p);
	for (int numbers = 0; numbers < 2; numbers++) {
		const char *before = "                ";

		for (uint32_t i = 0; i < set->count; i++) {
			if ((labels[i].text == 0) != (numbers == 1))
				continue;
			fputs(before, to);
			put_label(p, &labels[i], to);
			before = " ";
		}
		if (*before && !before[1])
			fputc('\n', to);
	}
	free(labels);
}

/* Locations are numbered by their first mention, and only mentioned ones are shown. The result has
 * the number of each location, 0 for none; ORDER gets the locations.
 */
static uint32_t *number(const struct ct_profile *p, uint32_t **order, uint32_t *count)
{
	uint32_t *numbers = ct_memory_alloc((p->location_count + 1) * sizeof(*numbers));

	*order = ct_memory_alloc((p->location_count + 1) * sizeof(**order));
	*count = 0;
	for (size_t i = 0; i < p->sample_count; i++) {
		const uint32_t *frames = ct_frames(p, &p->samples[i]);

		for (uint32_t j = 0; j < p->samples[i].depth; j++) {
			if (numbers[frames[j]])
				continue;
			(*order)[(*count)++] = frames[j];
			numbers[frames[j]] = *count;
		}
	}
	return numbers;
}

static void put_samples(const struct ct_profile *p, const uint32_t *numbers, FILE *to)
{
	fputs("Samples:\n", to);
	for (size_t i = 0; i < p->type_count; i++) {
		fputs(i ? " " : "", to);
		text(p, p->types[i].type, to);
		fputc('/', to);
		text(p, p->types[i].unit, to);
		if (p->default_type && p->default_type == p->types[i].type)
			fputs("[dflt]", to);
	}
	fputc('\n', to);
	for (size_t i = 0; i < p->sample_count; i++) {
		const struct ct_sample *s = &p->samples[i];

		for (size_t j = 0; j < p->type_count; j++)
			fprintf(to, " %10" PRId64, ct_values(p, i)[j]);
		fputs(": ", to);
		for (uint32_t j = 0; j < s->depth; j++)
			fprintf(to, "%u ", numbers[ct_frames(p, s)[j]]);
		fputc('\n', to);
		put_labels(p, s, to);
	}
}

static void put_line(const struct ct_profile *p, const struct ct_line *line, FILE *to)
{
	static const struct ct_function none = { 0 };
	const struct ct_function *f =
		line->function == CT_NONE ? &none : &p->functions[line->function];

	text(p, f->name, to);
	fputc(' ', to);
	text(p, f->filename, to);
	fprintf(to, ":%" PRId64 " s=%" PRId64, line->line, f->start_line);
	if (f->system_name && strcmp(ct_text(p, f->system_name), ct_text(p, f->name)) != 0) {
		fputc('(', to);
		text(p, f->system_name, to);
		fputc(')', to);
	}
	fputc('\n', to);
}

static void put_locations(const struct ct_profile *p, const uint32_t *order, uint32_t count,
			  FILE *to)
{
	fputs("Locations\n", to);
	for (uint32_t i = 0; i < count; i++) {
		const struct ct_location *l = &p->locations[order[i]];

		fprintf(to, "%6u: 0x%" PRIx64 " ", i + 1, l->address);
		if (l->mapping != CT_NONE)
			fprintf(to, "M=%u ", l->mapping + 1);
		if (l->folded)
			fputs("[F] ", to);
		if (!l->line_count)
			fputc('\n', to);
		for (uint32_t j = 0; j < l->line_count; j++) {
			fprintf(to, "%*s", j ? 13 : 0, "");
			put_line(p, &p->lines[l->first_line + j], to);
		}
	}
}

static void put_mappings(const struct ct_profile *p, FILE *to)
{
	fputs("Mappings\n", to);
	for (size_t i = 0; i < p->mapping_count; i++) {
		const struct ct_mapping *m = &p->mappings[i];

		fprintf(to, "%zu: 0x%" PRIx64 "/0x%" PRIx64 "/0x%" PRIx64 " ", i + 1, m->start,
			m->limit, m->offset);
		text(p, m->file, to);
		fputc(' ', to);
		text(p, m->build_id, to);
		fprintf(to, " %s%s%s%s\n", m->has_functions ? "[FN]" : "",
			m->has_filenames ? "[FL]" : "", m->has_lines ? "[LN]" : "",
			m->has_inlines ? "[IN]" : "");
	}
}

void ct_convert_text(const void *context, FILE *to)
{
	const struct ct_convert *what = context;

	uint32_t *order, count, *numbers = number(what->profile, &order, &count);

	put_header(what->profile, to);
	put_samples(what->profile, numbers, to);
	put_locations(what->profile, order, count, to);
	put_mappings(what->profile, to);
	free(numbers);
	free(order);
}
