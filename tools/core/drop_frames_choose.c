/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses the library functions that pprof may leave out of a heap or lock profile; see
 * model.h. Called when a profile has got its lines, and when profiles are merged.
 *
 * A function is named if every sample shows it at the inner end of a stack, where its callees are
 * all such functions or functions that the library put into drop_frames. Only the outermost
 * function of a stack's end has to be named, because pprof also leaves out its callees.
 */
#include <stdlib.h>
#include <string.h>

#include "core/report.h"

/* pprof matches each function's name with the whole expression. These limits suffice for the inner
 * ends of nearly all stacks of clang and of Chromium. */
#define NAMES_MOST 256
#define BYTES_MOST (32 << 10)
/* Separates the library's expression from the part that is added here. */
#define ADDED "|("

struct name {
	char *text;	/* the name in the form that pprof compares */
	bool library;	/* it belongs to a library, so it may be left out */
	bool fixed;	/* it is in the library's drop_frames */
	bool calls;	/* it has a callee that must stay */
	int64_t weight; /* sum of the samples whose outermost droppable function this is */
};

struct choice {
	struct ct_profile *p;
	struct ct_table table;
	struct name *names;
	size_t count, room;
	uint32_t *of; /* by function: index of its name */
};

static bool is_called(const void *context, uint32_t index, const void *key)
{
	return !strcmp(((const struct choice *)context)->names[index].text, key);
}

/* Returns the index of TEXT. The table owns TEXT from then on. */
static uint32_t name_index(struct choice *c, char *text)
{
	uint64_t hash = ct_table_hash_text(text);
	uint32_t index = ct_table_find(&c->table, hash, is_called, c, text);

	if (index != UINT32_MAX) {
		free(text);
		return index;
	}
	ct_table_add(&c->table, hash, (uint32_t)c->count);
	*CT_PUSH(c->names, c->count, c->room) = (struct name){ .text = text, .library = true };
	return (uint32_t)c->count - 1;
}

/* Several functions may have the same name without parameters. If one of them must stay, all stay.
 */
static void read_names(struct choice *c, struct ct_regex *fixed)
{
	c->of = ct_memory_alloc((c->p->function_count + 1) * sizeof(*c->of));
	for (size_t i = 0; i < c->p->function_count; i++) {
		const struct ct_function *f = &c->p->functions[i];
		const char *text = ct_text(c->p, f->name);
		struct name *n;

		c->of[i] = name_index(c, ct_drop_frames_name(text));
		n = &c->names[c->of[i]];
		n->fixed = *n->text && ct_regex_match(fixed, n->text);
		n->library &=
			*n->text &&
			(n->fixed || ct_own_is_library_function(text, ct_text(c->p, f->system_name),
								ct_text(c->p, f->filename)));
	}
}

/* Calls SEE for each line of sample I, the innermost first, until it returns false. A line without
 * a function has the name NULL. */
static void walk_lines(struct choice *c, size_t i, bool (*see)(struct name *, void *),
		       void *context)
{
	const struct ct_profile *p = c->p;
	const struct ct_sample *s = &p->samples[i];

	for (uint32_t k = 0; k < s->depth; k++) {
		const struct ct_location *l = &p->locations[ct_frames(p, s)[k]];

		for (uint32_t line = 0; line < l->line_count; line++) {
			uint32_t f = p->lines[l->first_line + line].function;

			if (!see(f == CT_NONE ? NULL : &c->names[c->of[f]], context))
				return;
		}
		if (!l->line_count && !see(NULL, context))
			return;
	}
}

static bool see_calls(struct name *n, void *context)
{
	bool *must_stay = context;

	if (n)
		n->calls |= *must_stay;
	*must_stay |= !n || !n->library;
	return true;
}

struct end {
	struct name *outermost; /* the outermost name that may be left out */
	bool whole;		/* every frame of the stack would be left out */
};

static bool see_end(struct name *n, void *context)
{
	struct end *e = context;

	e->whole = n && n->library;
	if (e->whole && !n->calls)
		e->outermost = n;
	return e->whole;
}

static void weigh_names(struct choice *c)
{
	size_t type = ct_model_default_type(c->p);

	for (size_t i = 0; i < c->p->sample_count; i++) {
		bool must_stay = false;

		walk_lines(c, i, see_calls, &must_stay);
	}
	for (size_t i = 0; i < c->p->sample_count; i++) {
		struct end e = { NULL, false };
		int64_t value = ct_values(c->p, i)[type];

		walk_lines(c, i, see_end, &e);
		if (e.outermost && !e.whole)
			e.outermost->weight =
				ct_add(e.outermost->weight, ct_add(value > 0 ? value : 0, 1));
	}
}

static int by_weight(const void *x, const void *y)
{
	const struct name *a = x, *b = y;

	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return strcmp(a->text, b->text);
}

struct expression {
	char text[BYTES_MOST];
	size_t used, names;
};

/* Adds a name, as an expression that matches it literally, if there is room. */
static void add_name(struct expression *e, const char *name)
{
	size_t room = 2 * strlen(name) + 2;

	if (e->names == NAMES_MOST || sizeof(e->text) - e->used < room)
		return;
	if (e->names++)
		e->text[e->used++] = '|';
	for (; *name; name++) {
		if (strchr("\\.+*?()|[]{}^$", *name))
			e->text[e->used++] = '\\';
		e->text[e->used++] = *name;
	}
	e->text[e->used] = '\0';
}

/* FIXED is the part of drop_frames that the library wrote. */
static void set_expression(struct choice *c, const char *fixed)
{
	struct expression *drop = ct_memory_alloc(sizeof(*drop)),
			  *keep = ct_memory_alloc(sizeof(*keep));
	char *text;

	if (c->count)
		qsort(c->names, c->count, sizeof(*c->names), by_weight);
	for (size_t i = 0; i < c->count; i++) {
		const struct name *n = &c->names[i];

		if (n->fixed && n->calls)
			add_name(keep, n->text);
		else if (!n->fixed && n->weight)
			add_name(drop, n->text);
	}
	text = drop->names ? ct_memory_printf("%s" ADDED "%s)", fixed, drop->text)
			   : ct_memory_strdup(fixed);
	c->p->drop_frames = ct_model_string(c->p, text);
	c->p->keep_frames = ct_model_string(c->p, keep->text);
	free(text);
	free(drop);
	free(keep);
}

static void release_choice(struct choice *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->names[i].text);
	free(c->names);
	free(c->of);
	ct_table_release(&c->table);
}

void ct_drop_frames_choose(struct ct_profile *p)
{
	struct choice c = { .p = p };
	struct ct_regex *r;
	char *fixed, *added, *whole;

	if (!p->drop_frames || !ct_drop_frames_ours(p))
		return;
	fixed = ct_memory_strdup(ct_text(p, p->drop_frames));
	added = strstr(fixed, ADDED);
	if (added)
		*added = '\0';
	whole = ct_memory_printf("^(%s)$", fixed);
	r = ct_regex_new("drop_frames (the file's)", whole);
	if (r) {
		read_names(&c, r);
		weigh_names(&c);
		set_expression(&c, fixed);
		release_choice(&c);
	}
	ct_regex_free(r);
	free(whole);
	free(fixed);
}
