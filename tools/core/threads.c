/* SPDX-License-Identifier: BSD-3-Clause */
/* -threads: samples by thread; see model.h. */
#include "core/model.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *asked; /* NULL: not; "tid": threads of one name apart */

const struct ct_option ct_threads_options[] = {
	CT_MAYBE("threads", "tid", &asked,
		 "each thread separately, by name; tid: those of one name, too"),
	CT_END
};

bool ct_threads_wanted(void)
{
	return asked && strcmp(asked, "false") != 0 && strcmp(asked, "0") != 0;
}

/* Returns the set of labels SET with the thread's id in its name. */
static uint32_t with_id(struct ct_profile *p, uint32_t set)
{
	struct ct_label_set from = p->label_sets[set];
	const struct ct_label *name = ct_model_label(p, set, "thread"),
			      *id = ct_model_label(p, set, "tid");
	struct ct_label *labels;
	char *text;

	if (!name || !name->text || !id || id->text)
		return set;
	labels = ct_memory_alloc(from.count * sizeof(*labels));
	memcpy(labels, p->labels + from.first, from.count * sizeof(*labels));
	text = ct_memory_printf("%s %" PRId64, ct_text(p, name->text), id->number);
	labels[name - (p->labels + from.first)].text = ct_model_string(p, text);
	set = ct_model_label_set(p, labels, from.count);
	free(labels);
	free(text);
	return set;
}

void ct_threads_apart(struct ct_profile *p)
{
	size_t count = p->label_set_count;
	uint32_t *sets;

	if (!asked || strcmp(asked, "tid") != 0)
		return;
	sets = ct_memory_alloc((count + 1) * sizeof(*sets));
	for (size_t i = 0; i < count; i++)
		sets[i] = with_id(p, (uint32_t)i);
	for (size_t i = 0; i < p->sample_count; i++)
		p->samples[i].label_set = sets[p->samples[i].label_set];
	free(sets);
}
