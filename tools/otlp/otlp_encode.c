/* SPDX-License-Identifier: BSD-3-Clause */
/* From a profile in memory to an OTLP message; see otlp.h.
 *
 * A message's size comes before its contents. So each Profile and the dictionary are first only
 * counted, then written; no copy of them is in memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cp-build.h"
#include "otlp/otlp.h"
#include "otlp/otlp.pb-c.h"

#define MESSAGE_MAX ((uint64_t)INT32_MAX) /* protobuf's limit */

struct encoder {
	const struct ct_otlp *what;
	const struct ct_profile *p;
	struct ct_otlp_rows rows;
	struct ct_otlp_tables tables;
	size_t order[64]; /* types in the order of the message */
	uint64_t sizes[64];
	size_t count;
	int32_t type[64], unit[64], period_type, period_unit;
	int32_t *profile_attributes;
	size_t profile_attribute_count, profile_attribute_room;
};

/* The default type comes first, because readers show the first Profile. */
static void choose_types(struct encoder *e)
{
	size_t first = ct_model_default_type(e->p);

	if (e->p->type_count)
		e->order[e->count++] = first;
	for (size_t i = 0; i < e->p->type_count && i < 64; i++)
		if (i != first)
			e->order[e->count++] = i;
}

static int32_t text_index(struct encoder *e, uint32_t string)
{
	return (int32_t)ct_otlp_rows_string(&e->rows, ct_text(e->p, string));
}

static void add_attribute(struct encoder *e, uint32_t number)
{
	*CT_PUSH(e->profile_attributes, e->profile_attribute_count, e->profile_attribute_room) =
		(int32_t)number;
}

static void add_text(struct encoder *e, const char *key, uint32_t string)
{
	if (string)
		add_attribute(e, ct_otlp_rows_text(&e->rows, key, ct_text(e->p, string)));
}

static void take_header(struct encoder *e)
{
	const struct ct_profile *p = e->p;
	struct ct_otlp_value *comments = ct_memory_alloc(p->comment_count * sizeof(*comments));

	for (size_t i = 0; i < p->comment_count; i++)
		comments[i] = ct_otlp_rows_value(&e->rows, ct_text(p, p->comments[i]));
	if (p->comment_count)
		add_attribute(e, ct_otlp_rows_attribute(&e->rows, OTLP_COMMENT, "", comments,
							p->comment_count, true));
	add_text(e, OTLP_DOC_URL, p->doc_url);
	add_text(e, OTLP_DROP_FRAMES, p->drop_frames);
	add_text(e, OTLP_KEEP_FRAMES, p->keep_frames);
	for (size_t i = 0; i < e->count; i++) {
		e->type[i] = text_index(e, p->types[e->order[i]].type);
		e->unit[i] = text_index(e, p->types[e->order[i]].unit);
	}
	e->period_type = text_index(e, p->period_type.type);
	e->period_unit = text_index(e, p->period_type.unit);
	free(comments);
}

/* ---- fields, written or counted ---- */

static void put_data(struct ct_otlp_out *o, const void *data, size_t n)
{
	o->bytes += n;
	if (o->to && n && !o->error && fwrite(data, 1, n, o->to) < n)
		o->error = errno ? -errno : -EIO;
}

static void put_varint(struct ct_otlp_out *o, uint64_t v)
{
	uint8_t bytes[10];
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		bytes[n++] = (uint8_t)v | 0x80;
	bytes[n++] = (uint8_t)v;
	put_data(o, bytes, n);
}

/* Writes the head of a message of SIZE bytes; the caller writes the message. */
static void otlp_out_head(struct ct_otlp_out *o, unsigned field, uint64_t size)
{
	put_varint(o, field << 3 | 2);
	put_varint(o, size);
}

/* Returns the bytes of such a head and its message. */
static uint64_t otlp_out_whole(uint64_t size)
{
	struct ct_otlp_out o = { 0 };

	otlp_out_head(&o, 1, size);
	return o.bytes + size;
}

void ct_otlp_encode_bytes(struct ct_otlp_out *o, unsigned field, const void *data, size_t n)
{
	otlp_out_head(o, field, n);
	put_data(o, data, n);
}

static void put_packed(struct ct_otlp_out *o, const ProtobufCMessage *m, size_t n)
{
	if (!o->to) {
		o->bytes += n;
		return;
	}
	if (n > o->message_room)
		o->message = ct_memory_grow(o->message, &o->message_room, n, 1);
	protobuf_c_message_pack(m, o->message);
	put_data(o, o->message, n);
}

void ct_otlp_encode_message(struct ct_otlp_out *o, unsigned field, const ProtobufCMessage *m)
{
	size_t n = protobuf_c_message_get_packed_size(m);

	otlp_out_head(o, field, n);
	put_packed(o, m, n);
}

/* Writes the fields of M, without M's own field number and size. */
static void otlp_out_fields(struct ct_otlp_out *o, const ProtobufCMessage *m)
{
	put_packed(o, m, protobuf_c_message_get_packed_size(m));
}

static void write_samples(const struct encoder *e, size_t type, struct ct_otlp_out *o)
{
	for (size_t i = 0; i < e->rows.row_count; i++) {
		const struct ct_otlp_row *row = &e->rows.rows[i];
		const struct ct_otlp_set *set = &e->rows.sets[row->set];
		int64_t value = e->rows.values[i * e->p->type_count + type];
		Otlp__Sample m = OTLP__SAMPLE__INIT;

		if (!value)
			continue;
		m.stack = (int32_t)row->stack;
		m.n_attributes = set->count;
		m.attributes = (int32_t *)e->rows.set_attributes + set->first;
		m.link = (int32_t)set->link;
		m.n_values = 1;
		m.values = &value;
		ct_otlp_encode_message(o, OTLP_PROFILE_SAMPLES, &m.base);
	}
}

static void write_profile(const struct encoder *e, size_t i, struct ct_otlp_out *o)
{
	Otlp__ProfileHead head = OTLP__PROFILE_HEAD__INIT;
	Otlp__ValueType type = OTLP__VALUE_TYPE__INIT, period = OTLP__VALUE_TYPE__INIT;

	type.type = e->type[i];
	type.unit = e->unit[i];
	period.type = e->period_type;
	period.unit = e->period_unit;
	head.type = &type;
	head.period_type = period.type || period.unit ? &period : NULL;
	head.period = e->p->period;
	head.time = (uint64_t)e->p->time_nanos;
	head.duration = (uint64_t)e->p->duration_nanos;
	head.n_attributes = e->profile_attribute_count;
	head.attributes = e->profile_attributes;
	otlp_out_fields(o, &head.base);
	write_samples(e, e->order[i], o);
}

static void fill_text(Otlp__KeyValue *to, Otlp__AnyValue *value, const char *key, const char *is)
{
	otlp__key_value__init(to);
	otlp__any_value__init(value);
	to->key = (char *)key;
	to->value = value;
	value->value_case = OTLP__ANY_VALUE__VALUE_TEXT;
	value->text = (char *)is;
}

static void write_resource(const struct encoder *e, struct ct_otlp_out *o)
{
	size_t n = e->what->resource_count;
	Otlp__KeyValue *pairs = ct_memory_alloc(n * sizeof(*pairs));
	Otlp__AnyValue *values = ct_memory_alloc(n * sizeof(*values));
	Otlp__KeyValue **pointers = ct_memory_alloc(n * sizeof(*pointers));
	Otlp__Resource m = OTLP__RESOURCE__INIT;

	for (size_t i = 0; i < n; i++) {
		const struct ct_otlp_attribute *from = &e->what->resource[i];

		fill_text(&pairs[i], &values[i], from->key, from->text);
		if (!from->text) {
			values[i].value_case = OTLP__ANY_VALUE__VALUE_NUMBER;
			values[i].number = from->number;
		}
		pointers[i] = &pairs[i];
	}
	m.n_attributes = n;
	m.attributes = pointers;
	ct_otlp_encode_message(o, OTLP_RESOURCE, &m.base);
	free(pairs);
	free(values);
	free(pointers);
}

static void write_scope(const struct encoder *e, struct ct_otlp_out *o)
{
	Otlp__Scope m = OTLP__SCOPE__INIT;
	Otlp__KeyValue pairs[2], *pointers[2] = { &pairs[0], &pairs[1] };
	Otlp__AnyValue values[2], numbers[64], *number_pointers[64];
	Otlp__ArrayValue list = OTLP__ARRAY_VALUE__INIT;

	for (size_t i = 0; i < e->count; i++) {
		otlp__any_value__init(&numbers[i]);
		numbers[i].value_case = OTLP__ANY_VALUE__VALUE_NUMBER;
		numbers[i].number = (int64_t)e->order[i];
		number_pointers[i] = &numbers[i];
	}
	list.n_values = e->count;
	list.values = number_pointers;
	fill_text(&pairs[0], &values[0], OTLP_TYPE_ORDER, NULL);
	values[0].value_case = OTLP__ANY_VALUE__VALUE_LIST;
	values[0].list = &list;
	fill_text(&pairs[1], &values[1], OTLP_DEFAULT_TYPE, ct_text(e->p, e->p->default_type));
	m.name = (char *)"libcprof";
	m.version = (char *)PACKAGE_VERSION;
	m.n_attributes = e->p->default_type ? 2 : 1;
	m.attributes = pointers;
	ct_otlp_encode_message(o, OTLP_SCOPE, &m.base);
}

/* HEAD writes everything of a ScopeProfiles or ResourceProfiles before its Profiles. */
static uint64_t size_of(const struct encoder *e,
			void (*head)(const struct encoder *e, struct ct_otlp_out *o))
{
	struct ct_otlp_out o = { 0 };

	head(e, &o);
	return o.bytes;
}

static void write_tables(const struct encoder *e, struct ct_otlp_out *o)
{
	ct_otlp_tables_write(&e->tables, o);
}

static int write_all(struct encoder *e, struct ct_otlp_out *o)
{
	uint64_t scope = size_of(e, write_scope), resource, dictionary = size_of(e, write_tables);

	for (size_t i = 0; i < e->count; i++) {
		struct ct_otlp_out counted = { 0 };

		write_profile(e, i, &counted);
		e->sizes[i] = counted.bytes;
		scope += otlp_out_whole(counted.bytes);
	}
	resource = size_of(e, write_resource) + otlp_out_whole(scope);
	if (resource > MESSAGE_MAX || dictionary > MESSAGE_MAX - resource)
		return -EFBIG;
	otlp_out_head(o, OTLP_DATA_RESOURCES, resource);
	write_resource(e, o);
	otlp_out_head(o, OTLP_RESOURCE_SCOPES, scope);
	write_scope(e, o);
	for (size_t i = 0; i < e->count; i++) {
		otlp_out_head(o, OTLP_SCOPE_PROFILES, e->sizes[i]);
		write_profile(e, i, o);
	}
	otlp_out_head(o, OTLP_DATA_DICTIONARY, dictionary);
	write_tables(e, o);
	return o->error;
}

int ct_otlp_encode(const struct ct_otlp *what, FILE *to)
{
	struct encoder *e = ct_memory_alloc(sizeof(*e));
	struct ct_otlp_out o = { .to = to };
	int error;

	e->what = what;
	e->p = what->profile;
	choose_types(e);
	ct_otlp_rows_init(&e->rows, e->p);
	take_header(e);
	ct_otlp_tables_init(&e->tables, &e->rows);
	error = write_all(e, &o);
	free(o.message);
	free(e->profile_attributes);
	ct_otlp_tables_release(&e->tables);
	ct_otlp_rows_release(&e->rows);
	free(e);
	return error;
}
