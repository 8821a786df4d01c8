/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints a profile's contents as text that a shell test can grep. */
#include "pprof-check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* One function's row; LAST is the last sample that counted for it, plus one. */
struct row {
	const char *name;
	int64_t flat, cum;
	size_t last;
};

struct rows {
	struct row **slots; /* by hash of the name, linear probing */
	size_t slot_count, count;
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Name of line K (0: innermost) of a location; BUFFER for one that has none. */
static const char *line_name(const struct pcheck_profile *p, const struct pcheck_location *l,
			     size_t k, char *buffer, size_t size)
{
	const struct pcheck_function *f =
		k < l->line_count ? pcheck_function(p, l->lines[k].function) : NULL;
	const struct pcheck_mapping *m = pcheck_mapping(p, l->mapping);

	if (f)
		return pcheck_text(p, f->name);
	if (m)
		snprintf(buffer, size, "%s+0x%" PRIx64, base_name(pcheck_text(p, m->path)),
			 l->address - m->start + m->offset);
	else
		snprintf(buffer, size, "0x%" PRIx64, l->address);
	return buffer;
}

static size_t lines_of(const struct pcheck_location *l)
{
	return l->line_count ? l->line_count : 1;
}

static void grow_rows(struct rows *t)
{
	struct rows old = *t;

	t->slot_count = old.slot_count ? old.slot_count * 2 : 1024;
	t->slots = calloc(t->slot_count, sizeof(*t->slots));
	if (!t->slots)
		exit(2);
	for (size_t i = 0; i < old.slot_count; i++) {
		size_t h = 5381;

		if (!old.slots[i])
			continue;
		for (const char *c = old.slots[i]->name; *c; c++)
			h = h * 33 + (unsigned char)*c;
		while (t->slots[h & (t->slot_count - 1)])
			h++;
		t->slots[h & (t->slot_count - 1)] = old.slots[i];
	}
	free(old.slots);
}

static struct row *row_of(struct rows *t, const char *name)
{
	size_t h = 5381;
	struct row **slot;

	if (t->count * 2 >= t->slot_count)
		grow_rows(t);
	for (const char *c = name; *c; c++)
		h = h * 33 + (unsigned char)*c;
	for (;; h++) {
		slot = &t->slots[h & (t->slot_count - 1)];
		if (!*slot || !strcmp((*slot)->name, name))
			break;
	}
	if (!*slot) {
		*slot = calloc(1, sizeof(**slot));
		if (!*slot)
			exit(2);
		(*slot)->name = strdup(name);
		t->count++;
	}
	return *slot;
}

static size_t default_type(const struct pcheck_profile *p)
{
	for (size_t i = 0; p->default_type && i < p->type_count; i++)
		if (p->types[i].type == p->default_type)
			return i;
	return p->type_count ? p->type_count - 1 : 0;
}

static int64_t value_of(const struct pcheck_sample *s, size_t type)
{
	return type < s->values.count ? (int64_t)s->values.items[type] : 0;
}

/* A name counts once a sample, however often it is on the stack. */
static void add_sample(const struct pcheck_profile *p, size_t i, int64_t value, struct rows *t)
{
	const struct pcheck_numbers *stack = &p->samples[i].locations;
	char buffer[512];

	for (size_t d = 0; d < stack->count; d++) {
		const struct pcheck_location *l = pcheck_location(p, stack->items[d]);

		for (size_t k = 0; l && k < lines_of(l); k++) {
			struct row *row = row_of(t, line_name(p, l, k, buffer, sizeof(buffer)));

			if (!d && !k)
				row->flat += value;
			if (row->last != i + 1)
				row->cum += value;
			row->last = i + 1;
		}
	}
}

static int by_value(const void *a, const void *b)
{
	const struct row *s = *(struct row *const *)a, *t = *(struct row *const *)b;

	if (s->flat != t->flat)
		return s->flat > t->flat ? -1 : 1;
	if (s->cum != t->cum)
		return s->cum > t->cum ? -1 : 1;
	return strcmp(s->name, t->name);
}

void pcheck_print_top(const struct pcheck_profile *p, size_t n, FILE *out)
{
	size_t type = default_type(p), used = 0;
	struct rows t = { 0 };
	double percent = 0;

	for (size_t i = 0; i < p->sample_count; i++) {
		add_sample(p, i, value_of(&p->samples[i], type), &t);
		percent += (double)value_of(&p->samples[i], type) / 100;
	}
	for (size_t i = 0; i < t.slot_count; i++)
		if (t.slots[i])
			t.slots[used++] = t.slots[i];
	if (used)
		qsort(t.slots, used, sizeof(*t.slots), by_value);
	for (size_t i = 0; i < used; i++) {
		struct row *row = t.slots[i];

		if (!n || i < n)
			fprintf(out, "%" PRId64 " %.2f%% %" PRId64 " %.2f%% %s\n", row->flat,
				percent ? (double)row->flat / percent : 0, row->cum,
				percent ? (double)row->cum / percent : 0, row->name);
		free((char *)row->name);
		free(row);
	}
	free(t.slots);
}

static void print_labels(const struct pcheck_profile *p, const struct pcheck_sample *s, FILE *out)
{
	for (size_t k = 0; k < s->label_count; k++) {
		const struct pcheck_label *l = &s->labels[k];

		fprintf(out, "%s%s=", k ? "," : "", pcheck_text(p, l->key));
		if (l->text)
			fprintf(out, "%s", pcheck_text(p, l->text));
		else
			fprintf(out, "%" PRId64, (int64_t)l->number);
		if (l->unit)
			fprintf(out, "[%s]", pcheck_text(p, l->unit));
	}
	if (!s->label_count)
		fprintf(out, "-");
}

void pcheck_print_stack(const struct pcheck_profile *p, const struct pcheck_sample *s, FILE *out)
{
	char buffer[512];
	const char *between = "";

	for (size_t d = 0; d < s->locations.count; d++) {
		const struct pcheck_location *l = pcheck_location(p, s->locations.items[d]);

		for (size_t k = 0; l && k < lines_of(l); k++) {
			fprintf(out, "%s%s", between, line_name(p, l, k, buffer, sizeof(buffer)));
			between = ";";
		}
	}
}

void pcheck_print_raw(const struct pcheck_profile *p, FILE *out)
{
	for (size_t i = 0; i < p->sample_count; i++) {
		const struct pcheck_sample *s = &p->samples[i];

		for (size_t k = 0; k < s->values.count; k++)
			fprintf(out, "%s%" PRId64, k ? "," : "", (int64_t)s->values.items[k]);
		fprintf(out, "\t");
		print_labels(p, s, out);
		fprintf(out, "\t");
		pcheck_print_stack(p, s, out);
		fprintf(out, "\n");
	}
}

/* Without the "# " that keeps pprof from printing it above each table. */
static const char *comment_of(const struct pcheck_profile *p, size_t i)
{
	const char *text = pcheck_text(p, p->comments.items[i]);

	return text + (strncmp(text, "# ", 2) ? 0 : 2);
}

void pcheck_print_comments(const struct pcheck_profile *p, FILE *out)
{
	for (size_t i = 0; i < p->comments.count; i++)
		fprintf(out, "%s\n", comment_of(p, i));
}

void pcheck_print_totals(const struct pcheck_profile *p, FILE *out)
{
	for (size_t k = 0; k < p->type_count; k++) {
		int64_t sum = 0;

		for (size_t i = 0; i < p->sample_count; i++)
			sum += value_of(&p->samples[i], k);
		fprintf(out, "%s %s %" PRId64 "\n", pcheck_text(p, p->types[k].type),
			pcheck_text(p, p->types[k].unit), sum);
	}
}
