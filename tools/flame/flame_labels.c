/* SPDX-License-Identifier: BSD-3-Clause */
/* See flame.h. */
#include "flame/flame.h"

#include <inttypes.h>
#include <stdlib.h>

#include "core/core.h"

static uint32_t value_text(struct ct_profile *pool, const struct ct_profile *p,
			   const struct ct_label *l)
{
	const char *unit = ct_text(p, l->unit);
	uint32_t string;
	char *text;

	if (l->text)
		return ct_model_string(pool, ct_text(p, l->text));
	text = ct_memory_printf("%" PRId64 "%s%s", l->number, *unit ? " " : "", unit);
	string = ct_model_string(pool, text);
	free(text);
	return string;
}

/* By label: its key and value in the pool. */
static struct ct_label *as_text(struct ct_profile *pool, const struct ct_profile *p)
{
	struct ct_label *labels = ct_memory_realloc(NULL, p->label_count + 1, sizeof(*labels));

	for (size_t i = 0; i < p->label_count; i++)
		labels[i] = (struct ct_label){
			.key = ct_model_string(pool, ct_text(p, p->labels[i].key)),
			.text = value_text(pool, p, &p->labels[i]),
		};
	return labels;
}

/* Counts the values of each key. The result is indexed by string of the pool. */
static uint32_t *count_values(const struct ct_profile *pool, const struct ct_label *labels,
			      size_t count)
{
	uint32_t *values = ct_memory_alloc((pool->string_count + 1) * sizeof(*values));
	struct ct_flame_map seen = { 0 };

	for (size_t i = 0; i < count; i++) {
		uint32_t *at = ct_flame_map_at(
			&seen, (struct ct_flame_key){ labels[i].key, labels[i].text, 0 });

		if (*at == CT_NONE)
			values[labels[i].key]++;
		*at = 0;
	}
	ct_flame_map_release(&seen);
	return values;
}

uint32_t *ct_flame_labels_sets(struct ct_profile *pool, const struct ct_profile *p,
			       size_t *left_out)
{
	uint32_t *sets = ct_memory_realloc(NULL, p->label_set_count + 1, sizeof(*sets));
	struct ct_label *labels = as_text(pool, p), *kept = NULL;
	uint32_t *values = count_values(pool, labels, p->label_count);
	size_t room = 0;

	for (size_t i = 0; i < p->label_set_count; i++) {
		const struct ct_label_set *set = &p->label_sets[i];
		size_t n = 0;

		for (uint32_t j = set->first; j < set->first + set->count; j++)
			if (values[labels[j].key] <= CT_FLAME_LABEL_VALUES)
				*CT_PUSH(kept, n, room) = labels[j];
		sets[i] = ct_model_label_set(pool, kept, n);
	}
	for (size_t i = 0; i < pool->string_count; i++)
		*left_out += values[i] > CT_FLAME_LABEL_VALUES;
	free(kept);
	free(labels);
	free(values);
	return sets;
}
