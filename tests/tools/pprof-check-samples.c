/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules about samples and their labels. */
#include "pprof-check.h"

#include <stdlib.h>
#include <string.h>

struct pcheck_location *pcheck_location(const struct pcheck_profile *p, uint64_t id)
{
	return id - 1 < p->location_count ? &p->locations[id - 1] : NULL;
}

static void check_stack(struct pcheck_profile *p, size_t i, struct pcheck_report *r)
{
	const struct pcheck_numbers *stack = &p->samples[i].locations;

	if (!stack->count)
		pcheck_bad(r, "no-location", "sample %zu", i);
	for (size_t k = 0; k < stack->count; k++) {
		struct pcheck_location *l = pcheck_location(p, stack->items[k]);

		if (l)
			l->used = true;
		else
			pcheck_bad(r, "reference", "sample %zu: there is no location %llu", i,
				   (unsigned long long)stack->items[k]);
	}
}

static void check_values(const struct pcheck_profile *p, size_t i, struct pcheck_report *r)
{
	const struct pcheck_numbers *v = &p->samples[i].values;
	bool some = false;

	if (v->count != p->type_count)
		pcheck_bad(r, "value-count", "sample %zu: %zu values for %zu types", i, v->count,
			   p->type_count);
	for (size_t k = 0; k < v->count; k++) {
		some |= v->items[k] != 0;
		if ((int64_t)v->items[k] < 0)
			pcheck_bad(r, "negative", "sample %zu: value %zu is %lld", i, k,
				   (long long)v->items[k]);
	}
	if (!some)
		pcheck_bad(r, "all-zero", "sample %zu", i);
}

/* Keys that readers know by what they hold. */
static void check_known_label(const struct pcheck_profile *p, const struct pcheck_label *l,
			      struct pcheck_report *r)
{
	const char *key = pcheck_text(p, l->key);

	if (!strcmp(key, "thread") && !l->text)
		pcheck_bad(r, "label-type", "thread is no text");
	if (!strcmp(key, "tid") && l->text)
		pcheck_bad(r, "label-type", "tid is no number");
	if (!strcmp(key, "bytes") && (l->text || strcmp(pcheck_text(p, l->unit), "bytes")))
		pcheck_bad(r, "label-type", "bytes is no number of bytes");
}

static void check_labels(const struct pcheck_profile *p, size_t i, struct pcheck_report *r)
{
	const struct pcheck_sample *s = &p->samples[i];

	for (size_t k = 0; k < s->label_count; k++) {
		const struct pcheck_label *l = &s->labels[k];
		const char *key = pcheck_text(p, l->key);

		if (!*key || !strncmp(key, "pprof::", 7))
			pcheck_bad(r, "label-key", "sample %zu: \"%s\"", i, key);
		if (l->text && (l->number || l->unit))
			pcheck_bad(r, "label-both", "sample %zu: %s is text and number", i, key);
		for (size_t j = 0; j < k; j++)
			if (!strcmp(key, pcheck_text(p, s->labels[j].key)))
				pcheck_bad(r, "label-twice", "sample %zu: %s", i, key);
		check_known_label(p, l, r);
	}
}

static int compare_numbers(const uint64_t *a, size_t n, const uint64_t *b, size_t m)
{
	if (n != m)
		return n < m ? -1 : 1;
	return n ? memcmp(a, b, n * sizeof(*a)) : 0;
}

static int by_label(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct pcheck_label));
}

static int by_stack_and_labels(const void *a, const void *b)
{
	const struct pcheck_sample *s = a, *t = b;
	int c = compare_numbers(s->locations.items, s->locations.count, t->locations.items,
				t->locations.count);

	return c ? c
		 : compare_numbers((const uint64_t *)s->labels, s->label_count * 4,
				   (const uint64_t *)t->labels, t->label_count * 4);
}

/* On sorted copies: the order of labels makes no difference, that of samples is kept. */
static void check_distinct(const struct pcheck_profile *p, struct pcheck_report *r)
{
	size_t n = p->sample_count;
	struct pcheck_sample *sorted = calloc(n + 1, sizeof(*sorted));

	for (size_t i = 0; sorted && i < n; i++) {
		size_t bytes = p->samples[i].label_count * sizeof(struct pcheck_label);

		sorted[i] = p->samples[i];
		sorted[i].labels = malloc(bytes + 1);
		if (!sorted[i].labels)
			exit(2);
		if (!bytes)
			continue;
		memcpy(sorted[i].labels, p->samples[i].labels, bytes);
		qsort(sorted[i].labels, sorted[i].label_count, sizeof(struct pcheck_label),
		      by_label);
	}
	if (!sorted)
		exit(2);
	qsort(sorted, n, sizeof(*sorted), by_stack_and_labels);
	for (size_t i = 1; i < n; i++)
		if (!by_stack_and_labels(&sorted[i - 1], &sorted[i]))
			pcheck_bad(r, "duplicate-sample", "a stack of %zu with the same labels",
				   sorted[i].locations.count);
	for (size_t i = 0; i < n; i++)
		free(sorted[i].labels);
	free(sorted);
}

void pcheck_samples(struct pcheck_profile *p, struct pcheck_report *r)
{
	for (size_t i = 0; i < p->sample_count; i++) {
		check_stack(p, i, r);
		check_values(p, i, r);
		check_labels(p, i, r);
	}
	check_distinct(p, r);
}
