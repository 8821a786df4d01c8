/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts by line and inlined function, for compilers; see pgo.h. */
#include "convert/pgo.h"

#include <inttypes.h>
#include <stdlib.h>

/* The places with lines, sorted by function, then by the way through inlined calls. */
struct tree {
	const struct ct_pgo *pgo;
	const struct ct_pgo_place **list;
	size_t count;
	size_t *first_call; /* by place: number of its first call; PLACE_COUNT + 1 of them */
};

/* A part of the list is a function: a physical one (DEPTH 0), or one that was inlined. */
struct part {
	size_t begin, end;
	unsigned depth;
};

/* ---- order ---- */

static int compare(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

static bool is_leaf(const struct ct_pgo_place *p, unsigned depth)
{
	return depth + 1 == p->count;
}

/* By line, discriminator, and what stands there: its own instructions, or an inlined function. */
static int compare_at(const struct ct_pgo_place *a, const struct ct_pgo_place *b, unsigned depth)
{
	const struct ct_pgo_frame *f = &a->frames[depth], *g = &b->frames[depth];

	if (f->line != g->line)
		return compare(f->line, g->line);
	if (f->discriminator != g->discriminator)
		return compare(f->discriminator, g->discriminator);
	if (is_leaf(a, depth) || is_leaf(b, depth))
		return is_leaf(b, depth) - is_leaf(a, depth);
	return compare(f[1].function, g[1].function);
}

static int by_way(const void *x, const void *y)
{
	const struct ct_pgo_place *const *a = x, *const *b = y;
	int r = compare((*a)->frames->function, (*b)->frames->function);

	for (unsigned depth = 0; !r && depth < (*a)->count && depth < (*b)->count; depth++)
		r = compare_at(*a, *b, depth);
	return r;
}

static void make_tree(struct tree *t, const struct ct_pgo *pgo)
{
	*t = (struct tree){ .pgo = pgo };
	t->list = ct_memory_alloc((pgo->place_count + 1) * sizeof(*t->list));
	t->first_call = ct_memory_alloc((pgo->place_count + 1) * sizeof(*t->first_call));
	for (size_t i = 0, c = 0; i < pgo->place_count; i++) {
		t->first_call[i] = c;
		while (c < pgo->call_count && pgo->calls[c].from == i)
			c++;
		t->first_call[i + 1] = c;
		if (pgo->places[i].count && (pgo->places[i].self || c > t->first_call[i]))
			t->list[t->count++] = &pgo->places[i];
	}
	if (t->count)
		qsort(t->list, t->count, sizeof(*t->list), by_way);
}

static void free_tree(struct tree *t)
{
	free(t->list);
	free(t->first_call);
}

/* Moves N to the next physical function. Returns false after the last. */
static bool next_function(const struct tree *t, struct part *n)
{
	n->begin = n->end;
	while (n->end < t->count &&
	       t->list[n->end]->frames->function == t->list[n->begin]->frames->function)
		n->end++;
	return n->begin < t->count;
}

/* Moves E, which is empty at first, to the next entry of N: a line, or a function that was inlined
 * at one. Returns false after the last. */
static bool next_entry(const struct tree *t, const struct part *n, struct part *e)
{
	e->begin = e->end;
	e->depth = n->depth + 1;
	while (e->end < n->end && !compare_at(t->list[e->begin], t->list[e->end], n->depth))
		e->end++;
	return e->begin < n->end;
}

static struct part no_entry(const struct part *n)
{
	return (struct part){ n->begin, n->begin, n->depth + 1 };
}

static bool is_line(const struct tree *t, const struct part *entry)
{
	return is_leaf(t->list[entry->begin], entry->depth - 1);
}

static const struct ct_pgo_frame *frame_of(const struct tree *t, const struct part *n)
{
	return &t->list[n->begin]->frames[n->depth];
}

/* ---- counts ---- */

/* The count of a line. What was on a stack has run, though perhaps no sample found it. */
static uint64_t count_of(const struct tree *t, const struct part *line)
{
	uint64_t most = 0;

	for (size_t i = line->begin; i < line->end; i++) {
		uint64_t self = t->list[i]->self ? t->list[i]->self : 1;

		most = self > most ? self : most;
	}
	return most;
}

static uint64_t total_of(const struct tree *t, const struct part *n)
{
	struct part e = no_entry(n);
	uint64_t sum = 0;

	while (next_entry(t, n, &e))
		sum += is_line(t, &e) ? count_of(t, &e) : total_of(t, &e);
	return sum;
}

/* Returns how often the function N was entered, as far as samples show it: the count of its first
 * line, whose instructions prepare its frame. The time in the function says nothing of that. */
static uint64_t head_of(const struct tree *t, const struct part *n)
{
	struct part first = no_entry(n);

	next_entry(t, n, &first);
	return is_line(t, &first) && !frame_of(t, n)->line ? count_of(t, &first) : 1;
}

/* Sets *COUNT functions that instructions of a line were seen calling, each once, as TO. The caller
 * frees the list. */
static struct ct_pgo_call *targets_of(const struct tree *t, const struct part *line,
				      uint32_t *count)
{
	struct ct_pgo_call *list = NULL;
	size_t n = 0, room = 0;

	for (size_t i = line->begin; i < line->end; i++) {
		size_t place = (size_t)(t->list[i] - t->pgo->places);

		for (size_t c = t->first_call[place]; c < t->first_call[place + 1]; c++) {
			struct ct_pgo_call call = t->pgo->calls[c];

			if (!t->pgo->places[call.to].count)
				continue;
			call.from = 0; /* of one line */
			call.to = t->pgo->places[call.to].frames->function;
			*CT_PUSH(list, n, room) = call;
		}
	}
	*count = (uint32_t)ct_pgo_join(list, n);
	return list;
}

/* ---- LLVM's text ---- */

static const char *name_of(const struct tree *t, uint32_t function)
{
	return ct_text(t->pgo->names, function);
}

static void put_line(const struct tree *t, FILE *to, const struct part *line)
{
	uint32_t n;
	struct ct_pgo_call *targets = targets_of(t, line, &n);

	fprintf(to, "%" PRIu64, count_of(t, line));
	for (uint32_t i = 0; i < n; i++)
		fprintf(to, " %s:%" PRIu64, name_of(t, targets[i].to), targets[i].samples);
	fputc('\n', to);
	free(targets);
}

static void put_part(const struct tree *t, FILE *to, const struct part *n)
{
	struct part e = no_entry(n);

	while (next_entry(t, n, &e)) {
		const struct ct_pgo_frame *f = &t->list[e.begin]->frames[n->depth];

		fprintf(to, "%*s%u", (int)n->depth + 1, "", f->line);
		if (f->discriminator)
			fprintf(to, ".%u", f->discriminator);
		fputs(": ", to);
		if (is_line(t, &e)) {
			put_line(t, to, &e);
			continue;
		}
		fprintf(to, "%s:%" PRIu64 "\n", name_of(t, f[1].function), total_of(t, &e));
		put_part(t, to, &e);
	}
}

void ct_pgo_tree_llvm(const void *context, FILE *to)
{
	struct part n = { 0, 0, 0 };
	struct tree t;

	make_tree(&t, ((const struct ct_convert *)context)->pgo);
	while (next_function(&t, &n)) {
		fprintf(to, "%s:%" PRIu64 ":%" PRIu64 "\n", name_of(&t, frame_of(&t, &n)->function),
			total_of(&t, &n), head_of(&t, &n));
		put_part(&t, to, &n);
	}
	free_tree(&t);
}

/* ---- GCC's file: words of 32 bits, counters of 64 with the lower word first ---- */

#define GCC_MAGIC 0x67636461u /* "gcda" */
#define GCC_VERSION 2u
#define GCC_NAMES 0xaa000000u
#define GCC_FUNCTIONS 0xac000000u
#define GCC_MODULES 0xae000000u
#define GCC_INDIRECT_CALL 7u

static void put_word(FILE *to, uint32_t word)
{
	fwrite(&word, sizeof(word), 1, to);
}

static void put_counter(FILE *to, uint64_t value)
{
	put_word(to, (uint32_t)value);
	put_word(to, (uint32_t)(value >> 32));
}

/* The length that follows a tag is not read. */
static void put_table(FILE *to, uint32_t tag, uint32_t entries)
{
	put_word(to, tag);
	put_word(to, 0);
	put_word(to, entries);
}

static void put_gcc_line(const struct tree *t, FILE *to, const struct part *line)
{
	uint32_t n;
	struct ct_pgo_call *targets = targets_of(t, line, &n);

	put_word(to, n);
	put_counter(to, count_of(t, line));
	for (uint32_t i = 0; i < n; i++) {
		put_word(to, GCC_INDIRECT_CALL);
		put_counter(to, targets[i].to);
		put_counter(to, targets[i].samples);
	}
	free(targets);
}

static void put_gcc_part(const struct tree *t, FILE *to, const struct part *n);

/* Writes the lines of N, or the functions that were inlined into it. Returns their number; TO NULL:
 * only that. */
static uint32_t put_gcc_entries(const struct tree *t, FILE *to, const struct part *n, bool lines)
{
	struct part e = no_entry(n);
	uint32_t count = 0;

	while (next_entry(t, n, &e)) {
		const struct ct_pgo_frame *f = &t->list[e.begin]->frames[n->depth];

		if (is_line(t, &e) != lines)
			continue;
		count++;
		if (!to)
			continue;
		put_word(to, (uint32_t)f->line << 16 | f->discriminator);
		if (lines)
			put_gcc_line(t, to, &e);
		else
			put_gcc_part(t, to, &e);
	}
	return count;
}

static void put_gcc_part(const struct tree *t, FILE *to, const struct part *n)
{
	put_word(to, frame_of(t, n)->function);
	put_word(to, put_gcc_entries(t, NULL, n, true));
	put_word(to, put_gcc_entries(t, NULL, n, false));
	put_gcc_entries(t, to, n, true);
	put_gcc_entries(t, to, n, false);
}

void ct_pgo_tree_gcc(const void *context, FILE *to)
{
	const struct ct_pgo *pgo = ((const struct ct_convert *)context)->pgo;
	struct part n = { 0, 0, 0 };
	uint32_t functions = 0;
	struct tree t;

	make_tree(&t, pgo);
	put_word(to, GCC_MAGIC);
	put_word(to, GCC_VERSION);
	put_word(to, 0);
	put_table(to, GCC_NAMES, (uint32_t)pgo->names->string_count);
	for (size_t i = 0; i < pgo->names->string_count; i++) {
		const char *name = ct_text(pgo->names, (uint32_t)i);

		put_word(to, (uint32_t)strlen(name) + 1);
		fwrite(name, 1, strlen(name) + 1, to);
	}
	while (next_function(&t, &n))
		functions++;
	put_table(to, GCC_FUNCTIONS, functions);
	for (n = (struct part){ 0, 0, 0 }; next_function(&t, &n);) {
		put_counter(to, head_of(&t, &n));
		put_gcc_part(&t, to, &n);
	}
	put_table(to, GCC_MODULES, 0);
	free_tree(&t);
}
