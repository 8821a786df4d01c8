/* SPDX-License-Identifier: BSD-3-Clause */
/* From an OTLP message to a profile in memory; see otlp.h.
 *
 * The dictionary is read first, then the types of all Profiles, because a sample has room for a
 * value of each, then the samples.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/notes.h"
#include "otlp/otlp.h"
#include "otlp/otlp_decoder.h"
#include "otlp/otlp_fields.h"

typedef int on_message(struct ct_otlp_decoder *t, struct ct_otlp_bytes body);

static int bad(struct ct_otlp_decoder *t, const char *what)
{
	return ct_otlp_dictionary_bad(&t->d, what);
}

/* Calls TAKE for each message in FIELD of B. */
static int each(struct ct_otlp_decoder *t, struct ct_otlp_bytes b, unsigned field, on_message *take)
{
	struct ct_otlp_cursor c = ct_otlp_cursor_of(b);
	int r;

	while ((r = ct_otlp_cursor_next(&c)) > 0) {
		if (c.field != field)
			continue;
		r = c.is_message ? take(t, c.body)
				 : bad(t, "a number stands where a message belongs");
		if (r)
			return r;
	}
	return r ? bad(t, "the data ends in the middle, or is malformed") : 0;
}

/* Unpacks a Profile without its samples, which are most of it. */
static Otlp__ProfileHead *read_head(struct ct_otlp_bytes b)
{
	struct ct_otlp_cursor c = ct_otlp_cursor_of(b);
	Otlp__ProfileHead *head = NULL;
	uint8_t *some = NULL;
	size_t n = 0, room = 0;
	int r;

	for (const uint8_t *from = c.at; (r = ct_otlp_cursor_next(&c)) > 0; from = c.at) {
		size_t size = (size_t)(c.at - from);

		if (c.field == OTLP_PROFILE_SAMPLES)
			continue;
		if (n + size > room)
			some = ct_memory_grow(some, &room, n + size, 1);
		memcpy(some + n, from, size);
		n += size;
	}
	if (!r)
		head = otlp__profile_head__unpack(NULL, n, some);
	free(some);
	return head;
}

static int type_of(struct ct_otlp_decoder *t, const Otlp__ValueType *from, struct ct_type *to)
{
	*to = (struct ct_type){ 0, 0 };
	if (!from)
		return 0;
	if (!ct_otlp_dictionary_text(&t->d, from->type) ||
	    !ct_otlp_dictionary_text(&t->d, from->unit))
		return bad(t, "a string index is out of range");
	*to = (struct ct_type){ (uint32_t)from->type, (uint32_t)from->unit };
	return 0;
}

static size_t find_type(const struct ct_profile *p, const struct ct_type *types, size_t count,
			struct ct_type type)
{
	size_t i = 0;

	while (i < count && (strcmp(ct_text(p, types[i].type), ct_text(p, type.type)) != 0 ||
			     strcmp(ct_text(p, types[i].unit), ct_text(p, type.unit)) != 0))
		i++;
	return i;
}

static void take_profile_attribute(struct ct_otlp_decoder *t, const char *key,
				   const Otlp__AnyValue *v)
{
	struct ct_profile *p = t->d.p;
	const char *text = ct_otlp_dictionary_value(&t->d, v);

	if (!strcmp(key, OTLP_COMMENT) && v && v->value_case == OTLP__ANY_VALUE__VALUE_LIST)
		for (size_t i = 0; i < v->list->n_values; i++) {
			text = ct_otlp_dictionary_value(&t->d, v->list->values[i]);
			if (text)
				ct_model_add_comment(p, ct_model_string(p, text));
		}
	else if (text && !strcmp(key, OTLP_COMMENT))
		ct_model_add_comment(p, ct_model_string(p, text));
	else if (text && !strcmp(key, OTLP_DOC_URL))
		p->doc_url = ct_model_string(p, text);
	else if (text && !strcmp(key, OTLP_DROP_FRAMES))
		p->drop_frames = ct_model_string(p, text);
	else if (text && !strcmp(key, OTLP_KEEP_FRAMES))
		p->keep_frames = ct_model_string(p, text);
}

/* The first Profile tells what is told once in a profile. */
static int take_first(struct ct_otlp_decoder *t, const Otlp__ProfileHead *head)
{
	struct ct_profile *p = t->d.p;

	p->period = head->period;
	p->time_nanos = (int64_t)head->time;
	p->duration_nanos = (int64_t)head->duration;
	for (size_t i = 0; i < head->n_attributes; i++) {
		const Otlp__Attribute *a = ct_otlp_dictionary_attribute(&t->d, head->attributes[i]);

		if (!a)
			return bad(t, "a profile has an attribute that is not there");
		take_profile_attribute(t, ct_otlp_dictionary_text(&t->d, a->key), a->value);
	}
	return type_of(t, head->period_type, &p->period_type);
}

/* The profile's time is from the earliest start to the latest end. A file may say anything, so the
 * numbers are unsigned: they wrap. */
static void join_times(struct ct_profile *p, const Otlp__ProfileHead *head)
{
	uint64_t start = head->time, end = start + head->duration;
	uint64_t known = (uint64_t)p->time_nanos, known_end = known + (uint64_t)p->duration_nanos;

	if (!start || !known)
		return;
	start = start < known ? start : known;
	end = end > known_end ? end : known_end;
	p->time_nanos = (int64_t)start;
	p->duration_nanos = (int64_t)(end - start);
}

static int take_head(struct ct_otlp_decoder *t, const Otlp__ProfileHead *head)
{
	struct ct_type type;
	int r = type_of(t, head->type, &type);

	if (!r && !t->profiles++)
		r = take_first(t, head);
	if (r)
		return r;
	join_times(t->d.p, head);
	if (find_type(t->d.p, t->types, t->type_count, type) < t->type_count)
		return 0;
	if (t->type_count == OTLP_MAX_TYPES)
		return bad(t, "more than 64 sample types");
	t->types[t->type_count++] = type;
	return 0;
}

static int see_profile(struct ct_otlp_decoder *t, struct ct_otlp_bytes b)
{
	Otlp__ProfileHead *head = read_head(b);
	int r;

	if (!head)
		return bad(t, "a profile is malformed");
	r = take_head(t, head);
	otlp__profile_head__free_unpacked(head, NULL);
	return r;
}

static void take_order(struct ct_otlp_decoder *t, const Otlp__ArrayValue *list)
{
	for (size_t i = 0; i < list->n_values && i < OTLP_MAX_TYPES; i++)
		t->order[t->order_count++] = list->values[i]->number;
}

static int see_scope(struct ct_otlp_decoder *t, struct ct_otlp_bytes b)
{
	Otlp__Scope *s = otlp__scope__unpack(NULL, b.size, b.at);

	if (!s)
		return bad(t, "a scope is malformed");
	for (size_t i = 0; t->scopes == 1 && i < s->n_attributes; i++) {
		const Otlp__AnyValue *v = s->attributes[i]->value;
		const char *key = ct_otlp_dictionary_key(&t->d, s->attributes[i]);
		const char *text = ct_otlp_dictionary_value(&t->d, v);

		if (v && v->value_case == OTLP__ANY_VALUE__VALUE_LIST &&
		    !strcmp(key, OTLP_TYPE_ORDER))
			take_order(t, v->list);
		else if (text && !strcmp(key, OTLP_DEFAULT_TYPE))
			t->d.p->default_type = ct_model_string(t->d.p, text);
	}
	otlp__scope__free_unpacked(s, NULL);
	return 0;
}

static int see_scope_profiles(struct ct_otlp_decoder *t, struct ct_otlp_bytes b)
{
	int r;

	t->scopes++;
	r = each(t, b, OTLP_SCOPE, see_scope);
	return r ? r : each(t, b, OTLP_SCOPE_PROFILES, see_profile);
}

static int see_resource_profiles(struct ct_otlp_decoder *t, struct ct_otlp_bytes b)
{
	t->resources++;
	return each(t, b, OTLP_RESOURCE_SCOPES, see_scope_profiles);
}

/* Is the order a permutation of the types that were seen? */
static bool is_ordered(const struct ct_otlp_decoder *t)
{
	uint64_t seen = 0;

	if (t->scopes != 1 || t->order_count != t->type_count || !t->type_count)
		return false;
	for (size_t i = 0; i < t->order_count; i++) {
		if (t->order[i] < 0 || (size_t)t->order[i] >= t->type_count ||
		    seen >> t->order[i] & 1)
			return false;
		seen |= UINT64_C(1) << t->order[i];
	}
	return true;
}

/* Without an order, the first Profile's type is the one to show. */
static void add_types(struct ct_otlp_decoder *t)
{
	struct ct_profile *p = t->d.p;
	bool ordered = is_ordered(t);

	for (size_t at = 0; at < t->type_count; at++)
		for (size_t i = 0; i < t->type_count; i++)
			if ((ordered ? (size_t)t->order[i] : i) == at)
				ct_model_add_type(p, t->types[i]);
	if (!ordered && !p->default_type && t->type_count)
		p->default_type = t->types[0].type;
}

static const char *known_resource(const struct ct_otlp_attribute *known, size_t count,
				  const char *key)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(known[i].key, key))
			return known[i].text ? known[i].text : "";
	return NULL;
}

/* What a profile of libcprof tells itself needs no comment. */
static void note_resource(struct ct_otlp_decoder *t, const Otlp__Resource *r)
{
	struct ct_otlp_attribute known[CT_OTLP_RESOURCE_MAX];
	size_t count = ct_otlp_resource(t->d.p, known);

	for (size_t i = 0; i < r->n_attributes; i++) {
		const Otlp__KeyValue *a = r->attributes[i];
		const char *text = ct_otlp_dictionary_value(&t->d, a->value);
		const char *key = ct_otlp_dictionary_key(&t->d, a);
		const char *is = known_resource(known, count, key);
		char *note;

		if (text ? is && !strcmp(is, text) : is != NULL)
			continue;
		if (text)
			note = ct_memory_printf("resource: %s=%s", key, text);
		else if (a->value && a->value->value_case == OTLP__ANY_VALUE__VALUE_NUMBER)
			note = ct_memory_printf("resource: %s=%lld", key,
						(long long)a->value->number);
		else
			continue;
		ct_notes_add(t->d.p, note);
		free(note);
	}
}

/* Samples of several resources are told apart by the resources' attributes. */
static void label_resource(struct ct_otlp_decoder *t, const Otlp__Resource *r)
{
	t->label_count = 0;
	for (size_t i = 0; i < r->n_attributes; i++)
		if (r->attributes[i]->value)
			ct_otlp_samples_label(t, ct_otlp_dictionary_key(&t->d, r->attributes[i]),
					      r->attributes[i]->value, "");
	for (size_t i = 0; i < t->label_count; i++)
		*CT_PUSH(t->of_resource, t->of_resource_count, t->of_resource_room) = t->labels[i];
}

static int take_resource(struct ct_otlp_decoder *t, struct ct_otlp_bytes b)
{
	Otlp__Resource *r = otlp__resource__unpack(NULL, b.size, b.at);

	if (!r)
		return bad(t, "a resource is malformed");
	if (t->resources == 1)
		note_resource(t, r);
	else
		label_resource(t, r);
	otlp__resource__free_unpacked(r, NULL);
	return 0;
}

static int take_profile(struct ct_otlp_decoder *t, struct ct_otlp_bytes b)
{
	struct ct_otlp_cursor c = ct_otlp_cursor_of(b);
	Otlp__ProfileHead *head = read_head(b);
	struct ct_type type;
	size_t index;
	int r;

	if (!head)
		return bad(t, "a profile is malformed");
	r = type_of(t, head->type, &type);
	otlp__profile_head__free_unpacked(head, NULL);
	index = find_type(t->d.p, t->d.p->types, t->d.p->type_count, type);
	while (!r && ct_otlp_cursor_next(&c) > 0)
		if (c.field == OTLP_PROFILE_SAMPLES && c.is_message)
			r = ct_otlp_samples_take(t, c.body, index);
	return r;
}

static int take_scope_profiles(struct ct_otlp_decoder *t, struct ct_otlp_bytes b)
{
	return each(t, b, OTLP_SCOPE_PROFILES, take_profile);
}

static int take_resource_profiles(struct ct_otlp_decoder *t, struct ct_otlp_bytes b)
{
	int r;

	t->of_resource_count = 0;
	r = each(t, b, OTLP_RESOURCE, take_resource);
	return r ? r : each(t, b, OTLP_RESOURCE_SCOPES, take_scope_profiles);
}

static int take_dictionary(struct ct_otlp_decoder *t, struct ct_otlp_bytes b)
{
	if (t->d.string_count)
		return bad(t, "there are two dictionaries");
	return ct_otlp_dictionary_read(&t->d, b);
}

static int take_all(struct ct_otlp_decoder *t, struct ct_otlp_bytes b)
{
	int r = each(t, b, OTLP_DATA_DICTIONARY, take_dictionary);

	r = r ? r : each(t, b, OTLP_DATA_RESOURCES, see_resource_profiles);
	if (r)
		return r;
	if (!t->type_count)
		return bad(t, "there is no profile in it");
	add_types(t);
	return each(t, b, OTLP_DATA_RESOURCES, take_resource_profiles);
}

int ct_otlp_decode(struct ct_profile **p, const void *data, size_t size, struct ct_fault *fault)
{
	struct ct_otlp_decoder *t = ct_memory_alloc(sizeof(*t));
	int r;

	t->d.p = ct_model_new();
	t->d.fault = fault;
	r = take_all(t, (struct ct_otlp_bytes){ data, size });
	if (r)
		ct_model_free(t->d.p);
	else
		*p = t->d.p;
	ct_otlp_dictionary_release(&t->d);
	ct_table_release(&t->rows);
	free(t->of_resource);
	free(t->row_stack);
	free(t->labels);
	free(t->frames);
	free(t);
	return r;
}

/* pprof's profile begins with a message of numbers, a sample type, or with a sample. OTLP's begins
 * with ResourceProfiles, whose fields are messages and a string, or (as the Collector writes it)
 * with the dictionary: messages, of which each table's first is empty. */
bool ct_otlp_decode_fits(const void *data, size_t size)
{
	const uint8_t *first = data;
	size_t at = 1;

	if (size < 4 || (first[0] != 0x0a && first[0] != 0x12))
		return false;
	while (at < size && at < 10 && first[at] & 0x80)
		at++;
	if (at + 2 >= size || (first[at + 1] & 7) != 2 || first[at + 1] >> 3 > OTLP_STACKS)
		return false;
	if (first[0] == 0x0a)
		return first[at + 1] >> 3 <= 3;
	return first[at + 1] >> 3 > 3 || !first[at + 2];
}
