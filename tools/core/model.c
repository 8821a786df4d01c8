/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds a profile in memory; see model.h. Called by the reader and by every verb that makes a new
 * profile from others.
 */
#include "core/model.h"

#include <stdlib.h>
#include <string.h>

#include "core/report.h"
#include "core/times.h"

#define TEXT_CHUNK ((size_t)64 << 10)

struct chunk {
	struct chunk *next;
	size_t used, room;
	char text[];
};

struct ct_profile_own {
	size_t types, samples, values, frames, label_sets, labels, mappings, locations, lines,
		functions, strings, comments; /* allocated sizes of the arrays */
	struct chunk *chunks;
	struct ct_table texts, sets;
	size_t texts_known; /* strings[0 .. texts_known - 1] are in TEXTS */
};

struct ct_profile *ct_model_new(void)
{
	struct ct_profile *p = ct_memory_alloc(sizeof(*p));

	p->own = ct_memory_alloc(sizeof(*p->own));
	*CT_PUSH(p->label_sets, p->label_set_count, p->own->label_sets) =
		(struct ct_label_set){ 0, 0 };
	ct_model_append_string(p, "", 0);
	/* Never NULL, so that "array + 0" is valid for an empty profile. */
	p->frames = ct_memory_grow(NULL, &p->own->frames, 1, sizeof(*p->frames));
	p->values = ct_memory_grow(NULL, &p->own->values, 1, sizeof(*p->values));
	p->labels = ct_memory_grow(NULL, &p->own->labels, 1, sizeof(*p->labels));
	p->lines = ct_memory_grow(NULL, &p->own->lines, 1, sizeof(*p->lines));
	return p;
}

void ct_model_free(struct ct_profile *p)
{
	struct chunk *next;

	if (!p)
		return;
	for (struct chunk *c = p->own->chunks; c; c = next) {
		next = c->next;
		free(c);
	}
	ct_times_drop(p);
	ct_idle_loops_free(p->loops);
	ct_table_release(&p->own->texts);
	ct_table_release(&p->own->sets);
	free(p->own);
	free(p->types);
	free(p->samples);
	free(p->values);
	free(p->frames);
	free(p->label_sets);
	free(p->labels);
	free(p->mappings);
	free(p->locations);
	free(p->lines);
	free(p->functions);
	free(p->strings);
	free(p->comments);
	free(p);
}

static char *text_room(struct ct_profile *p, size_t n)
{
	struct chunk *c = p->own->chunks;
	size_t room = n > TEXT_CHUNK ? n : TEXT_CHUNK;

	if (!c || c->room - c->used < n) {
		c = ct_memory_realloc(NULL, 1, sizeof(*c) + room);
		c->next = p->own->chunks;
		c->used = 0;
		c->room = room;
		p->own->chunks = c;
	}
	c->used += n;
	return c->text + c->used - n;
}

uint32_t ct_model_append_string(struct ct_profile *p, const char *text, size_t n)
{
	char *to = text_room(p, n + 1);

	if (n)
		memcpy(to, text, n);
	to[n] = '\0';
	for (char *nul = to; (nul = memchr(nul, '\0', (size_t)(to + n - nul)));)
		*nul = '?';
	*CT_PUSH(p->strings, p->string_count, p->own->strings) = to;
	return (uint32_t)(p->string_count - 1);
}

static bool same_text(const void *context, uint32_t index, const void *key)
{
	const struct ct_profile *p = context;

	return !strcmp(p->strings[index], key);
}

/* Makes appended text findable; among equal texts the first one is found. */
static void index_texts(struct ct_profile *p)
{
	for (; p->own->texts_known < p->string_count; p->own->texts_known++) {
		const char *text = p->strings[p->own->texts_known];
		uint64_t hash = ct_table_hash_text(text);

		if (ct_table_find(&p->own->texts, hash, same_text, p, text) == UINT32_MAX)
			ct_table_add(&p->own->texts, hash, (uint32_t)p->own->texts_known);
	}
}

/* Visits every reference to a string: marks it in NUMBER, or replaces it by its new number. */
static void refer(uint32_t *string, uint32_t *number, bool mark)
{
	if (mark)
		number[*string] = 1;
	else
		*string = number[*string];
}

static void refer_types(struct ct_profile *p, uint32_t *number, bool mark)
{
	uint32_t *others[] = { &p->period_type.type, &p->period_type.unit, &p->default_type,
			       &p->drop_frames,	     &p->keep_frames,	   &p->doc_url };

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		refer(others[i], number, mark);
	for (size_t i = 0; i < p->type_count; i++) {
		refer(&p->types[i].type, number, mark);
		refer(&p->types[i].unit, number, mark);
	}
	for (size_t i = 0; i < p->comment_count; i++)
		refer(&p->comments[i], number, mark);
}

static void mark_string(uint32_t *string, void *number)
{
	refer(string, number, true);
}

static void renumber_string(uint32_t *string, void *number)
{
	refer(string, number, false);
}

static void refer_all(struct ct_profile *p, uint32_t *number, bool mark)
{
	refer_types(p, number, mark);
	ct_times_strings(p->times, mark ? mark_string : renumber_string, number);
	for (size_t i = 0; i < p->mapping_count; i++) {
		refer(&p->mappings[i].file, number, mark);
		refer(&p->mappings[i].build_id, number, mark);
	}
	for (size_t i = 0; i < p->function_count; i++) {
		refer(&p->functions[i].name, number, mark);
		refer(&p->functions[i].system_name, number, mark);
		refer(&p->functions[i].filename, number, mark);
	}
	for (size_t i = 0; i < p->label_count; i++) {
		refer(&p->labels[i].key, number, mark);
		refer(&p->labels[i].text, number, mark);
		refer(&p->labels[i].unit, number, mark);
	}
}

void ct_model_drop_strings(struct ct_profile *p)
{
	uint32_t *number = ct_memory_alloc((p->string_count + 1) * sizeof(*number)), count = 1;

	refer_all(p, number, true);
	for (uint32_t i = 1; i < p->string_count; i++) {
		if (!number[i])
			continue;
		p->strings[count] = p->strings[i];
		number[i] = count++;
	}
	number[0] = 0;
	refer_all(p, number, false);
	free(number);
	p->string_count = count;
	/* The tables find strings by their text and label sets by their strings, and all strings
	 * have new numbers now, so the tables are made anew. */
	ct_table_release(&p->own->texts);
	ct_table_release(&p->own->sets);
	p->own->texts_known = 0;
}

uint32_t ct_model_string(struct ct_profile *p, const char *text)
{
	uint64_t hash = ct_table_hash_text(text);
	uint32_t index;

	index_texts(p);
	index = ct_table_find(&p->own->texts, hash, same_text, p, text);
	if (index == UINT32_MAX) {
		index = ct_model_append_string(p, text, strlen(text));
		index_texts(p);
	}
	return index;
}

struct wanted_set {
	const struct ct_label *labels;
	size_t count;
};

static bool same_set(const void *context, uint32_t index, const void *key)
{
	const struct ct_profile *p = context;
	const struct wanted_set *w = key;
	const struct ct_label *l = p->labels + p->label_sets[index].first;

	if (p->label_sets[index].count != w->count)
		return false;
	for (size_t i = 0; i < w->count; i++)
		if (l[i].key != w->labels[i].key || l[i].text != w->labels[i].text ||
		    l[i].unit != w->labels[i].unit || l[i].number != w->labels[i].number)
			return false;
	return true;
}

static uint64_t hash_set(const struct wanted_set *w)
{
	uint64_t h = w->count;

	for (size_t i = 0; i < w->count; i++) {
		h = ct_hash(h, (uint64_t)w->labels[i].key << 32 | w->labels[i].text);
		h = ct_hash(h, w->labels[i].unit);
		h = ct_hash(h, (uint64_t)w->labels[i].number);
	}
	return h;
}

uint32_t ct_model_label_set(struct ct_profile *p, const struct ct_label *labels, size_t count)
{
	struct wanted_set want = { labels, count };
	uint64_t hash = hash_set(&want);
	uint32_t index;

	if (!count)
		return 0;
	index = ct_table_find(&p->own->sets, hash, same_set, p, &want);
	if (index != UINT32_MAX)
		return index;
	*CT_PUSH(p->label_sets, p->label_set_count, p->own->label_sets) =
		(struct ct_label_set){ (uint32_t)p->label_count, (uint32_t)count };
	for (size_t i = 0; i < count; i++)
		*CT_PUSH(p->labels, p->label_count, p->own->labels) = labels[i];
	ct_table_add(&p->own->sets, hash, (uint32_t)(p->label_set_count - 1));
	return (uint32_t)(p->label_set_count - 1);
}

uint32_t ct_model_add_type(struct ct_profile *p, struct ct_type t)
{
	*CT_PUSH(p->types, p->type_count, p->own->types) = t;
	return (uint32_t)(p->type_count - 1);
}

uint32_t ct_model_add_mapping(struct ct_profile *p, const struct ct_mapping *m)
{
	*CT_PUSH(p->mappings, p->mapping_count, p->own->mappings) = *m;
	return (uint32_t)(p->mapping_count - 1);
}

uint32_t ct_model_add_function(struct ct_profile *p, const struct ct_function *f)
{
	*CT_PUSH(p->functions, p->function_count, p->own->functions) = *f;
	return (uint32_t)(p->function_count - 1);
}

void ct_model_set_lines(struct ct_profile *p, uint32_t location, const struct ct_line *lines,
			size_t line_count)
{
	struct ct_location *l = &p->locations[location];

	l->first_line = (uint32_t)p->line_count;
	l->line_count = (uint32_t)line_count;
	for (size_t i = 0; i < line_count; i++)
		*CT_PUSH(p->lines, p->line_count, p->own->lines) = lines[i];
}

uint32_t ct_model_add_location(struct ct_profile *p, const struct ct_location *l,
			       const struct ct_line *lines, size_t line_count)
{
	*CT_PUSH(p->locations, p->location_count, p->own->locations) = *l;
	ct_model_set_lines(p, (uint32_t)(p->location_count - 1), lines, line_count);
	return (uint32_t)(p->location_count - 1);
}

void ct_model_add_comment(struct ct_profile *p, uint32_t string)
{
	*CT_PUSH(p->comments, p->comment_count, p->own->comments) = string;
}

uint32_t ct_model_add_sample(struct ct_profile *p, const uint32_t *frames, size_t depth,
			     const int64_t *values, uint32_t label_set)
{
	struct ct_profile_own *own = p->own;

	*CT_PUSH(p->samples, p->sample_count, own->samples) =
		(struct ct_sample){ p->frame_count, (uint32_t)depth, label_set };
	if (own->frames - p->frame_count < depth)
		p->frames = ct_memory_grow(p->frames, &own->frames, p->frame_count + depth,
					   sizeof(*p->frames));
	if (depth)
		memcpy(p->frames + p->frame_count, frames, depth * sizeof(*frames));
	p->frame_count += depth;
	if (own->values < p->sample_count * p->type_count)
		p->values = ct_memory_grow(p->values, &own->values, p->sample_count * p->type_count,
					   sizeof(*p->values));
	if (p->type_count)
		memcpy(ct_values(p, p->sample_count - 1), values, p->type_count * sizeof(*values));
	return (uint32_t)(p->sample_count - 1);
}

size_t ct_model_default_type(const struct ct_profile *p)
{
	for (size_t i = 0; p->default_type && i < p->type_count; i++)
		if (!strcmp(ct_text(p, p->types[i].type), ct_text(p, p->default_type)))
			return i;
	return p->type_count ? p->type_count - 1 : 0;
}

size_t ct_model_type(const struct ct_profile *p, const char *name)
{
	size_t i = 0;

	while (i < p->type_count && strcmp(ct_text(p, p->types[i].type), name))
		i++;
	return i;
}

int64_t ct_model_total(const struct ct_profile *p, size_t index)
{
	int64_t sum = 0;

	for (size_t i = 0; i < p->sample_count; i++)
		sum = ct_add(sum, ct_values(p, i)[index]);
	return sum;
}

const struct ct_label *ct_model_label(const struct ct_profile *p, uint32_t set, const char *key)
{
	const struct ct_label *l = p->labels + p->label_sets[set].first;

	for (uint32_t i = 0; i < p->label_sets[set].count; i++)
		if (!strcmp(ct_text(p, l[i].key), key))
			return &l[i];
	return NULL;
}

bool ct_model_is_of_moment(const struct ct_profile *p, size_t index)
{
	/* The beginnings of types that describe a moment, as the library's modes declare them
	 * (output.h, MOMENTS). */
	static const char *const begins[] = { "inuse_",	  "peak_",	"alive_",
					      "held_",	  "page_",	"resident_",
					      "swapped_", "untouched_", "usable_" };
	const char *type = ct_text(p, p->types[index].type);
	bool is = false;

	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		is |= !strncmp(type, begins[i], strlen(begins[i]));
	return is;
}

static uint32_t kept_set(struct ct_profile *p, uint32_t set,
			 bool (*is_kept)(struct ct_profile *p, uint32_t key, void *arg), void *arg)
{
	struct ct_label_set from = p->label_sets[set];
	struct ct_label *left = ct_memory_alloc(from.count * sizeof(*left));
	size_t n = 0;

	for (uint32_t i = 0; i < from.count; i++) {
		const struct ct_label *l = &p->labels[from.first + i];

		if (is_kept(p, l->key, arg))
			left[n++] = *l;
	}
	set = ct_model_label_set(p, left, n);
	free(left);
	return set;
}

void ct_model_keep_labels(struct ct_profile *p,
			  bool (*is_kept)(struct ct_profile *p, uint32_t key, void *arg), void *arg)
{
	size_t sets = p->label_set_count;
	uint32_t *to = ct_memory_alloc(sets * sizeof(*to));

	for (uint32_t i = 0; i < sets; i++)
		to[i] = kept_set(p, i, is_kept, arg);
	for (size_t i = 0; i < p->sample_count; i++)
		p->samples[i].label_set = to[p->samples[i].label_set];
	free(to);
}

struct stripped {
	struct ct_regex *only, *keep;
};

static bool stays(struct ct_profile *p, uint32_t key, void *arg)
{
	const struct stripped *s = arg;

	return (s->keep && ct_regex_match_string(s->keep, p, key)) ||
	       (s->only && !ct_regex_match_string(s->only, p, key));
}

void ct_model_strip_labels(struct ct_profile *p, struct ct_regex *only, struct ct_regex *keep)
{
	ct_model_keep_labels(p, stays, &(struct stripped){ only, keep });
}
