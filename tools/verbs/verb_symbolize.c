/* SPDX-License-Identifier: BSD-3-Clause */
/* cprof symbolize: adds lines, columns and inlined calls, from the debug information of the modules
 * that a profile names. libcprof starts it at exit for CPROF_SYMBOLIZE=full.
 *
 * Information that the profile already has is kept: a mapping that has lines is left alone, and a
 * function that the symbol table named keeps that name. The debug information adds the calls that
 * were inlined into it, and the lines.
 */
#include "verbs/verbs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "dwarf/dwarf.h"
#include "core/read.h"

struct work {
	struct ct_profile *p;
	struct ct_functions functions;
	struct ct_symbolized done;
	bool *to_do;		    /* by mapping, before any work was done */
	struct ct_missing *missing; /* gets the modules that have no lines; or NULL */
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
	return *ct_text(p, m->file) == '/' && m->limit > m->start &&
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

	return !*name || ct_jit_is_bare(name);
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
			q[n++] = (struct ct_dwarf_symbol_query){ all->list[i].address, (uint32_t)i,
								 NULL };
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

/* The user's own modules for which `cprof symbolize` found no lines, and why. */

struct ct_missing {
	bool asked; /* the user named directories of debug files */
	char **texts;
	size_t count, room;
};

static bool is_own(const struct ct_profile *p, const char *file)
{
	struct ct_own *o = ct_own_new(p, NULL);
	bool own = false;

	for (uint32_t i = 0; i < p->mapping_count && !own; i++)
		own = !strcmp(ct_text(p, p->mappings[i].file), file) &&
		      ct_own_is(o, &(struct ct_location){ .mapping = i }, NULL);
	ct_own_free(o);
	return own;
}

static char *why(const struct ct_missing *to, const char *build_id, const struct ct_dwarf_module *m)
{
	const char *where = to->asked ? " by build id or in -debug-dir" : "; try -debug-dir=DIR";

	if (m->packed)
		return ct_memory_strdup("its debug information is compressed by zstd, and "
					"libzstd.so.1 is missing or can't unpack it");
	if (m->debug >= 0)
		return ct_memory_strdup("its debug information has none for these addresses");
	if (m->denied)
		return ct_memory_printf("%s can't be read: %s", m->denied, strerror(EACCES));
	if (m->image >= 0)
		return ct_memory_printf("it has no debug information (build it with -g), and no "
					"debug file was found%s",
					where);
	if (!*build_id)
		return ct_memory_strdup("no such file, and it has no build id, by which another "
					"file could prove to be the same");
	return ct_memory_printf("%s, and no file with its build id %s was found%s",
				m->there ? "the file is another build" : "no such file", build_id,
				where);
}

/* Notes that the module FILE of P has no lines. M has the reason, also after it was closed or not
 * opened. Only the user's own modules are noted (report.h). */
static void symbolize_missing_add(struct ct_missing *to, const struct ct_profile *p,
				  const char *file, const char *build_id,
				  const struct ct_dwarf_module *m)
{
	char *reason;

	if (!is_own(p, file))
		return;
	reason = why(to, build_id, m);
	*CT_PUSH(to->texts, to->count, to->room) =
		ct_memory_printf("no lines for %s: %s", file, reason);
	free(reason);
}

/* Prints a line for each on stderr, and frees them. */
static void symbolize_missing_say(struct ct_missing *m)
{
	for (size_t i = 0; i < m->count; i++) {
		fputs("cprof symbolize: ", stderr);
		ct_out_text(stderr, m->texts[i]);
		fputc('\n', stderr);
		free(m->texts[i]);
	}
	free(m->texts);
	*m = (struct ct_missing){ 0 };
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
		symbolize_missing_add(w->missing, w->p, k->file, k->build_id, &module);
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
	ct_drop_frames_choose(w->p);
	ct_model_drop_strings(w->p);
	free(w->lines);
}

void ct_verb_symbolize_profiles(struct ct_profile *const *p, size_t n, const char *const *roots,
				struct ct_symbolized *done)
{
	struct work *w = ct_memory_alloc((n + 1) * sizeof(*w));

	for (size_t i = 0; i < n; i++)
		begin_work(&w[i], p[i]);
	for (size_t i = 0; i < n; i++) {
		do_modules(w, i, n, roots);
		finish(&w[i]);
		done[i] = w[i].done;
	}
	for (size_t i = 0; i < n; i++)
		free(w[i].to_do);
	free(w);
}

void ct_verb_symbolize_profile(struct ct_profile *p, const char *const *roots,
			       struct ct_symbolized *done)
{
	ct_verb_symbolize_profiles(&p, 1, roots, done);
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

void ct_verb_symbolize_process(struct ct_profile *p, int pid)
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
	ct_verb_symbolize_profile(p, roots, &done);
	for (size_t i = 0; other && i < p->mapping_count; i++) {
		const char *file = ct_text(p, p->mappings[i].file);

		if (!strncmp(file, root, strlen(root)))
			p->mappings[i].file = ct_model_string(p, file + strlen(root));
	}
	free(debug);
	free(root);
}

static struct {
	const char *output;
	bool in_place, more;
	struct ct_list roots;
} my;

static const struct ct_option options[] = {
	CT_FLAG("in-place", &my.in_place, "write each result over its FILE, as a whole"),
	CT_TEXT("output", "FILE", &my.output, "where to write the result"),
	CT_TEXT("o", "FILE", &my.output, NULL),
	CT_LIST("debug-dir", "DIR", &my.roots,
		"look in DIR before /usr/lib/debug: for .build-id/xx/yyy.debug, and for files that "
		"have\n" CT_OPTIONS_INDENT
		"the module's name, or its path below DIR (may be repeated)"),
	CT_FLAG("more", &my.more, NULL), /* used by the library only */
	CT_END
};
static const struct ct_option *const tables[] = { options, NULL };

static int write_result(struct ct_profile *p, const char *to, const struct ct_symbolized *done)
{
	char *comment;

	if (done->lines || done->names) {
		comment = ct_memory_printf("symbolized: %zu of %zu locations have lines",
					   done->lines, done->locations);
		ct_notes_add(p, comment);
		free(comment);
	} else if (my.in_place) {
		return CT_OK; /* as it is */
	}
	if (ct_shrunk_seen()) {
		fprintf(stderr,
			"cprof: %s is not written: a module was cut short while it was read; "
			"try again\n",
			to);
		return CT_FAILED;
	}
	return (my.in_place ? ct_write_file_in_place(p, to) : ct_write_file(p, to)) ? CT_FAILED
										    : CT_OK;
}

const char **ct_verb_symbolize_roots(const struct ct_list *given)
{
	const char **roots = ct_memory_alloc((given->count + 2) * sizeof(*roots));

	for (unsigned long i = 0; i < given->count; i++)
		roots[i] = given->items[i];
	roots[given->count] = CT_DEBUG_ROOT;
	return roots;
}

/* Each file is written as soon as its own modules are done. */
static int do_files(char **sources, size_t n, const char *const *roots)
{
	struct work *w = ct_memory_alloc(n * sizeof(*w));
	char **paths = ct_memory_alloc(n * sizeof(*paths));
	struct ct_missing missing = { .asked = my.roots.count > 0 };
	size_t count = 0;
	int status = CT_OK;

	for (size_t i = 0; i < n; i++) {
		struct ct_profile *p = ct_read_source(sources[i]);

		if (!p) {
			status = CT_FAILED;
			continue;
		}
		begin_work(&w[count], p);
		w[count].missing = my.more ? NULL : &missing;
		paths[count++] = sources[i];
	}
	for (size_t i = 0; i < count; i++) {
		do_modules(w, i, count, roots);
		finish(&w[i]);
		if (write_result(w[i].p, my.in_place ? paths[i] : my.output, &w[i].done))
			status = CT_FAILED;
	}
	for (size_t i = 0; i < count; i++) {
		free(w[i].to_do);
		ct_model_free(w[i].p);
	}
	free(w);
	free(paths);
	symbolize_missing_say(&missing);
	return status;
}

static int verb_symbolize(int argc, char **argv)
{
	struct ct_symbolize_more more;
	const char **roots;
	int status;

	if (my.in_place == (my.output != NULL))
		return ct_options_wrong(&ct_verb_symbolize, "give -o FILE or --in-place");
	if (!argc || (my.output && argc != 1))
		return ct_options_wrong(&ct_verb_symbolize, "give %s",
					my.output ? "one profile" : "the profiles");
	roots = ct_verb_symbolize_roots(&my.roots);
	if (my.more)
		ct_symbolize_more_begin(&more);
	status = do_files(argv, (size_t)argc, roots);
	while (my.more && !ct_shrunk_seen() && ct_symbolize_more_wait(&more))
		do_files(more.files, more.count, roots);
	free(roots);
	return status;
}

const struct ct_verb ct_verb_symbolize = {
	.name = "symbolize",
	.operands = "FILE...",
	.summary = "Add lines and inlined calls from debug information",
	.details = "Debug information is found in the modules themselves, by build id and by\n"
		   "debuglink; from servers only if DEBUGINFOD_URLS names some. DIR of -debug-dir "
		   "may be a\ndirectory with the programs or debug files themselves, or the root "
		   "of an image. A file is\nused only if its build id is the module's. A line says "
		   "which of your modules has no lines.\n",
	.tables = tables,
	.run = verb_symbolize,
};
