/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the unit of each numeric label: the first unit that a sample gives it, else the one that
 * follows from its name; see model.h.
 */
#include <stdlib.h>
#include <string.h>

#include "core/model.h"
#include "core/core.h"

static const char *inferred(const char *key)
{
	return !strcmp(key, "alignment") || !strcmp(key, "request") ? "bytes" : key;
}

void ct_label_units_init(struct ct_label_units *u, const struct ct_profile *p)
{
	u->count = p->string_count;
	u->units = ct_memory_alloc(u->count * sizeof(*u->units));
	/* Label sets are in the order of the samples that first used them. */
	for (size_t i = 0; i < p->label_count; i++) {
		const struct ct_label *l = &p->labels[i];

		if (l->text || (!l->number && !l->unit))
			continue;
		if (!u->units[l->key] || !*u->units[l->key])
			u->units[l->key] = ct_text(p, l->unit);
	}
	for (size_t i = 0; i < u->count; i++)
		if (u->units[i] && !*u->units[i])
			u->units[i] = inferred(p->strings[i]);
}

void ct_label_units_release(struct ct_label_units *u)
{
	free(u->units);
}

const char *ct_label_units_of(const struct ct_label_units *u, uint32_t key)
{
	return key < u->count && u->units[key] ? u->units[key] : "";
}
