/* SPDX-License-Identifier: BSD-3-Clause */
/* Several profiles become one; see model.h.
 *
 * Everything is looked up by its contents, not by its number: strings by text, functions by their
 * four fields, mappings by build id (or path), offset and size, locations by place within the
 * mapping and lines, samples by stack and labels.
 */

#include <stdlib.h>
#include <string.h>

#include "core/report.h"
#include "core/times.h"

/* Sizes of mappings are compared in whole pages. */
#define PAGE UINT64_C(0x1000)

struct combiner {
	struct ct_profile *to;
	struct ct_table mappings, functions, locations, samples;
	/* Maps for the current source: index + 1 in the source to index + 1 in the result; 0 = not
	 * seen yet. */
	const struct ct_profile *from;
	uint32_t *string_at, *mapping_at, *function_at, *location_at, *set_at;
	struct ct_line *lines; /* lines of the current location */
	uint32_t *frames;      /* frames of the current sample */
	size_t line_room, frame_room;
};

static uint32_t take_string(struct combiner *c, uint32_t i)
{
	if (!c->string_at[i])
		c->string_at[i] = ct_model_string(c->to, ct_text(c->from, i)) + 1;
	return c->string_at[i] - 1;
}

static uint64_t pages(const struct ct_mapping *m)
{
	return (m->limit - m->start + PAGE - 1) / PAGE;
}

static uint32_t identity(const struct ct_mapping *m)
{
	return m->build_id ? m->build_id : m->file;
}

static bool same_mapping(const void *context, uint32_t index, const void *key)
{
	const struct ct_mapping *a = &((const struct ct_profile *)context)->mappings[index];
	const struct ct_mapping *b = key;

	return identity(a) == identity(b) && a->offset == b->offset && pages(a) == pages(b);
}

static uint32_t take_mapping(struct combiner *c, uint32_t i)
{
	struct ct_mapping m = c->from->mappings[i];
	uint32_t index;
	uint64_t hash;

	if (c->mapping_at[i])
		return c->mapping_at[i] - 1;
	m.file = take_string(c, m.file);
	m.build_id = take_string(c, m.build_id);
	hash = ct_hash(ct_hash(identity(&m), m.offset), pages(&m));
	index = ct_table_find(&c->mappings, hash, same_mapping, c->to, &m);
	if (index == UINT32_MAX) {
		index = ct_model_add_mapping(c->to, &m);
		ct_table_add(&c->mappings, hash, index);
	}
	/* It gets the locations of both. */
	ct_mapping_join_flags(&c->to->mappings[index], &m);
	c->mapping_at[i] = index + 1;
	return index;
}

static bool same_function(const void *context, uint32_t index, const void *key)
{
	const struct ct_function *a = &((const struct ct_profile *)context)->functions[index];
	const struct ct_function *b = key;

	return a->name == b->name && a->system_name == b->system_name &&
	       a->filename == b->filename && a->start_line == b->start_line;
}

static uint32_t take_function(struct combiner *c, uint32_t i)
{
	struct ct_function f;
	uint32_t index;
	uint64_t hash;

	if (i == CT_NONE)
		return CT_NONE;
	if (c->function_at[i])
		return c->function_at[i] - 1;
	f = c->from->functions[i];
	f.name = take_string(c, f.name);
	f.system_name = take_string(c, f.system_name);
	f.filename = take_string(c, f.filename);
	hash = ct_hash(ct_hash(f.name, f.system_name), f.filename);
	hash = ct_hash(hash, (uint64_t)f.start_line);
	index = ct_table_find(&c->functions, hash, same_function, c->to, &f);
	if (index == UINT32_MAX) {
		index = ct_model_add_function(c->to, &f);
		ct_table_add(&c->functions, hash, index);
	}
	c->function_at[i] = index + 1;
	return index;
}

struct wanted_location {
	struct ct_location location;
	const struct ct_line *lines;
};

static uint64_t place_hash(const struct ct_profile *p, const struct ct_location *l)
{
	return l->mapping == CT_NONE ? l->address : l->address - p->mappings[l->mapping].start;
}

static bool same_location(const void *context, uint32_t index, const void *key)
{
	const struct ct_profile *p = context;
	const struct ct_location *l = &p->locations[index];
	const struct wanted_location *w = key;

	if (l->mapping != w->location.mapping || l->folded != w->location.folded ||
	    l->line_count != w->location.line_count ||
	    place_hash(p, l) != place_hash(p, &w->location))
		return false;
	for (uint32_t i = 0; i < l->line_count; i++) {
		const struct ct_line *a = &p->lines[l->first_line + i], *b = &w->lines[i];

		if (a->function != b->function || a->line != b->line || a->column != b->column)
			return false;
	}
	return true;
}

static uint64_t hash_location(const struct ct_profile *p, const struct wanted_location *w)
{
	uint64_t h = ct_hash(w->location.mapping, place_hash(p, &w->location));

	for (uint32_t i = 0; i < w->location.line_count; i++)
		h = ct_hash(ct_hash(h, w->lines[i].function), (uint64_t)w->lines[i].line);
	return h;
}

static void take_lines(struct combiner *c, const struct ct_location *l)
{
	if (l->line_count > c->line_room)
		c->lines =
			ct_memory_grow(c->lines, &c->line_room, l->line_count, sizeof(*c->lines));
	for (uint32_t i = 0; i < l->line_count; i++) {
		c->lines[i] = c->from->lines[l->first_line + i];
		c->lines[i].function = take_function(c, c->lines[i].function);
	}
}

static uint32_t take_location(struct combiner *c, uint32_t i)
{
	struct wanted_location w = { c->from->locations[i], NULL };
	uint32_t index;
	uint64_t hash;

	if (c->location_at[i])
		return c->location_at[i] - 1;
	if (w.location.mapping != CT_NONE) {
		uint64_t start = c->from->mappings[w.location.mapping].start;

		w.location.mapping = take_mapping(c, w.location.mapping);
		w.location.address += c->to->mappings[w.location.mapping].start - start;
	}
	take_lines(c, &w.location);
	w.lines = c->lines;
	hash = hash_location(c->to, &w);
	index = ct_table_find(&c->locations, hash, same_location, c->to, &w);
	if (index == UINT32_MAX) {
		index = ct_model_add_location(c->to, &w.location, c->lines, w.location.line_count);
		ct_table_add(&c->locations, hash, index);
	}
	c->location_at[i] = index + 1;
	return index;
}

static int by_key(const void *a, const void *b)
{
	const struct ct_label *x = a, *y = b;

#define ORDER(field)                                                                               \
	if (x->field != y->field)                                                                  \
	return x->field < y->field ? -1 : 1
	ORDER(key);
	ORDER(text);
	ORDER(number);
	ORDER(unit);
#undef ORDER
	return 0;
}

/* The order of labels doesn't matter, so equal sets become one set. */
static uint32_t take_set(struct combiner *c, uint32_t i)
{
	const struct ct_label_set *set = &c->from->label_sets[i];
	struct ct_label *labels;

	if (!i || c->set_at[i])
		return i ? c->set_at[i] - 1 : 0;
	labels = ct_memory_alloc(set->count * sizeof(*labels));
	for (uint32_t k = 0; k < set->count; k++) {
		labels[k] = c->from->labels[set->first + k];
		labels[k].key = take_string(c, labels[k].key);
		labels[k].text = take_string(c, labels[k].text);
		labels[k].unit = take_string(c, labels[k].unit);
	}
	qsort(labels, set->count, sizeof(*labels), by_key);
	c->set_at[i] = ct_model_label_set(c->to, labels, set->count) + 1;
	free(labels);
	return c->set_at[i] - 1;
}

struct wanted_sample {
	const uint32_t *frames;
	uint32_t depth, set;
};

static bool same_sample(const void *context, uint32_t index, const void *key)
{
	const struct ct_profile *p = context;
	const struct ct_sample *s = &p->samples[index];
	const struct wanted_sample *w = key;

	return s->depth == w->depth && s->label_set == w->set &&
	       (!w->depth || !memcmp(ct_frames(p, s), w->frames, w->depth * sizeof(*w->frames)));
}

static bool is_zero(const struct ct_profile *p, size_t sample)
{
	for (size_t i = 0; i < p->type_count; i++)
		if (ct_values(p, sample)[i])
			return false;
	return true;
}

/* Returns the index of the sample of the result. */
static uint32_t take_sample(struct combiner *c, size_t i)
{
	const struct ct_sample *s = &c->from->samples[i];
	struct wanted_sample w = { .depth = s->depth };
	uint32_t index;
	uint64_t hash;

	if (s->depth > c->frame_room)
		c->frames = ct_memory_grow(c->frames, &c->frame_room, s->depth, sizeof(*c->frames));
	for (uint32_t k = 0; k < s->depth; k++)
		c->frames[k] = take_location(c, ct_frames(c->from, s)[k]);
	w.frames = c->frames;
	w.set = take_set(c, s->label_set);
	hash = ct_table_hash_words(w.set, w.frames, w.depth);
	index = ct_table_find(&c->samples, hash, same_sample, c->to, &w);
	if (index == UINT32_MAX) {
		index = ct_model_add_sample(c->to, w.frames, w.depth, ct_values(c->from, i), w.set);
		ct_table_add(&c->samples, hash, index);
		return index;
	}
	for (size_t t = 0; t < c->to->type_count; t++)
		ct_values(c->to, index)[t] =
			ct_add(ct_values(c->to, index)[t], ct_values(c->from, i)[t]);
	return index;
}

static uint32_t *make_numbers(size_t count)
{
	return ct_memory_alloc(count * sizeof(uint32_t));
}

/* Returns where the samples of FROM are in the result, which the caller frees. */
static uint32_t *take_profile(struct combiner *c, const struct ct_profile *from)
{
	uint32_t *map = make_numbers(from->sample_count);

	c->from = from;
	c->string_at = make_numbers(from->string_count);
	c->mapping_at = make_numbers(from->mapping_count);
	c->function_at = make_numbers(from->function_count);
	c->location_at = make_numbers(from->location_count);
	c->set_at = make_numbers(from->label_set_count);
	/* Keeps the first mapping first, because it is the program and names the profile. */
	if (!c->to->mapping_count && from->mapping_count)
		take_mapping(c, 0);
	for (size_t i = 0; i < from->sample_count; i++)
		map[i] = is_zero(from, i) ? CT_NONE : take_sample(c, i);
	free(c->string_at);
	free(c->mapping_at);
	free(c->function_at);
	free(c->location_at);
	free(c->set_at);
	return map;
}

static bool has_zero_samples(const struct ct_profile *p)
{
	for (size_t i = 0; i < p->sample_count; i++)
		if (is_zero(p, i))
			return true;
	return false;
}

struct ct_profile *ct_combine(struct ct_profile *const *sources, size_t count)
{
	struct combiner c = { .to = ct_combine_header_join(sources, count) };
	uint32_t **maps = ct_memory_alloc(count * sizeof(*maps));

	for (size_t i = 0; c.to && i < count; i++)
		maps[i] = take_profile(&c, sources[i]);
	if (c.to)
		ct_times_join(c.to, sources, maps, count);
	if (c.to)
		ct_idle_loops_join(c.to, sources, count);
	for (size_t i = 0; i < count; i++)
		free(maps[i]);
	free(maps);
	if (!c.to)
		return NULL;
	ct_table_release(&c.mappings);
	ct_table_release(&c.functions);
	ct_table_release(&c.locations);
	ct_table_release(&c.samples);
	free(c.lines);
	free(c.frames);
	if (has_zero_samples(c.to)) { /* some values cancelled each other out */
		struct ct_profile *without = ct_combine(&c.to, 1);

		ct_model_free(c.to);
		return without;
	}
	return c.to;
}
