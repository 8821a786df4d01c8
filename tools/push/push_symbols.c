/* SPDX-License-Identifier: BSD-3-Clause */
/* A book of symbolized locations; see push.h.
 *
 * The book is itself a profile. A location of it has the offset in the module's file as its
 * address, so that it serves all processes that have loaded the module, wherever that is.
 */
#include "push/push.h"

#include <stdlib.h>
#include <string.h>

#include "verbs/verbs.h"

/* Most locations in the book, at some 100 bytes each; then it begins anew. */
#define LOCATIONS_MAX 500000

struct ct_push_symbols {
	const char *const *roots;
	struct ct_profile *book;
	struct ct_functions functions; /* functions of the book */
	struct ct_table places;	       /* the book's locations by module and offset */
};

/* One call of ct_push_symbols_apply. */
struct work {
	struct ct_push_symbols *s;
	struct ct_profile *p;
	uint32_t *module;  /* by mapping of P: mapping of the book, or CT_NONE */
	uint32_t *missing; /* locations of P that are not in the book */
	size_t missing_count, missing_room;
};

static void begin_book(struct ct_push_symbols *s)
{
	s->book = ct_model_new();
	s->functions = (struct ct_functions){ .p = s->book };
	s->places = (struct ct_table){ 0 };
}

static void end_book(struct ct_push_symbols *s)
{
	ct_table_release(&s->places);
	ct_table_release(&s->functions.table);
	ct_model_free(s->book);
}

struct ct_push_symbols *ct_push_symbols_new(const char *const *roots)
{
	struct ct_push_symbols *s = ct_memory_alloc(sizeof(*s));

	s->roots = roots;
	begin_book(s);
	return s;
}

void ct_push_symbols_free(struct ct_push_symbols *s)
{
	end_book(s);
	free(s);
}

/* ---- places ---- */

static bool same_place(const void *book, uint32_t index, const void *key)
{
	const struct ct_location *a = &((const struct ct_profile *)book)->locations[index];
	const struct ct_location *b = key;

	return a->mapping == b->mapping && a->address == b->address;
}

static uint64_t hash_of(const struct ct_location *place)
{
	return ct_hash(ct_hash(1, place->mapping), place->address);
}

static uint32_t find_location(const struct ct_push_symbols *s, const struct ct_location *place)
{
	return ct_table_find(&s->places, hash_of(place), same_place, s->book, place);
}

/* Returns the key of location I of P in the book. */
static struct ct_location place_of(const struct work *w, uint32_t i)
{
	const struct ct_location *l = &w->p->locations[i];
	const struct ct_mapping *m = &w->p->mappings[l->mapping];

	return (struct ct_location){ .mapping = w->module[l->mapping],
				     .address = l->address - m->start + m->offset };
}

static bool is_for_us(const struct work *w, uint32_t i)
{
	const struct ct_location *l = &w->p->locations[i];

	return l->mapping != CT_NONE && w->module[l->mapping] != CT_NONE &&
	       !(l->line_count && w->p->lines[l->first_line].line);
}

/* ---- modules ---- */

static uint32_t book_mapping(struct ct_push_symbols *s, const struct ct_profile *p,
			     const struct ct_mapping *m)
{
	struct ct_mapping copy = { .start = 0 };

	for (uint32_t i = 0; i < s->book->mapping_count; i++) {
		const struct ct_mapping *known = &s->book->mappings[i];

		if (!strcmp(ct_text(s->book, known->file), ct_text(p, m->file)) &&
		    !strcmp(ct_text(s->book, known->build_id), ct_text(p, m->build_id)))
			return i;
	}
	copy.file = ct_model_string(s->book, ct_text(p, m->file));
	copy.build_id = ct_model_string(s->book, ct_text(p, m->build_id));
	return ct_model_add_mapping(s->book, &copy);
}

static void find_modules(struct work *w)
{
	w->module = ct_memory_alloc((w->p->mapping_count + 1) * sizeof(*w->module));
	for (size_t i = 0; i < w->p->mapping_count; i++) {
		const struct ct_mapping *m = &w->p->mappings[i];
		bool to_do = *ct_text(w->p, m->file) == '/' && m->limit > m->start &&
			     !(m->has_filenames && m->has_lines);

		w->module[i] = to_do ? book_mapping(w->s, w->p, m) : CT_NONE;
	}
}

static void find_missing(struct work *w)
{
	for (uint32_t i = 0; i < w->p->location_count; i++) {
		struct ct_location place;

		if (!is_for_us(w, i))
			continue;
		place = place_of(w, i);
		if (find_location(w->s, &place) == UINT32_MAX)
			*CT_PUSH(w->missing, w->missing_count, w->missing_room) = i;
	}
}

/* ---- from one profile to another ---- */

static void add_location(struct ct_functions *to, const struct ct_location *l,
			 const struct ct_profile *from, const struct ct_location *with)
{
	struct ct_line *lines = ct_symbolize_functions_copy(to, from, with);

	ct_model_add_location(to->p, l, lines, with->line_count);
	free(lines);
}

/* Makes a profile with only the missing locations. */
static struct ct_profile *questions(struct work *w)
{
	struct ct_profile *q = ct_model_new();
	struct ct_functions functions = { .p = q };

	for (size_t i = 0; i < w->p->mapping_count; i++) {
		struct ct_mapping m = w->p->mappings[i];

		m.file = ct_model_string(q, ct_text(w->p, m.file));
		m.build_id = ct_model_string(q, ct_text(w->p, m.build_id));
		ct_model_add_mapping(q, &m);
	}
	for (size_t i = 0; i < w->missing_count; i++) {
		const struct ct_location *l = &w->p->locations[w->missing[i]];
		struct ct_location copy = *l;

		add_location(&functions, &copy, w->p, l);
	}
	ct_table_release(&functions.table);
	return q;
}

static void ask_symbolizer(struct work *w)
{
	struct ct_profile *q = questions(w);
	struct ct_symbolized done;

	ct_symbolize_profile(q, w->s->roots, &done);
	for (size_t i = 0; i < w->missing_count; i++) {
		struct ct_location place = place_of(w, w->missing[i]);

		/* Two locations of P may be the same place. */
		if (find_location(w->s, &place) != UINT32_MAX)
			continue;
		ct_table_add(&w->s->places, hash_of(&place), (uint32_t)w->s->book->location_count);
		add_location(&w->s->functions, &place, q, &q->locations[i]);
	}
	for (size_t i = 0; i < q->mapping_count; i++)
		if (w->module[i] != CT_NONE)
			ct_mapping_join_flags(&w->s->book->mappings[w->module[i]], &q->mappings[i]);
	ct_model_free(q);
}

static void apply_all(struct work *w)
{
	struct ct_functions functions = { .p = w->p };
	const struct ct_profile *book = w->s->book;

	for (uint32_t i = 0; i < w->p->location_count; i++) {
		struct ct_location place;
		const struct ct_location *known;
		struct ct_line *lines;

		if (!is_for_us(w, i))
			continue;
		place = place_of(w, i);
		known = &book->locations[find_location(w->s, &place)];
		if (!known->line_count)
			continue;
		lines = ct_symbolize_functions_copy(&functions, book, known);
		ct_model_set_lines(w->p, i, lines, known->line_count);
		free(lines);
	}
	for (size_t i = 0; i < w->p->mapping_count; i++)
		if (w->module[i] != CT_NONE)
			ct_mapping_join_flags(&w->p->mappings[i], &book->mappings[w->module[i]]);
	ct_symbolize_functions_finish(&functions);
}

void ct_push_symbols_apply(struct ct_push_symbols *s, struct ct_profile *p)
{
	struct work w = { .s = s, .p = p };

	if (s->book->location_count > LOCATIONS_MAX) {
		end_book(s);
		begin_book(s);
	}
	find_modules(&w);
	find_missing(&w);
	if (w.missing_count)
		ask_symbolizer(&w);
	apply_all(&w);
	ct_model_drop_strings(p);
	free(w.missing);
	free(w.module);
}
