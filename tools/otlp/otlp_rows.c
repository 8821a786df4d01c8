/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums samples of equal stack and labels, and numbers stacks and attributes; see otlp.h. */
#include "otlp/otlp.h"

#include <stdlib.h>

#include "base/text.h"

static bool same_stack(const void *context, uint32_t index, const void *key)
{
	const struct ct_otlp_rows *r = context;
	const struct ct_sample *a = &r->p->samples[r->stack_sample[index]], *b = key;

	return a->depth == b->depth &&
	       !memcmp(ct_frames(r->p, a), ct_frames(r->p, b), a->depth * sizeof(uint32_t));
}

/* A sample without frames has stack 0. */
static uint32_t take_stack(struct ct_otlp_rows *r, uint32_t sample)
{
	const struct ct_sample *s = &r->p->samples[sample];
	uint64_t hash = ct_table_hash_words(0, ct_frames(r->p, s), s->depth);
	uint32_t index;

	if (!s->depth)
		return 0;
	index = ct_table_find(&r->stack_table, hash, same_stack, r, s);
	if (index == UINT32_MAX) {
		index = (uint32_t)r->stack_count;
		*CT_PUSH(r->stack_sample, r->stack_count, r->stack_room) = sample;
		ct_table_add(&r->stack_table, hash, index);
	}
	return index + 1;
}

static bool same_row(const void *context, uint32_t index, const void *key)
{
	const struct ct_otlp_row *a = &((const struct ct_otlp_rows *)context)->rows[index];
	const struct ct_otlp_row *b = key;

	return a->stack == b->stack && a->set == b->set;
}

static void take_sample(struct ct_otlp_rows *r, uint32_t sample)
{
	struct ct_otlp_row row = { take_stack(r, sample), r->p->samples[sample].label_set };
	uint64_t hash = ct_hash(ct_hash(0, row.stack), row.set);
	uint32_t index = ct_table_find(&r->row_table, hash, same_row, r, &row);
	size_t types = r->p->type_count;

	if (index == UINT32_MAX) {
		index = (uint32_t)r->row_count;
		*CT_PUSH(r->rows, r->row_count, r->row_room) = row;
		ct_table_add(&r->row_table, hash, index);
	}
	for (size_t t = 0; t < types; t++)
		r->values[index * types + t] =
			ct_add(r->values[index * types + t], ct_values(r->p, sample)[t]);
}

static bool same_entry(const void *context, uint32_t index, const void *key)
{
	const struct ct_otlp_rows *r = context;
	const struct ct_otlp_entry *a = &r->entries[index], *b = key;

	if (a->key != b->key || a->unit != b->unit || a->count != b->count || a->list != b->list)
		return false;
	for (uint32_t i = 0; i < a->count; i++) {
		const struct ct_otlp_value *x = &r->entry_values[a->first + i];
		const struct ct_otlp_value *y = &r->entry_values[b->first + i];

		if (x->text != y->text || x->truth != y->truth || x->number != y->number)
			return false;
	}
	return true;
}

static uint32_t intern(struct ct_profile *pool, const char *text)
{
	char *valid = NULL;
	uint32_t index;

	for (size_t i = 0, left = strlen(text), n; i < left; i += n) {
		const unsigned char c = (unsigned char)text[i];
		bool safe, bad;

		n = cp_text_character(text + i, left - i, &safe);
		bad = !n || (n == 1 && (c < 0x20 || c >= 0x80));
		n += !n;
		if (bad && !valid)
			valid = ct_memory_strdup(text);
		if (bad)
			valid[i] = '?';
	}
	index = ct_model_string(pool, valid ? valid : text);
	free(valid);
	return index;
}

uint32_t ct_otlp_rows_string(struct ct_otlp_rows *r, const char *text)
{
	return intern(r->texts, text);
}

uint32_t ct_otlp_rows_attribute(struct ct_otlp_rows *r, const char *key, const char *unit,
				const struct ct_otlp_value *values, size_t count, bool list)
{
	struct ct_otlp_entry e = { .key = ct_otlp_rows_string(r, key),
				   .unit = ct_otlp_rows_string(r, unit),
				   .first = (uint32_t)r->value_count,
				   .count = (uint32_t)count,
				   .list = list };
	uint64_t hash = ct_hash(ct_hash(e.key, e.unit), count);
	uint32_t index;

	for (size_t i = 0; i < count; i++) {
		*CT_PUSH(r->entry_values, r->value_count, r->value_room) = values[i];
		hash = ct_hash(ct_hash(hash, values[i].text), (uint64_t)values[i].number);
	}
	index = ct_table_find(&r->entry_table, hash, same_entry, r, &e);
	if (index == UINT32_MAX) {
		index = (uint32_t)r->entry_count;
		*CT_PUSH(r->entries, r->entry_count, r->entry_room) = e;
		ct_table_add(&r->entry_table, hash, index);
	} else {
		r->value_count = e.first;
	}
	return index + 1;
}

struct ct_otlp_value ct_otlp_rows_value(struct ct_otlp_rows *r, const char *text)
{
	return (struct ct_otlp_value){ .text = intern(r->value_texts, text) + 1 };
}

uint32_t ct_otlp_rows_text(struct ct_otlp_rows *r, const char *key, const char *text)
{
	struct ct_otlp_value v = ct_otlp_rows_value(r, text);

	return ct_otlp_rows_attribute(r, key, "", &v, 1, false);
}

uint32_t ct_otlp_rows_true(struct ct_otlp_rows *r, const char *key)
{
	struct ct_otlp_value v = { .truth = true, .number = 1 };

	return ct_otlp_rows_attribute(r, key, "", &v, 1, false);
}

void ct_otlp_rows_init(struct ct_otlp_rows *r, const struct ct_profile *p)
{
	*r = (struct ct_otlp_rows){ .p = p,
				    .texts = ct_model_new(),
				    .value_texts = ct_model_new() };
	r->values = ct_memory_alloc(p->sample_count * p->type_count * sizeof(*r->values) + 1);
	for (size_t i = 0; i < p->sample_count; i++)
		take_sample(r, (uint32_t)i);
	ct_otlp_sets_take(r);
}

void ct_otlp_rows_release(struct ct_otlp_rows *r)
{
	ct_model_free(r->texts);
	ct_model_free(r->value_texts);
	free(r->rows);
	free(r->values);
	free(r->stack_sample);
	free(r->entries);
	free(r->entry_values);
	free(r->links);
	free(r->sets);
	free(r->set_attributes);
	ct_table_release(&r->stack_table);
	ct_table_release(&r->row_table);
	ct_table_release(&r->entry_table);
	ct_table_release(&r->link_table);
}
