/* Building a profile in memory; see profile.h. Called by the reader and by every verb that
 * makes a new profile of others.
 */
#include "profile.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

#define TEXT_CHUNK ((size_t)64 << 10)

/* Open addressing: slots hold index + 1, 0 is free. */
struct table {
	uint32_t *slots;
	size_t room, used;
};

struct chunk {
	struct chunk *next;
	size_t used, room;
	char text[];
};

struct ct_profile_own {
	size_t types, samples, values, frames, label_sets, labels, mappings, locations, lines,
		functions, strings, comments; /* rooms */
	struct chunk *chunks;
	struct table texts, sets;
	size_t texts_known; /* strings[0 .. texts_known - 1] are in TEXTS */
};

static uint64_t hash_bytes(const void *data, size_t n)
{
	const unsigned char *p = data;
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * UINT64_C(0x100000001b3);
	return h ^ h >> 29;
}

struct ct_profile *ct_profile_new(void)
{
	struct ct_profile *p = ct_alloc(sizeof(*p));

	p->own = ct_alloc(sizeof(*p->own));
	*CT_PUSH(p->label_sets, p->label_set_count, p->own->label_sets) =
		(struct ct_label_set){ 0, 0 };
	ct_profile_append_string(p, "", 0);
	return p;
}

void ct_profile_free(struct ct_profile *p)
{
	struct chunk *next;

	if (!p)
		return;
	for (struct chunk *c = p->own->chunks; c; c = next) {
		next = c->next;
		free(c);
	}
	free(p->own->texts.slots);
	free(p->own->sets.slots);
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
		c = ct_realloc(NULL, 1, sizeof(*c) + room);
		c->next = p->own->chunks;
		c->used = 0;
		c->room = room;
		p->own->chunks = c;
	}
	c->used += n;
	return c->text + c->used - n;
}

uint32_t ct_profile_append_string(struct ct_profile *p, const char *text, size_t n)
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

/* Twice the room, each index at its new place. */
static void rehash(struct table *t, uint64_t (*hash)(const struct ct_profile *, uint32_t),
		   const struct ct_profile *p)
{
	struct table bigger = { .room = t->room ? t->room * 2 : 64, .used = t->used };

	bigger.slots = ct_alloc(bigger.room * sizeof(*bigger.slots));
	for (size_t i = 0; i < t->room; i++) {
		size_t at;

		if (!t->slots[i])
			continue;
		at = hash(p, t->slots[i] - 1);
		while (bigger.slots[at &= bigger.room - 1])
			at++;
		bigger.slots[at] = t->slots[i];
	}
	free(t->slots);
	*t = bigger;
}

static uint64_t hash_text(const struct ct_profile *p, uint32_t i)
{
	return hash_bytes(p->strings[i], strlen(p->strings[i]));
}

/* The slot of TEXT, or the free one where it belongs. */
static uint32_t *text_slot(struct ct_profile *p, const char *text)
{
	struct table *t = &p->own->texts;
	size_t at;

	if ((t->used + 1) * 4 > t->room * 3)
		rehash(t, hash_text, p);
	at = hash_bytes(text, strlen(text)) & (t->room - 1);
	while (t->slots[at] && strcmp(p->strings[t->slots[at] - 1], text))
		at = (at + 1) & (t->room - 1);
	return &t->slots[at];
}

/* Text that was appended becomes findable; of equal ones the first. */
static void index_texts(struct ct_profile *p)
{
	for (; p->own->texts_known < p->string_count; p->own->texts_known++) {
		uint32_t *slot = text_slot(p, p->strings[p->own->texts_known]);

		if (!*slot) {
			*slot = (uint32_t)p->own->texts_known + 1;
			p->own->texts.used++;
		}
	}
}

uint32_t ct_profile_string(struct ct_profile *p, const char *text)
{
	uint32_t *slot;

	index_texts(p);
	slot = text_slot(p, text);
	if (!*slot) {
		*slot = ct_profile_append_string(p, text, strlen(text)) + 1;
		p->own->texts.used++;
		p->own->texts_known++;
	}
	return *slot - 1;
}

static bool same_label(const struct ct_label *a, const struct ct_label *b)
{
	return a->key == b->key && a->text == b->text && a->unit == b->unit &&
	       a->number == b->number;
}

static uint64_t hash_labels(const struct ct_label *labels, size_t count)
{
	uint64_t h = count;

	for (size_t i = 0; i < count; i++) {
		uint64_t words[] = { labels[i].key, labels[i].text, labels[i].unit,
				     (uint64_t)labels[i].number };

		for (size_t w = 0; w < 4; w++)
			h = (h ^ words[w]) * UINT64_C(0x9e3779b97f4a7c15), h ^= h >> 32;
	}
	return h;
}

static uint64_t hash_set(const struct ct_profile *p, uint32_t i)
{
	return hash_labels(p->labels + p->label_sets[i].first, p->label_sets[i].count);
}

static bool same_set(const struct ct_profile *p, uint32_t set, const struct ct_label *labels,
		     size_t count)
{
	if (p->label_sets[set].count != count)
		return false;
	for (size_t i = 0; i < count; i++)
		if (!same_label(&p->labels[p->label_sets[set].first + i], &labels[i]))
			return false;
	return true;
}

uint32_t ct_profile_label_set(struct ct_profile *p, const struct ct_label *labels, size_t count)
{
	struct table *t = &p->own->sets;
	struct ct_label_set *set;
	size_t at;

	if (!count)
		return 0;
	if ((t->used + 1) * 4 > t->room * 3)
		rehash(t, hash_set, p);
	at = hash_labels(labels, count) & (t->room - 1);
	while (t->slots[at] && !same_set(p, t->slots[at] - 1, labels, count))
		at = (at + 1) & (t->room - 1);
	if (t->slots[at])
		return t->slots[at] - 1;
	set = CT_PUSH(p->label_sets, p->label_set_count, p->own->label_sets);
	*set = (struct ct_label_set){ (uint32_t)p->label_count, (uint32_t)count };
	for (size_t i = 0; i < count; i++)
		*CT_PUSH(p->labels, p->label_count, p->own->labels) = labels[i];
	t->used++;
	t->slots[at] = (uint32_t)p->label_set_count;
	return t->slots[at] - 1;
}

uint32_t ct_profile_add_type(struct ct_profile *p, struct ct_type t)
{
	*CT_PUSH(p->types, p->type_count, p->own->types) = t;
	return (uint32_t)(p->type_count - 1);
}

uint32_t ct_profile_add_mapping(struct ct_profile *p, const struct ct_mapping *m)
{
	*CT_PUSH(p->mappings, p->mapping_count, p->own->mappings) = *m;
	return (uint32_t)(p->mapping_count - 1);
}

uint32_t ct_profile_add_function(struct ct_profile *p, const struct ct_function *f)
{
	*CT_PUSH(p->functions, p->function_count, p->own->functions) = *f;
	return (uint32_t)(p->function_count - 1);
}

void ct_profile_set_lines(struct ct_profile *p, uint32_t location, const struct ct_line *lines,
			  size_t line_count)
{
	struct ct_location *l = &p->locations[location];

	l->first_line = (uint32_t)p->line_count;
	l->line_count = (uint32_t)line_count;
	for (size_t i = 0; i < line_count; i++)
		*CT_PUSH(p->lines, p->line_count, p->own->lines) = lines[i];
}

uint32_t ct_profile_add_location(struct ct_profile *p, const struct ct_location *l,
				 const struct ct_line *lines, size_t line_count)
{
	*CT_PUSH(p->locations, p->location_count, p->own->locations) = *l;
	ct_profile_set_lines(p, (uint32_t)(p->location_count - 1), lines, line_count);
	return (uint32_t)(p->location_count - 1);
}

void ct_profile_add_comment(struct ct_profile *p, uint32_t string)
{
	*CT_PUSH(p->comments, p->comment_count, p->own->comments) = string;
}

uint32_t ct_profile_add_sample(struct ct_profile *p, const uint32_t *frames, size_t depth,
			       const int64_t *values, uint32_t label_set)
{
	struct ct_profile_own *own = p->own;

	*CT_PUSH(p->samples, p->sample_count, own->samples) =
		(struct ct_sample){ p->frame_count, (uint32_t)depth, label_set };
	if (own->frames - p->frame_count < depth)
		p->frames = ct_grow(p->frames, &own->frames, p->frame_count + depth,
				    sizeof(*p->frames));
	if (depth)
		memcpy(p->frames + p->frame_count, frames, depth * sizeof(*frames));
	p->frame_count += depth;
	if (own->values < p->sample_count * p->type_count)
		p->values = ct_grow(p->values, &own->values, p->sample_count * p->type_count,
				    sizeof(*p->values));
	if (p->type_count)
		memcpy(ct_values(p, p->sample_count - 1), values, p->type_count * sizeof(*values));
	return (uint32_t)(p->sample_count - 1);
}

size_t ct_profile_default_type(const struct ct_profile *p)
{
	for (size_t i = 0; p->default_type && i < p->type_count; i++)
		if (!strcmp(ct_text(p, p->types[i].type), ct_text(p, p->default_type)))
			return i;
	return p->type_count ? p->type_count - 1 : 0;
}
