/* SPDX-License-Identifier: BSD-3-Clause */
/* See otlp_dictionary.h. The strings come first, whatever their place in the message, then what
 * refers to them. */
#include "otlp/otlp_dictionary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "otlp/otlp_fields.h"

#define MAX_ENTRIES ((size_t)1 << 24)

int ct_otlp_dictionary_bad(struct ct_otlp_dictionary *d, const char *what)
{
	ct_input_fault_say(d->fault, 0, "OTLP: %s", what);
	return -EBADMSG;
}

static int full(struct ct_otlp_dictionary *d)
{
	ct_input_fault_say(d->fault, 0, "OTLP: a table has more than %zu entries", MAX_ENTRIES);
	return -EFBIG;
}

static int bad(struct ct_otlp_dictionary *d, const char *what)
{
	return ct_otlp_dictionary_bad(d, what);
}

const char *ct_otlp_dictionary_text(const struct ct_otlp_dictionary *d, int32_t index)
{
	return index >= 0 && (size_t)index < d->string_count ? d->p->strings[index] : NULL;
}

const char *ct_otlp_dictionary_key(const struct ct_otlp_dictionary *d, const Otlp__KeyValue *a)
{
	const char *by_index = ct_otlp_dictionary_text(d, a->key_index);

	return *a->key || !by_index ? a->key : by_index;
}

const char *ct_otlp_dictionary_value(const struct ct_otlp_dictionary *d, const Otlp__AnyValue *v)
{
	if (v && v->value_case == OTLP__ANY_VALUE__VALUE_TEXT)
		return v->text;
	if (v && v->value_case == OTLP__ANY_VALUE__VALUE_TEXT_INDEX)
		return ct_otlp_dictionary_text(d, v->text_index);
	return NULL;
}

const Otlp__Attribute *ct_otlp_dictionary_attribute(const struct ct_otlp_dictionary *d,
						    int32_t index)
{
	return index > 0 && (size_t)index < d->attribute_count ? d->attributes[index] : NULL;
}

/* Every profile already has string 0. */
static int take_string(struct ct_otlp_dictionary *d, struct ct_otlp_bytes b)
{
	if (d->string_count >= MAX_ENTRIES)
		return full(d);
	if (d->string_count++)
		ct_model_append_string(d->p, (const char *)b.at, b.size);
	else if (b.size)
		return bad(d, "the first string is not empty");
	return 0;
}

static int take_attribute(struct ct_otlp_dictionary *d, struct ct_otlp_bytes b)
{
	Otlp__Attribute *a = otlp__attribute__unpack(NULL, b.size, b.at);

	if (!a)
		return bad(d, "an attribute is malformed");
	*CT_PUSH(d->attributes, d->attribute_count, d->attribute_room) = a;
	if (!ct_otlp_dictionary_text(d, a->key) || !ct_otlp_dictionary_text(d, a->unit))
		return bad(d, "a string index is out of range");
	return d->attribute_count > MAX_ENTRIES ? full(d) : 0;
}

static int take_link(struct ct_otlp_dictionary *d, struct ct_otlp_bytes b)
{
	Otlp__Link *l = otlp__link__unpack(NULL, b.size, b.at);

	if (!l)
		return bad(d, "a link is malformed");
	*CT_PUSH(d->links, d->link_count, d->link_room) = l;
	return d->link_count > MAX_ENTRIES ? full(d) : 0;
}

static bool is_true(const struct ct_otlp_dictionary *d, const int32_t *attributes, size_t count,
		    const char *key)
{
	for (size_t i = 0; i < count; i++) {
		const Otlp__Attribute *a = ct_otlp_dictionary_attribute(d, attributes[i]);

		if (a && a->value && a->value->value_case == OTLP__ANY_VALUE__VALUE_TRUTH &&
		    !strcmp(ct_otlp_dictionary_text(d, a->key), key))
			return a->value->truth;
	}
	return false;
}

static const char *text_of(const struct ct_otlp_dictionary *d, const int32_t *attributes,
			   size_t count, const char *key)
{
	for (size_t i = 0; i < count; i++) {
		const Otlp__Attribute *a = ct_otlp_dictionary_attribute(d, attributes[i]);

		if (a && !strcmp(ct_otlp_dictionary_text(d, a->key), key))
			return ct_otlp_dictionary_value(d, a->value);
	}
	return NULL;
}

static int fill_mapping(struct ct_otlp_dictionary *d, const Otlp__Mapping *from)
{
	const char *build_id = text_of(d, from->attributes, from->n_attributes, OTLP_BUILD_ID);
	struct ct_mapping to = { .start = from->start,
				 .limit = from->limit,
				 .offset = from->offset,
				 .file = (uint32_t)from->file };

	if (!ct_otlp_dictionary_text(d, from->file))
		return bad(d, "a string index is out of range");
#define HAS(key) is_true(d, from->attributes, from->n_attributes, key)
	to.has_functions = HAS(OTLP_HAS_FUNCTIONS);
	to.has_filenames = HAS(OTLP_HAS_FILENAMES);
	to.has_lines = HAS(OTLP_HAS_LINES);
	to.has_inlines = HAS(OTLP_HAS_INLINES);
#undef HAS
	if (build_id)
		to.build_id = ct_model_string(d->p, build_id);
	ct_model_add_mapping(d->p, &to);
	return 0;
}

static int take_mapping(struct ct_otlp_dictionary *d, struct ct_otlp_bytes b)
{
	Otlp__Mapping *m;
	int r;

	if (!b.size && !d->p->mapping_count && !d->no_mapping) {
		d->no_mapping = 1;
		return 0;
	}
	if (d->p->mapping_count >= MAX_ENTRIES)
		return full(d);
	m = otlp__mapping__unpack(NULL, b.size, b.at);
	if (!m)
		return bad(d, "a mapping is malformed");
	r = fill_mapping(d, m);
	otlp__mapping__free_unpacked(m, NULL);
	return r;
}

static int fill_function(struct ct_otlp_dictionary *d, const Otlp__Function *from)
{
	struct ct_function to = { .name = (uint32_t)from->name,
				  .system_name = (uint32_t)from->system_name,
				  .filename = (uint32_t)from->filename,
				  .start_line = from->start_line };

	if (!ct_otlp_dictionary_text(d, from->name) ||
	    !ct_otlp_dictionary_text(d, from->system_name) ||
	    !ct_otlp_dictionary_text(d, from->filename))
		return bad(d, "a string index is out of range");
	ct_model_add_function(d->p, &to);
	return 0;
}

static int take_function(struct ct_otlp_dictionary *d, struct ct_otlp_bytes b)
{
	Otlp__Function *f;
	int r;

	if (!b.size && !d->p->function_count && !d->no_function) {
		d->no_function = 1;
		return 0;
	}
	if (d->p->function_count >= MAX_ENTRIES)
		return full(d);
	f = otlp__function__unpack(NULL, b.size, b.at);
	if (!f)
		return bad(d, "a function is malformed");
	r = fill_function(d, f);
	otlp__function__free_unpacked(f, NULL);
	return r;
}

/* Returns the profile's index for INDEX of a table, or CT_NONE. */
static uint32_t index_of(int32_t index, uint32_t left_out, size_t count)
{
	uint32_t at = (uint32_t)index - left_out;

	return index >= (int32_t)left_out && at < count ? at : CT_NONE;
}

/* Readers of pprof's format rely on the flags of mappings; other writers of OTLP don't set them. */
static void note_lines(struct ct_otlp_dictionary *d, uint32_t mapping, const struct ct_line *lines,
		       size_t count)
{
	struct ct_mapping *m = &d->p->mappings[mapping];

	for (size_t i = 0; i < count; i++) {
		if (lines[i].function == CT_NONE)
			continue;
		m->has_functions = true;
		m->has_filenames |= d->p->functions[lines[i].function].filename != 0;
		m->has_lines |= lines[i].line > 0;
	}
	m->has_inlines |= count > 1;
}

static int fill_location(struct ct_otlp_dictionary *d, const Otlp__Location *from)
{
	struct ct_line *lines = ct_memory_alloc(from->n_lines * sizeof(*lines));
	struct ct_location to = { .address = from->address, .mapping = CT_NONE };
	int r = 0;

	for (size_t i = 0; i < from->n_lines; i++) {
		const Otlp__Line *l = from->lines[i];

		lines[i].function = index_of(l->function, d->no_function, d->p->function_count);
		lines[i].line = l->line;
		lines[i].column = (uint32_t)l->column;
		if (lines[i].function == CT_NONE && l->function)
			r = bad(d, "a line has a function that is not there");
	}
	to.mapping = index_of(from->mapping, d->no_mapping, d->p->mapping_count);
	if (to.mapping == CT_NONE && from->mapping)
		r = bad(d, "a location has a mapping that is not there");
	to.folded = is_true(d, from->attributes, from->n_attributes, OTLP_IS_FOLDED);
	if (!r && to.mapping != CT_NONE)
		note_lines(d, to.mapping, lines, from->n_lines);
	if (!r)
		ct_model_add_location(d->p, &to, lines, from->n_lines);
	free(lines);
	return r;
}

static int take_location(struct ct_otlp_dictionary *d, struct ct_otlp_bytes b)
{
	Otlp__Location *l;
	int r;

	if (!b.size && !d->p->location_count && !d->no_location) {
		d->no_location = 1;
		return 0;
	}
	if (d->p->location_count >= MAX_ENTRIES)
		return full(d);
	l = otlp__location__unpack(NULL, b.size, b.at);
	if (!l)
		return bad(d, "a location is malformed");
	r = fill_location(d, l);
	otlp__location__free_unpacked(l, NULL);
	return r;
}

static int take_stack(struct ct_otlp_dictionary *d, struct ct_otlp_bytes b)
{
	*CT_PUSH(d->stacks, d->stack_count, d->stack_room) = b;
	return d->stack_count > MAX_ENTRIES * 4 ? full(d) : 0;
}

static const struct {
	unsigned field;
	int (*take)(struct ct_otlp_dictionary *d, struct ct_otlp_bytes b);
} tables[] = {
	{ OTLP_STRINGS, take_string },	   { OTLP_ATTRIBUTES, take_attribute },
	{ OTLP_LINKS, take_link },	   { OTLP_MAPPINGS, take_mapping },
	{ OTLP_FUNCTIONS, take_function }, { OTLP_LOCATIONS, take_location },
	{ OTLP_STACKS, take_stack },
};

int ct_otlp_dictionary_read(struct ct_otlp_dictionary *d, struct ct_otlp_bytes message)
{
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		struct ct_otlp_cursor c = ct_otlp_cursor_of(message);
		int r;

		while ((r = ct_otlp_cursor_next(&c)) > 0) {
			if (c.field != tables[i].field)
				continue;
			if (!c.is_message)
				return bad(d, "a number stands where a message belongs");
			r = tables[i].take(d, c.body);
			if (r)
				return r;
		}
		if (r)
			return bad(d, "the dictionary is malformed");
	}
	return 0;
}

void ct_otlp_dictionary_release(struct ct_otlp_dictionary *d)
{
	for (size_t i = 0; i < d->attribute_count; i++)
		otlp__attribute__free_unpacked(d->attributes[i], NULL);
	for (size_t i = 0; i < d->link_count; i++)
		otlp__link__free_unpacked(d->links[i], NULL);
	free(d->attributes);
	free(d->links);
	free(d->stacks);
}

static int fill_stack(struct ct_otlp_dictionary *d, const Otlp__Stack *s, uint32_t **frames,
		      size_t *room, size_t *depth)
{
	size_t n = 0;

	if (s->n_locations > *room)
		*frames = ct_memory_grow(*frames, room, s->n_locations, sizeof(**frames));
	for (size_t i = 0; i < s->n_locations; i++) {
		uint32_t at = index_of(s->locations[i], d->no_location, d->p->location_count);

		if (at == CT_NONE && s->locations[i])
			return bad(d, "a stack has a location that is not there");
		if (at != CT_NONE)
			(*frames)[n++] = at;
	}
	*depth = n;
	return 0;
}

int ct_otlp_dictionary_stack(struct ct_otlp_dictionary *d, int32_t index, uint32_t **frames,
			     size_t *room, size_t *depth)
{
	Otlp__Stack *s;
	int r;

	*depth = 0;
	if (index < 0 || (size_t)index >= d->stack_count)
		return index ? bad(d, "a sample has a stack that is not there") : 0;
	s = otlp__stack__unpack(NULL, d->stacks[index].size, d->stacks[index].at);
	if (!s)
		return bad(d, "a stack is malformed");
	r = fill_stack(d, s, frames, room, depth);
	otlp__stack__free_unpacked(s, NULL);
	return r;
}
