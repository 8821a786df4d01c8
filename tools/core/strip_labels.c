/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes labels off samples; see model.h. */
#include "core/model.h"

#include <stdlib.h>

#include "core/core.h"

static bool goes(const struct ct_profile *p, const struct ct_label *l, struct ct_regex *only_rx,
		 struct ct_regex *keep_rx)
{
	if (keep_rx && ct_regex_match_string(keep_rx, p, l->key))
		return false;
	return !only_rx || ct_regex_match_string(only_rx, p, l->key);
}

static uint32_t stripped(struct ct_profile *p, uint32_t set, struct ct_regex *only_rx,
			 struct ct_regex *keep_rx)
{
	struct ct_label_set from = p->label_sets[set];
	struct ct_label *left = ct_memory_alloc(from.count * sizeof(*left));
	size_t n = 0;

	for (uint32_t i = 0; i < from.count; i++) {
		const struct ct_label *l = &p->labels[from.first + i];

		if (!goes(p, l, only_rx, keep_rx))
			left[n++] = *l;
	}
	set = ct_model_label_set(p, left, n);
	free(left);
	return set;
}

void ct_strip_labels(struct ct_profile *p, struct ct_regex *only, struct ct_regex *keep)
{
	size_t sets = p->label_set_count;
	uint32_t *to = ct_memory_alloc(sets * sizeof(*to));

	for (uint32_t i = 0; i < sets; i++)
		to[i] = stripped(p, i, only, keep);
	for (size_t i = 0; i < p->sample_count; i++)
		p->samples[i].label_set = to[p->samples[i].label_set];
	free(to);
}
