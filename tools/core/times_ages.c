/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks in use by age, in a window; see times.h. */
#include <stdlib.h>
#include <string.h>

#include "core/report.h"
#include "core/times.h"

/* A sample, and its labels without the age. */
struct item {
	const uint32_t *frames;
	uint32_t depth, set;
	uint32_t sample;
	bool has_age;
};

static int order(const void *x, const void *y)
{
	const struct item *a = x, *b = y;
	int by;

	if (a->set != b->set)
		return a->set < b->set ? -1 : 1;
	if (a->depth != b->depth)
		return a->depth < b->depth ? -1 : 1;
	by = a->depth ? memcmp(a->frames, b->frames, a->depth * sizeof(*a->frames)) : 0;
	return by ? by : a->has_age - b->has_age;
}

/* Returns the set of the labels of SET but the age. */
static uint32_t without_age(struct ct_profile *p, uint32_t set)
{
	struct ct_label_set from = p->label_sets[set];
	struct ct_label *labels = ct_memory_alloc((from.count + 1) * sizeof(*labels));
	uint32_t n = 0;

	for (uint32_t k = 0; k < from.count; k++)
		if (strcmp(ct_text(p, p->labels[from.first + k].key), "age") != 0)
			labels[n++] = p->labels[from.first + k];
	set = n < from.count ? ct_model_label_set(p, labels, n) : set;
	free(labels);
	return set;
}

static struct item *list(struct ct_profile *p)
{
	struct item *items = ct_memory_alloc((p->sample_count + 1) * sizeof(*items));

	for (size_t i = 0; i < p->sample_count; i++) {
		const struct ct_sample *s = &p->samples[i];
		uint32_t set = without_age(p, s->label_set);

		items[i] = (struct item){ .frames = ct_frames(p, s),
					  .depth = s->depth,
					  .set = set,
					  .sample = (uint32_t)i,
					  .has_age = set != s->label_set };
	}
	qsort(items, p->sample_count, sizeof(*items), order);
	return items;
}

static void add_values(struct ct_profile *p, size_t to, size_t from)
{
	for (size_t type = 0; type < p->type_count; type++) {
		ct_values(p, to)[type] = ct_add(ct_values(p, to)[type], ct_values(p, from)[type]);
		ct_values(p, from)[type] = 0;
	}
}

void ct_times_ages_join(struct ct_profile *p)
{
	struct item *items = list(p);

	for (size_t i = 0, first = 0; i < p->sample_count; i++) {
		const struct item *a = &items[first], *b = &items[i];

		if (a->set != b->set || a->depth != b->depth ||
		    (a->depth && memcmp(a->frames, b->frames, a->depth * sizeof(*a->frames)) != 0))
			first = i;
		else if (b->has_age && !a->has_age)
			add_values(p, a->sample, b->sample);
	}
	free(items);
}
