/* SPDX-License-Identifier: BSD-3-Clause */
/* Adds lines, columns and inlined calls to profiles, from the debug information of the modules that
 * they name; see verbs.h.
 *
 * Information that the profile already has is kept: a mapping that has lines is left alone, and a
 * function that the symbol table named keeps that name. The debug information adds the calls that
 * were inlined into it, and the lines.
 */
#include "verbs/verbs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "dwarf/dwarf.h"

struct work {
	struct ct_profile *p;
	struct ct_functions functions;
	struct ct_symbolized done;
	bool *to_do;			      /* by mapping, before any work was done */
	struct ct_symbolize_missing *missing; /* gets the modules without lines; or NULL */
	struct ct_line *lines;
	size_t line_count, line_room;
};

/* The addresses of one module, in all profiles. The tag of a query is the place of its location in
 * PLACES. */
struct queries {
	struct ct_dwarf_query *list;
	size_t count, room;
	struct place {
		struct work *w;
		uint32_t location;
	} * places;
	size_t place_count, place_room;
};

static const struct place *place_of_query(const struct queries *all, const struct ct_dwarf_query *q)
{
	return &all->places[(uintptr_t)q->tag];
}

static bool is_to_do(const struct ct_profile *p, const struct ct_mapping *m)
{
	return *ct_text(p, m->file) == '/' && m->limit > m->start && !m->is_other &&
	       !(m->has_filenames && m->has_lines);
}

/* A module, in any of the profiles. */
struct key {
	const char *file, *build_id;
};

static struct key key_of(const struct ct_profile *p, const struct ct_mapping *m)
{
	return (struct key){ ct_text(p, m->file), ct_text(p, m->build_id) };
}

static bool is_of(const struct ct_profile *p, const struct ct_mapping *m, const struct key *k)
{
	return !strcmp(ct_text(p, m->file), k->file) &&
	       !strcmp(ct_text(p, m->build_id), k->build_id);
}

static bool has_line(const struct ct_profile *p, const struct ct_location *l)
{
	return l->line_count && p->lines[l->first_line].line;
}

/* Is NAME only a place, "libfoo.so+0x1234"? */
static bool is_place(const struct ct_profile *p, const struct ct_function *f)
{
	const char *name = ct_text(p, f->name);

	return !*name || ct_own_jit_is_bare(name);
}

/* Returns the previous physical function of the location, or NULL. */
static const struct ct_function *function_before(const struct ct_profile *p,
						 const struct ct_location *l)
{
	uint32_t last = CT_NONE;

	if (l->line_count)
		last = p->lines[l->first_line + l->line_count - 1].function;
	return last == CT_NONE ? NULL : &p->functions[last];
}

/* Returns the name that the library gives to code without a name; ADDRESS is its place as the file
 * has it. */
static uint32_t place_of(struct ct_profile *p, const struct ct_location *l, uint64_t address)
{
	const struct ct_mapping *m = &p->mappings[l->mapping];
	char *text = ct_memory_printf("%s+0x%" PRIx64, ct_base_name(ct_text(p, m->file)), address);
	uint32_t name = ct_model_string(p, text);

	free(text);
	return name;
}

static uint32_t function_of(struct work *w, const struct ct_location *l, uint64_t address,
			    const struct ct_dwarf_frame *frame, bool physical)
{
	const struct ct_function *old = physical ? function_before(w->p, l) : NULL;
	struct ct_function f = { .start_line = frame->start_line };

	if (old && (!frame->name || !is_place(w->p, old))) {
		f.name = old->name;
		f.system_name = old->system_name;
	} else if (frame->name) {
		/* A readable name isn't the linker's name, and pprof would shorten it again. */
		f.system_name = frame->name[strcspn(frame->name, "<({: ")]
					? 0
					: ct_model_string(w->p, frame->name);
		f.name = ct_symbolize_functions_readable(&w->functions, frame->name);
	} else {
		f.name = f.system_name = place_of(w->p, l, address);
	}
	f.filename = frame->file ? ct_model_string(w->p, frame->file) : 0;
	return ct_symbolize_functions_add(&w->functions, &f);
}

static void set_lines(const struct place *to, const struct ct_dwarf_query *q)
{
	struct work *w = to->w;
	uint32_t location = to->location;
	const struct ct_location *l = &w->p->locations[location];
	struct ct_mapping *m = &w->p->mappings[l->mapping];

	if (!q->count)
		return;
	w->line_count = 0;
	for (unsigned i = 0; i < q->count; i++) {
		const struct ct_dwarf_frame *f = &q->frames[i];
		struct ct_line line = { .function =
						function_of(w, l, q->address, f, i + 1 == q->count),
					.line = f->line,
					.column = f->column };

		*CT_PUSH(w->lines, w->line_count, w->line_room) = line;
		m->has_functions = true;
		m->has_filenames |= f->file != NULL;
		m->has_lines |= f->line != 0;
	}
	m->has_inlines |= q->count > 1;
	w->done.lines += q->frames[0].line != 0;
	ct_model_set_lines(w->p, location, w->lines, w->line_count);
}

static int by_address(const void *x, const void *y)
{
	const struct ct_dwarf_query *a = x, *b = y;

	return (a->address > b->address) - (a->address < b->address);
}

/* Returns whether a line is wanted of module K; else its files need not be opened. */
static bool has_locations(const struct work *w, const struct key *k)
{
	const struct ct_profile *p = w->p;

	for (size_t i = 0; i < p->location_count; i++) {
		const struct ct_location *l = &p->locations[i];

		if (l->mapping != CT_NONE && !has_line(p, l) &&
		    is_to_do(p, &p->mappings[l->mapping]) && is_of(p, &p->mappings[l->mapping], k))
			return true;
	}
	return false;
}

/* Adds the locations of module K in W's profile to TO, by their addresses as linked. */
static void collect_locations(struct work *w, const struct ct_dwarf_module *module,
			      const struct key *k, struct queries *to)
{
	struct ct_profile *p = w->p;
	bool *wanted = ct_memory_alloc(p->mapping_count + 1);

	for (size_t i = 0; i < p->mapping_count; i++)
		wanted[i] = is_to_do(p, &p->mappings[i]) && is_of(p, &p->mappings[i], k);
	for (uint32_t i = 0; i < p->location_count; i++) {
		const struct ct_location *l = &p->locations[i];
		const struct ct_mapping *m =
			l->mapping == CT_NONE ? NULL : &p->mappings[l->mapping];
		struct ct_dwarf_query q = { .tag = (void *)(uintptr_t)to->place_count };

		if (!m || !wanted[l->mapping] || has_line(p, l))
			continue;
		w->done.locations++;
		if (!module || !ct_dwarf_module_linked(module, l->address, m->start, m->limit,
						       m->offset, &q.address))
			continue;
		*CT_PUSH(to->list, to->count, to->room) = q;
		*CT_PUSH(to->places, to->place_count, to->place_room) = (struct place){ w, i };
	}
	free(wanted);
}

static void set_name(struct work *w, uint32_t location, const char *name)
{
	const struct ct_location *l = &w->p->locations[location];
	struct ct_line line = { .line = 0 };
	struct ct_function f = { .system_name = ct_model_string(w->p, name) };

	/* Lines that the profile already has are kept; only the physical function gets its name. */
	w->line_count = 0;
	for (uint32_t i = 0; i < l->line_count; i++)
		*CT_PUSH(w->lines, w->line_count, w->line_room) = w->p->lines[l->first_line + i];
	if (!w->line_count)
		*CT_PUSH(w->lines, w->line_count, w->line_room) = line;
	else if (function_before(w->p, l))
		f.filename = function_before(w->p, l)->filename;
	f.name = ct_symbolize_functions_readable(&w->functions, name);
	w->lines[w->line_count - 1].function = ct_symbolize_functions_add(&w->functions, &f);
	w->p->mappings[l->mapping].has_functions = true;
	ct_model_set_lines(w->p, location, w->lines, w->line_count);
}

/* Adds names from symbol tables for functions that neither the profile nor DWARF names. */
static void add_names(struct queries *all, const struct ct_dwarf_module *module)
{
	struct ct_dwarf_symbol_query *q = ct_memory_alloc((all->count + 1) * sizeof(*q));
	size_t n = 0;

	qsort(all->list, all->count, sizeof(*all->list), by_address);
	for (size_t i = 0; i < all->count; i++) {
		const struct place *at = place_of_query(all, &all->list[i]);
		const struct ct_function *f =
			function_before(at->w->p, &at->w->p->locations[at->location]);

		if (!f || is_place(at->w->p, f))
			q[n++] = (struct ct_dwarf_symbol_query){ .address = all->list[i].address,
								 .tag = (uint32_t)i };
	}
	if (module->debug >= 0)
		ct_dwarf_symbols_find(module->debug, q, n);
	if (module->image >= 0)
		ct_dwarf_symbols_find(module->image, q, n);
	for (size_t i = 0; i < n; i++) {
		const struct place *at = place_of_query(all, &all->list[q[i].tag]);

		if (q[i].name)
			set_name(at->w, at->location, q[i].name);
		at->w->done.names += q[i].name != NULL;
		free(q[i].name);
	}
	free(q);
}

static struct ct_symbolized done_by(const struct work *w, size_t n)
{
	struct ct_symbolized sum = { 0 };

	for (; n; n--, w++) {
		sum.locations += w->done.locations;
		sum.lines += w->done.lines;
	}
	return sum;
}

/* The labels of locks in all profiles: place I is of label AT[I]. */
struct locks {
	struct ct_dwarf_member *list;
	struct lock_label {
		struct ct_profile *p;
		size_t label;
	} * at;
	size_t count, room, at_count, at_room;
};

/* Adds the labels of P: "queue", "queue+0x28". */
static void collect_locks(struct locks *to, struct ct_profile *p)
{
	for (size_t i = 0; i < p->label_count; i++) {
		const char *text = ct_text(p, p->labels[i].text), *plus = strstr(text, "+0x");
		int n = (int)(plus ? (size_t)(plus - text) : strlen(text));

		if (!*text || strcmp(ct_text(p, p->labels[i].key), "lock") != 0)
			continue;
		*CT_PUSH(to->list, to->count, to->room) =
			(struct ct_dwarf_member){ .variable = ct_memory_printf("%.*s", n, text),
						  .offset =
							  plus ? strtoull(plus + 1, NULL, 16) : 0 };
		*CT_PUSH(to->at, to->at_count, to->at_room) = (struct lock_label){ p, i };
	}
}

/* Names locks of all profiles that are members of the module's variables: "queue.cv". All units are
 * looked through, not only those of the samples, so that the files of a run have the same names. */
static void name_locks(const struct queries *all, struct ct_dwarf *d)
{
	struct locks locks = { 0 };

	for (size_t i = 0; i < all->place_count; i++)
		if (!i || all->places[i].w != all->places[i - 1].w)
			collect_locks(&locks, all->places[i].w->p);
	ct_dwarf_members(d, locks.list, locks.count);
	for (size_t i = 0; i < locks.count; i++) {
		const struct ct_dwarf_member *m = &locks.list[i];
		struct ct_profile *p = locks.at[i].p;
		char *name = ct_memory_printf("%s%s", m->variable, m->member ? m->member : "");

		if (m->member && *m->member)
			p->labels[locks.at[i].label].text = ct_model_string(p, name);
		free(name);
		free(m->member);
		free((char *)m->variable);
	}
	free(locks.list);
	free(locks.at);
}

/* Adds lines from the module's DWARF. */
static void add_lines(struct queries *all, struct ct_dwarf_module *module, const struct key *k,
		      const char *const *roots)
{
	struct ct_dwarf *d = NULL;
	int err = ct_dwarf_open(&d, module->debug, k->file, roots);

	module->packed = err == -EOPNOTSUPP;
	if (err)
		return;
	ct_dwarf_find(d, all->list, all->count);
	for (size_t i = 0; i < all->count; i++)
		set_lines(place_of_query(all, &all->list[i]), &all->list[i]);
	name_locks(all, d);
	ct_dwarf_close(d);
}

/* Symbolizes module K in all N profiles at once: each unit of its debug information that holds an
 * address of any of them is read once. */
static void do_module(struct work *w, size_t n, const struct key *k, const char *const *roots)
{
	struct ct_dwarf_module module;
	struct queries all = { .count = 0 };
	struct ct_symbolized before, after;
	bool found;

	for (; n && !has_locations(w, k); n--)
		w++;
	if (!n)
		return;
	found = ct_dwarf_module_open(&module, k->file, k->build_id, roots);
	before = done_by(w, n);
	for (size_t i = 0; i < n; i++)
		collect_locations(&w[i], found ? &module : NULL, k, &all);
	if (all.count && module.debug >= 0)
		add_lines(&all, &module, k, roots);
	if (all.count)
		add_names(&all, &module);
	after = done_by(w, n);
	if (w->missing && after.locations > before.locations && after.lines == before.lines)
		ct_verb_symbolize_missing(w->missing, w->p, k->file, k->build_id, &module);
	ct_dwarf_module_close(&module);
	free(all.list);
	free(all.places);
}

/* Is mapping M of W[I] the first one of its module, in all profiles up to W[I]? */
static bool is_first(const struct work *w, size_t i, size_t m)
{
	const struct key k = key_of(w[i].p, &w[i].p->mappings[m]);

	for (size_t j = 0; j <= i; j++)
		for (size_t n = 0; n < (j < i ? w[j].p->mapping_count : m); n++)
			if (w[j].to_do[n] && is_of(w[j].p, &w[j].p->mappings[n], &k))
				return false;
	return true;
}

static void begin_work(struct work *w, struct ct_profile *p)
{
	*w = (struct work){ .p = p, .functions = { .p = p } };
	w->to_do = ct_memory_alloc(p->mapping_count + 1);
	for (size_t i = 0; i < p->mapping_count; i++)
		w->to_do[i] = is_to_do(p, &p->mappings[i]);
}

/* Symbolizes the modules of W[I] that no earlier profile has. */
static void do_modules(struct work *w, size_t i, size_t n, const char *const *roots)
{
	for (size_t m = 0; m < w[i].p->mapping_count; m++) {
		const struct key k = key_of(w[i].p, &w[i].p->mappings[m]);

		if (w[i].to_do[m] && is_first(w, i, m))
			do_module(w + i, n - i, &k, roots);
	}
}

/* pprof takes has_functions for all of a mapping's locations: those without a name get their
 * place. */
static void name_the_rest(struct work *w)
{
	for (uint32_t i = 0; i < w->p->location_count; i++) {
		const struct ct_location *l = &w->p->locations[i];
		const struct ct_mapping *m;
		struct ct_line line = { .line = 0 };
		struct ct_function f = { .start_line = 0 };

		if (l->line_count || l->mapping == CT_NONE || !w->to_do[l->mapping] ||
		    !w->p->mappings[l->mapping].has_functions)
			continue;
		m = &w->p->mappings[l->mapping];
		f.name = f.system_name = place_of(w->p, l, l->address - m->start + m->offset);
		line.function = ct_symbolize_functions_add(&w->functions, &f);
		ct_model_set_lines(w->p, i, &line, 1);
	}
}

static void finish(struct work *w)
{
	name_the_rest(w);
	ct_symbolize_functions_finish(&w->functions);
	ct_model_drop_strings(w->p);
	free(w->lines);
}

void ct_symbolize_each(struct ct_profile *const *p, size_t n, const char *const *roots,
		       struct ct_symbolize_missing *missing,
		       void (*see)(size_t i, const struct ct_symbolized *done, void *arg),
		       void *arg)
{
	struct work *w = ct_memory_alloc((n + 1) * sizeof(*w));

	for (size_t i = 0; i < n; i++) {
		begin_work(&w[i], p[i]);
		w[i].missing = missing;
	}
	for (size_t i = 0; i < n; i++) {
		do_modules(w, i, n, roots);
		finish(&w[i]);
		see(i, &w[i].done, arg);
	}
	for (size_t i = 0; i < n; i++)
		free(w[i].to_do);
	free(w);
}

static void store(size_t i, const struct ct_symbolized *done, void *arg)
{
	((struct ct_symbolized *)arg)[i] = *done;
}

void ct_symbolize_profiles(struct ct_profile *const *p, size_t n, const char *const *roots,
			   struct ct_symbolized *done)
{
	ct_symbolize_each(p, n, roots, NULL, store, done);
}

void ct_symbolize_profile(struct ct_profile *p, const char *const *roots,
			  struct ct_symbolized *done)
{
	ct_symbolize_profiles(&p, 1, roots, done);
}

void ct_symbolize_here(struct ct_profile *p)
{
	struct ct_symbolized done;

	ct_symbolize_profile(p, (const char *const[]){ CT_DEBUG_ROOT, NULL }, &done);
}

static bool sees_other_files(int pid)
{
	char *path = ct_memory_printf("/proc/%d/ns/mnt", pid);
	struct stat its, ours;
	bool other =
		!stat(path, &its) && !stat("/proc/self/ns/mnt", &ours) && its.st_ino != ours.st_ino;

	free(path);
	return other;
}

void ct_symbolize_process(struct ct_profile *p, int pid)
{
	char *root = ct_memory_printf("/proc/%d/root", pid),
	     *debug = ct_memory_printf("%s%s", root, CT_DEBUG_ROOT);
	const char *roots[] = { CT_DEBUG_ROOT, debug, NULL };
	bool other = sees_other_files(pid);
	struct ct_symbolized done;

	/* The process is in a container, so its files are looked for where the kernel shows them to
	 * us. */
	for (size_t i = 0; other && i < p->mapping_count; i++) {
		const char *name = ct_text(p, p->mappings[i].file);
		char *file = ct_memory_printf("%s%s", root, name);

		if (*name == '/')
			p->mappings[i].file = ct_model_string(p, file);
		free(file);
	}
	if (!other)
		roots[1] = NULL;
	ct_symbolize_profile(p, roots, &done);
	for (size_t i = 0; other && i < p->mapping_count; i++) {
		const char *file = ct_text(p, p->mappings[i].file);

		if (!strncmp(file, root, strlen(root)))
			p->mappings[i].file = ct_model_string(p, file + strlen(root));
	}
	free(debug);
	free(root);
}
