/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the samples of an OTLP message; see otlp_decoder.h.
 *
 * Each Profile of the message has one type; samples of the same stack and labels become one sample
 * with a value for each type.
 */
#include <errno.h>
#include <string.h>

#include "core/memory.h"
#include "core/numbers.h"
#include "otlp/otlp.h"
#include "otlp/otlp_decoder.h"
#include "otlp/otlp_fields.h"
#include "otlp/otlp_names.h"

#define MAX_SAMPLES ((size_t)1 << 26)
#define MAX_FRAMES ((size_t)1 << 28)

static int bad(struct ct_otlp_decoder *t, const char *what)
{
	return ct_otlp_dictionary_bad(&t->d, what);
}

static void add_label(struct ct_otlp_decoder *t, const char *key, const char *text, int64_t number,
		      const char *unit)
{
	struct ct_label l = { .key = ct_model_string(t->d.p, key), .number = number };

	if (text)
		l.text = ct_model_string(t->d.p, text);
	else
		l.unit = ct_model_string(t->d.p, unit);
	*CT_PUSH(t->labels, t->label_count, t->label_room) = l;
}

void ct_otlp_samples_label(struct ct_otlp_decoder *t, const char *key, const Otlp__AnyValue *v,
			   const char *unit)
{
	const char *text = ct_otlp_dictionary_value(&t->d, v);
	char real[32];

	if (text) {
		add_label(t, key, text, 0, "");
	} else if (v->value_case == OTLP__ANY_VALUE__VALUE_NUMBER) {
		add_label(t, key, NULL, v->number, unit);
	} else if (v->value_case == OTLP__ANY_VALUE__VALUE_TRUTH) {
		add_label(t, key, v->truth ? "true" : "false", 0, "");
	} else if (v->value_case == OTLP__ANY_VALUE__VALUE_REAL) {
		snprintf(real, sizeof(real), "%.17g", v->real);
		add_label(t, key, real, 0, "");
	} else if (v->value_case == OTLP__ANY_VALUE__VALUE_LIST) {
		for (size_t i = 0; i < v->list->n_values; i++)
			if (v->list->values[i]->value_case != OTLP__ANY_VALUE__VALUE_LIST)
				ct_otlp_samples_label(t, key, v->list->values[i], unit);
	}
}

static void add_hex(struct ct_otlp_decoder *t, const char *key, const ProtobufCBinaryData *id)
{
	char text[2 * 32 + 1] = "";

	for (size_t i = 0; i < id->len && i < 32; i++)
		snprintf(text + 2 * i, 3, "%02x", id->data[i]);
	if (id->len)
		add_label(t, key, text, 0, "");
}

static bool is_zero(const ProtobufCBinaryData *id)
{
	for (size_t i = 0; i < id->len; i++)
		if (id->data[i])
			return false;
	return true;
}

static int take_labels(struct ct_otlp_decoder *t, const Otlp__Sample *s, uint32_t *set)
{
	t->label_count = 0;
	for (size_t i = 0; i < s->n_attributes; i++) {
		const Otlp__Attribute *a = ct_otlp_dictionary_attribute(&t->d, s->attributes[i]);

		if (!a && s->attributes[i])
			return bad(t, "a sample has an attribute that is not there");
		if (a && a->value)
			ct_otlp_samples_label(
				t, ct_otlp_names_label(ct_otlp_dictionary_text(&t->d, a->key)),
				a->value,
				ct_otlp_names_unit(ct_otlp_dictionary_text(&t->d, a->unit)));
	}
	if (s->link < 0 || (s->link && (size_t)s->link >= t->d.link_count))
		return bad(t, "a sample has a link that is not there");
	if (s->link && !is_zero(&t->d.links[s->link]->trace_id)) {
		add_hex(t, CT_OTLP_TRACE_LABEL, &t->d.links[s->link]->trace_id);
		add_hex(t, CT_OTLP_SPAN_LABEL, &t->d.links[s->link]->span_id);
	}
	for (size_t i = 0; i < t->of_resource_count; i++)
		*CT_PUSH(t->labels, t->label_count, t->label_room) = t->of_resource[i];
	*set = ct_model_label_set(t->d.p, t->labels, t->label_count);
	return 0;
}

struct row {
	uint32_t stack, set;
};

static bool same_row(const void *context, uint32_t index, const void *key)
{
	const struct ct_otlp_decoder *t = context;
	const struct row *r = key;

	return t->row_stack[index] == r->stack && t->d.p->samples[index].label_set == r->set;
}

static int take_row(struct ct_otlp_decoder *t, const struct row *row, uint32_t *index)
{
	uint64_t hash = ct_hash(ct_hash(0, row->stack), row->set);
	int64_t zeros[OTLP_MAX_TYPES] = { 0 };
	size_t depth;
	int r;

	*index = ct_table_find(&t->rows, hash, same_row, t, row);
	if (*index != UINT32_MAX)
		return 0;
	r = ct_otlp_dictionary_stack(&t->d, (int32_t)row->stack, &t->frames, &t->frame_room,
				     &depth);
	if (r)
		return r;
	if (t->d.p->sample_count >= MAX_SAMPLES || t->d.p->frame_count + depth > MAX_FRAMES) {
		ct_input_fault_say(t->d.fault, 0, "OTLP: too many samples");
		return -EFBIG;
	}
	*index = ct_model_add_sample(t->d.p, t->frames, depth, zeros, row->set);
	*CT_PUSH(t->row_stack, t->row_count, t->row_room) = row->stack;
	ct_table_add(&t->rows, hash, *index);
	return 0;
}

/* One event is a value, or a timestamp if there are no values. */
static int64_t sum(const Otlp__Sample *s)
{
	int64_t v = 0;

	if (!s->n_values)
		return (int64_t)s->n_timestamps;
	for (size_t i = 0; i < s->n_values; i++)
		v = ct_add(v, s->values[i]);
	return v;
}

static int fill(struct ct_otlp_decoder *t, const Otlp__Sample *s, size_t type)
{
	struct row row = { .stack = (uint32_t)s->stack };
	int64_t *value;
	uint32_t index;
	int r = take_labels(t, s, &row.set);

	if (!r)
		r = take_row(t, &row, &index);
	if (r)
		return r;
	value = &ct_values(t->d.p, index)[type];
	*value = ct_add(*value, sum(s));
	return 0;
}

int ct_otlp_samples_take(struct ct_otlp_decoder *t, struct ct_otlp_bytes body, size_t type)
{
	Otlp__Sample *s = otlp__sample__unpack(NULL, body.size, body.at);
	int r;

	if (!s)
		return bad(t, "a sample is malformed");
	r = fill(t, s, type);
	otlp__sample__free_unpacked(s, NULL);
	return r;
}
