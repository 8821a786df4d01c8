/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses and writes the tables of the dictionary; see otlp.h. Entry 0 of each table is empty, as
 * the format asks. */
#include "otlp/otlp.h"

#include <stdlib.h>
#include <string.h>

#include "otlp/otlp.pb-c.h"

#define MAPPING_ATTRIBUTES 6 /* and the 0 that ends them */

static int32_t text_index(const struct ct_otlp_tables *t, uint32_t string)
{
	return (int32_t)ct_otlp_rows_string(t->rows, ct_text(t->rows->p, string));
}

static void take_mapping(struct ct_otlp_tables *t, uint32_t index)
{
	struct ct_otlp_rows *r = t->rows;
	const struct ct_mapping *m = &r->p->mappings[index];
	uint32_t *to = ct_memory_alloc(MAPPING_ATTRIBUTES * sizeof(*to)), n = 0;

	text_index(t, m->file);
	if (m->build_id)
		to[n++] = ct_otlp_rows_text(r, OTLP_BUILD_ID, ct_text(r->p, m->build_id));
	if (m->has_functions)
		to[n++] = ct_otlp_rows_true(r, OTLP_HAS_FUNCTIONS);
	if (m->has_filenames)
		to[n++] = ct_otlp_rows_true(r, OTLP_HAS_FILENAMES);
	if (m->has_lines)
		to[n++] = ct_otlp_rows_true(r, OTLP_HAS_LINES);
	if (m->has_inlines)
		to[n++] = ct_otlp_rows_true(r, OTLP_HAS_INLINES);
	t->mapping_attributes[t->mapping_count] = to;
	t->mappings[t->mapping_count++] = index;
	t->mapping_at[index] = (uint32_t)t->mapping_count;
}

static void take_function(struct ct_otlp_tables *t, uint32_t index)
{
	const struct ct_function *f = &t->rows->p->functions[index];

	text_index(t, f->name);
	text_index(t, f->system_name);
	text_index(t, f->filename);
	t->functions[t->function_count++] = index;
	t->function_at[index] = (uint32_t)t->function_count;
}

static void take_location(struct ct_otlp_tables *t, uint32_t index)
{
	const struct ct_profile *p = t->rows->p;
	const struct ct_location *l = &p->locations[index];

	if (l->folded) {
		uint32_t *to = ct_memory_alloc(2 * sizeof(*to));

		to[0] = ct_otlp_rows_true(t->rows, OTLP_IS_FOLDED);
		t->location_attributes[t->location_count] = to;
	}
	t->locations[t->location_count++] = index;
	t->location_at[index] = (uint32_t)t->location_count;
	for (uint32_t i = 0; i < l->line_count; i++) {
		uint32_t function = p->lines[l->first_line + i].function;

		if (function != CT_NONE && !t->function_at[function])
			take_function(t, function);
	}
}

static void mark_locations(struct ct_otlp_tables *t, bool *used)
{
	const struct ct_profile *p = t->rows->p;

	for (size_t i = 0; i < t->rows->stack_count; i++) {
		const struct ct_sample *s = &p->samples[t->rows->stack_sample[i]];

		for (uint32_t k = 0; k < s->depth; k++)
			used[ct_frames(p, s)[k]] = true;
	}
}

/* Takes all in the profile's order, because its first mapping is the program. */
static void take_all(struct ct_otlp_tables *t)
{
	const struct ct_profile *p = t->rows->p;
	bool *location = ct_memory_alloc(p->location_count + 1);
	bool *mapping = ct_memory_alloc(p->mapping_count + 1);

	mark_locations(t, location);
	mapping[0] = true;
	for (size_t i = 0; i < p->location_count; i++)
		if (location[i] && p->locations[i].mapping != CT_NONE)
			mapping[p->locations[i].mapping] = true;
	for (size_t i = 0; i < p->mapping_count; i++)
		if (mapping[i])
			take_mapping(t, (uint32_t)i);
	for (size_t i = 0; i < p->location_count; i++)
		if (location[i])
			take_location(t, (uint32_t)i);
	free(location);
	free(mapping);
}

void ct_otlp_tables_init(struct ct_otlp_tables *t, struct ct_otlp_rows *rows)
{
	const struct ct_profile *p = rows->p;

	*t = (struct ct_otlp_tables){ .rows = rows };
#define ROOM(array, count) (t->array = ct_memory_alloc(((count) + 1) * sizeof(*t->array)))
	ROOM(location_at, p->location_count);
	ROOM(function_at, p->function_count);
	ROOM(mapping_at, p->mapping_count);
	ROOM(locations, p->location_count);
	ROOM(functions, p->function_count);
	ROOM(mappings, p->mapping_count);
	ROOM(location_attributes, p->location_count);
	ROOM(mapping_attributes, p->mapping_count);
#undef ROOM
	take_all(t);
}

void ct_otlp_tables_release(struct ct_otlp_tables *t)
{
	for (size_t i = 0; i < t->location_count; i++)
		free(t->location_attributes[i]);
	for (size_t i = 0; i < t->mapping_count; i++)
		free(t->mapping_attributes[i]);
	free(t->location_at);
	free(t->function_at);
	free(t->mapping_at);
	free(t->locations);
	free(t->functions);
	free(t->mappings);
	free(t->location_attributes);
	free(t->mapping_attributes);
}

static size_t count_attributes(const uint32_t *attributes)
{
	size_t n = 0;

	while (attributes && attributes[n])
		n++;
	return n;
}

static void write_mappings(const struct ct_otlp_tables *t, struct ct_otlp_out *o)
{
	ct_otlp_encode_bytes(o, OTLP_MAPPINGS, "", 0);
	for (size_t i = 0; i < t->mapping_count; i++) {
		const struct ct_mapping *from = &t->rows->p->mappings[t->mappings[i]];
		Otlp__Mapping m = OTLP__MAPPING__INIT;

		m.start = from->start;
		m.limit = from->limit;
		m.offset = from->offset;
		m.file = text_index(t, from->file);
		m.n_attributes = count_attributes(t->mapping_attributes[i]);
		m.attributes = (int32_t *)t->mapping_attributes[i];
		ct_otlp_encode_message(o, OTLP_MAPPINGS, &m.base);
	}
}

static void write_location(const struct ct_otlp_tables *t, struct ct_otlp_out *o, size_t i)
{
	const struct ct_profile *p = t->rows->p;
	const struct ct_location *from = &p->locations[t->locations[i]];
	Otlp__Line *lines = ct_memory_alloc(from->line_count * sizeof(*lines));
	Otlp__Line **pointers = ct_memory_alloc(from->line_count * sizeof(*pointers));
	Otlp__Location m = OTLP__LOCATION__INIT;

	for (uint32_t k = 0; k < from->line_count; k++) {
		const struct ct_line *l = &p->lines[from->first_line + k];

		otlp__line__init(&lines[k]);
		if (l->function != CT_NONE)
			lines[k].function = (int32_t)t->function_at[l->function];
		lines[k].line = l->line > 0 ? l->line : 0;
		lines[k].column = l->column;
		pointers[k] = &lines[k];
	}
	if (from->mapping != CT_NONE)
		m.mapping = (int32_t)t->mapping_at[from->mapping];
	m.address = from->address;
	m.n_lines = from->line_count;
	m.lines = pointers;
	m.n_attributes = count_attributes(t->location_attributes[i]);
	m.attributes = (int32_t *)t->location_attributes[i];
	ct_otlp_encode_message(o, OTLP_LOCATIONS, &m.base);
	free(lines);
	free(pointers);
}

static void write_functions(const struct ct_otlp_tables *t, struct ct_otlp_out *o)
{
	ct_otlp_encode_bytes(o, OTLP_FUNCTIONS, "", 0);
	for (size_t i = 0; i < t->function_count; i++) {
		const struct ct_function *from = &t->rows->p->functions[t->functions[i]];
		Otlp__Function m = OTLP__FUNCTION__INIT;

		m.name = text_index(t, from->name);
		m.system_name = text_index(t, from->system_name);
		m.filename = text_index(t, from->filename);
		m.start_line = from->start_line > 0 ? from->start_line : 0;
		ct_otlp_encode_message(o, OTLP_FUNCTIONS, &m.base);
	}
}

static void write_links(const struct ct_otlp_tables *t, struct ct_otlp_out *o)
{
	ct_otlp_encode_bytes(o, OTLP_LINKS, "", 0);
	for (size_t i = 0; i < t->rows->link_count; i++) {
		struct ct_otlp_link *from = &t->rows->links[i];
		Otlp__Link m = OTLP__LINK__INIT;

		m.trace_id = (ProtobufCBinaryData){ sizeof(from->trace), from->trace };
		m.span_id = (ProtobufCBinaryData){ sizeof(from->span), from->span };
		ct_otlp_encode_message(o, OTLP_LINKS, &m.base);
	}
}

static void fill_value(const struct ct_otlp_tables *t, const struct ct_otlp_value *from,
		       Otlp__AnyValue *to)
{
	otlp__any_value__init(to);
	if (from->text) {
		to->value_case = OTLP__ANY_VALUE__VALUE_TEXT;
		to->text = (char *)ct_text(t->rows->value_texts, from->text - 1);
	} else if (from->truth) {
		to->value_case = OTLP__ANY_VALUE__VALUE_TRUTH;
		to->truth = from->number != 0;
	} else {
		to->value_case = OTLP__ANY_VALUE__VALUE_NUMBER;
		to->number = from->number;
	}
}

static void write_attribute(const struct ct_otlp_tables *t, struct ct_otlp_out *o,
			    const struct ct_otlp_entry *from)
{
	Otlp__AnyValue *values = ct_memory_alloc(from->count * sizeof(*values));
	Otlp__AnyValue **pointers = ct_memory_alloc(from->count * sizeof(*pointers));
	Otlp__AnyValue whole = OTLP__ANY_VALUE__INIT;
	Otlp__ArrayValue list = OTLP__ARRAY_VALUE__INIT;
	Otlp__Attribute m = OTLP__ATTRIBUTE__INIT;

	for (uint32_t i = 0; i < from->count; i++) {
		fill_value(t, &t->rows->entry_values[from->first + i], &values[i]);
		pointers[i] = &values[i];
	}
	list.n_values = from->count;
	list.values = pointers;
	whole.value_case = OTLP__ANY_VALUE__VALUE_LIST;
	whole.list = &list;
	m.key = (int32_t)from->key;
	m.unit = (int32_t)from->unit;
	m.value = from->list ? &whole : &values[0];
	ct_otlp_encode_message(o, OTLP_ATTRIBUTES, &m.base);
	free(values);
	free(pointers);
}

static void write_stacks(const struct ct_otlp_tables *t, struct ct_otlp_out *o)
{
	const struct ct_profile *p = t->rows->p;
	int32_t *numbers = NULL;
	size_t room = 0;

	ct_otlp_encode_bytes(o, OTLP_STACKS, "", 0);
	for (size_t i = 0; i < t->rows->stack_count; i++) {
		const struct ct_sample *s = &p->samples[t->rows->stack_sample[i]];
		Otlp__Stack m = OTLP__STACK__INIT;

		if (s->depth > room)
			numbers = ct_memory_grow(numbers, &room, s->depth, sizeof(*numbers));
		for (uint32_t k = 0; k < s->depth; k++)
			numbers[k] = (int32_t)t->location_at[ct_frames(p, s)[k]];
		m.n_locations = s->depth;
		m.locations = numbers;
		ct_otlp_encode_message(o, OTLP_STACKS, &m.base);
	}
	free(numbers);
}

void ct_otlp_tables_write(const struct ct_otlp_tables *t, struct ct_otlp_out *o)
{
	const struct ct_profile *texts = t->rows->texts;

	write_mappings(t, o);
	ct_otlp_encode_bytes(o, OTLP_LOCATIONS, "", 0);
	for (size_t i = 0; i < t->location_count; i++)
		write_location(t, o, i);
	write_functions(t, o);
	write_links(t, o);
	for (size_t i = 0; i < texts->string_count; i++)
		ct_otlp_encode_bytes(o, OTLP_STRINGS, texts->strings[i], strlen(texts->strings[i]));
	ct_otlp_encode_bytes(o, OTLP_ATTRIBUTES, "", 0);
	for (size_t i = 0; i < t->rows->entry_count; i++)
		write_attribute(t, o, &t->rows->entries[i]);
	write_stacks(t, o);
}
