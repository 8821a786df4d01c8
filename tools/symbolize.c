/* cprof symbolize: lines, columns and inlined calls, from the debug information of the modules
 * that a profile names. libcprof starts this at exit for CPROF_SYMBOLIZE=full.
 *
 * What the profile knows already stays: a mapping that has lines is left alone, and a function that
 * the symbol table named keeps that name. The debug information adds what was inlined into it, and
 * where.
 */
#include "symbolize.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dwarf.h"
#include "dwarf_module.h"
#include "dwarf_symbols.h"
#include "memory.h"
#include "options.h"
#include "read.h"
#include "symbolize_functions.h"
#include "verbs.h"
#include "write.h"

struct work {
	struct ct_profile *p;
	const char *const *roots;
	struct ct_functions functions;
	struct ct_symbolized done;
	struct ct_dwarf_query *queries;
	size_t query_count, query_room;
	struct ct_line *lines;
	size_t line_count, line_room;
};

static bool is_to_do(const struct ct_profile *p, const struct ct_mapping *m)
{
	return *ct_text(p, m->file) == '/' && m->limit > m->start &&
	       !(m->has_filenames && m->has_lines);
}

static bool same_module(const struct ct_mapping *a, const struct ct_mapping *b)
{
	return a->file == b->file && a->build_id == b->build_id;
}

static bool has_line(const struct ct_profile *p, const struct ct_location *l)
{
	return l->line_count && p->lines[l->first_line].line;
}

/* A name that says no more than a place, "libfoo.so+0x1234". */
static bool is_place(const struct ct_profile *p, const struct ct_function *f)
{
	const char *name = ct_text(p, f->name), *plus = strrchr(name, '+');

	return !*name || (plus && plus[1] == '0' && plus[2] == 'x' &&
			  !plus[3 + strspn(plus + 3, "0123456789abcdef")]);
}

/* What the location's physical function was called so far; NULL: nothing. */
static const struct ct_function *before(const struct ct_profile *p, const struct ct_location *l)
{
	uint32_t last = CT_NONE;

	if (l->line_count)
		last = p->lines[l->first_line + l->line_count - 1].function;
	return last == CT_NONE ? NULL : &p->functions[last];
}

/* What the library calls code that has no name. */
static uint32_t place_of(struct ct_profile *p, const struct ct_location *l)
{
	const struct ct_mapping *m = &p->mappings[l->mapping];
	const char *path = ct_text(p, m->file), *slash = strrchr(path, '/');
	char *text = ct_printf("%s+0x%" PRIx64, slash ? slash + 1 : path,
			       l->address - m->start + m->offset);
	uint32_t name = ct_profile_string(p, text);

	free(text);
	return name;
}

static uint32_t function_of(struct work *w, const struct ct_location *l,
			    const struct ct_dwarf_frame *frame, bool physical)
{
	const struct ct_function *old = physical ? before(w->p, l) : NULL;
	struct ct_function f = { .start_line = frame->start_line };

	if (old && (!frame->name || !is_place(w->p, old))) {
		f.name = old->name;
		f.system_name = old->system_name;
	} else if (frame->name) {
		/* A readable name isn't what the linker sees; pprof would cut it once more. */
		f.system_name = frame->name[strcspn(frame->name, "<( ")]
					? 0
					: ct_profile_string(w->p, frame->name);
		f.name = ct_functions_readable(&w->functions, frame->name);
	} else {
		f.name = f.system_name = place_of(w->p, l);
	}
	f.filename = frame->file ? ct_profile_string(w->p, frame->file) : 0;
	return ct_functions_add(&w->functions, &f);
}

static void set_lines(struct work *w, const struct ct_dwarf_query *q)
{
	uint32_t location = (uint32_t)(uintptr_t)q->tag;
	const struct ct_location *l = &w->p->locations[location];
	struct ct_mapping *m = &w->p->mappings[l->mapping];

	if (!q->count)
		return;
	w->line_count = 0;
	for (unsigned i = 0; i < q->count; i++) {
		const struct ct_dwarf_frame *f = &q->frames[i];
		struct ct_line line = { .function = function_of(w, l, f, i + 1 == q->count),
					.line = f->line,
					.column = f->column };

		*CT_PUSH(w->lines, w->line_count, w->line_room) = line;
		m->has_functions = true;
		m->has_filenames |= f->file != NULL;
		m->has_lines |= f->line != 0;
	}
	m->has_inlines |= q->count > 1;
	w->done.lines += q->frames[0].line != 0;
	ct_profile_set_lines(w->p, location, w->lines, w->line_count);
}

static int by_address(const void *x, const void *y)
{
	const struct ct_dwarf_query *a = x, *b = y;

	return (a->address > b->address) - (a->address < b->address);
}

/* Locations of FIRST's module, by their addresses as linked. */
static void collect(struct work *w, const struct ct_dwarf_module *module,
		    const struct ct_mapping *first)
{
	struct ct_profile *p = w->p;

	w->query_count = 0;
	for (size_t i = 0; i < p->location_count; i++) {
		const struct ct_location *l = &p->locations[i];
		const struct ct_mapping *m =
			l->mapping == CT_NONE ? NULL : &p->mappings[l->mapping];
		struct ct_dwarf_query q = { .tag = (void *)(uintptr_t)i };

		if (!m || !same_module(m, first) || !is_to_do(p, m) || has_line(p, l))
			continue;
		w->done.locations++;
		if (module && ct_dwarf_module_linked(module, l->address, m->start, m->limit,
						     m->offset, &q.address))
			*CT_PUSH(w->queries, w->query_count, w->query_room) = q;
	}
}

static void set_name(struct work *w, uint32_t location, const char *name)
{
	const struct ct_location *l = &w->p->locations[location];
	struct ct_line line = { .line = 0 };
	struct ct_function f = { .system_name = ct_profile_string(w->p, name) };

	/* What there is of lines stays: only the physical function gets its name. */
	w->line_count = 0;
	for (uint32_t i = 0; i < l->line_count; i++)
		*CT_PUSH(w->lines, w->line_count, w->line_room) = w->p->lines[l->first_line + i];
	if (!w->line_count)
		*CT_PUSH(w->lines, w->line_count, w->line_room) = line;
	else if (before(w->p, l))
		f.filename = before(w->p, l)->filename;
	f.name = ct_functions_readable(&w->functions, name);
	w->lines[w->line_count - 1].function = ct_functions_add(&w->functions, &f);
	w->p->mappings[l->mapping].has_functions = true;
	ct_profile_set_lines(w->p, location, w->lines, w->line_count);
}

/* Names from symbol tables, where neither the profile nor DWARF has any. */
static void add_names(struct work *w, const struct ct_dwarf_module *module)
{
	struct ct_dwarf_symbol_query *q = ct_alloc((w->query_count + 1) * sizeof(*q));
	size_t n = 0;

	qsort(w->queries, w->query_count, sizeof(*w->queries), by_address);
	for (size_t i = 0; i < w->query_count; i++) {
		uint32_t location = (uint32_t)(uintptr_t)w->queries[i].tag;
		const struct ct_function *f = before(w->p, &w->p->locations[location]);

		if (!f || is_place(w->p, f))
			q[n++] = (struct ct_dwarf_symbol_query){ w->queries[i].address, location,
								 NULL };
	}
	if (module->debug >= 0)
		ct_dwarf_symbols_find(module->debug, q, n);
	if (module->image >= 0)
		ct_dwarf_symbols_find(module->image, q, n);
	for (size_t i = 0; i < n; i++) {
		if (q[i].name)
			set_name(w, q[i].tag, q[i].name);
		w->done.names += q[i].name != NULL;
		free(q[i].name);
	}
	free(q);
}

static void do_module(struct work *w, const struct ct_mapping *first)
{
	const char *path = ct_text(w->p, first->file);
	struct ct_dwarf_module module;
	struct ct_dwarf *d = NULL;
	bool found = ct_dwarf_module_open(&module, path, ct_text(w->p, first->build_id), w->roots);

	collect(w, found ? &module : NULL, first);
	if (w->query_count && module.debug >= 0 &&
	    !ct_dwarf_open(&d, module.debug, path, w->roots)) {
		ct_dwarf_find(d, w->queries, w->query_count);
		for (size_t i = 0; i < w->query_count; i++)
			set_lines(w, &w->queries[i]);
		ct_dwarf_close(d);
	}
	if (w->query_count)
		add_names(w, &module);
	ct_dwarf_module_close(&module);
}

static bool is_first(const struct ct_profile *p, size_t mapping)
{
	for (size_t i = 0; i < mapping; i++)
		if (is_to_do(p, &p->mappings[i]) &&
		    same_module(&p->mappings[i], &p->mappings[mapping]))
			return false;
	return true;
}

void ct_symbolize(struct ct_profile *p, const char *const *roots, struct ct_symbolized *done)
{
	struct work w = { .p = p, .roots = roots, .functions = { .p = p } };
	/* Flags change while modules are done: decided before. */
	bool *first = ct_alloc(p->mapping_count + 1);

	for (size_t i = 0; i < p->mapping_count; i++)
		first[i] = is_to_do(p, &p->mappings[i]) && is_first(p, i);
	for (size_t i = 0; i < p->mapping_count; i++)
		if (first[i])
			do_module(&w, &p->mappings[i]);
	ct_functions_finish(&w.functions);
	ct_profile_drop_strings(p);
	free(first);
	free(w.queries);
	free(w.lines);
	*done = w.done;
}

static struct {
	const char *output;
	bool in_place;
	struct ct_list roots;
} my;

static const struct ct_option options[] = {
	CT_FLAG("in-place", &my.in_place, "write each result over its FILE, as a whole"),
	CT_TEXT("output", "FILE", &my.output, "where to write the result"),
	CT_TEXT("o", "FILE", &my.output, NULL),
	CT_LIST("debug-dir", "DIR", &my.roots,
		"look for debug files below DIR before /usr/lib/debug (may be repeated)"),
	CT_END
};

static int write_result(struct ct_profile *p, const char *to, const struct ct_symbolized *done)
{
	char *comment;

	if (done->lines || done->names) {
		comment = ct_printf("symbolized: %zu of %zu locations have lines", done->lines,
				    done->locations);
		ct_profile_add_comment(p, ct_profile_string(p, comment));
		free(comment);
	} else if (my.in_place) {
		return CT_OK; /* as it is */
	}
	return ct_write_file(p, to) ? CT_FAILED : CT_OK;
}

static const char **all_roots(void)
{
	const char **roots = ct_alloc((my.roots.count + 2) * sizeof(*roots));

	for (unsigned long i = 0; i < my.roots.count; i++)
		roots[i] = my.roots.items[i];
	roots[my.roots.count] = CT_DEBUG_ROOT;
	return roots;
}

static int do_file(const char *source, const char *const *roots)
{
	struct ct_profile *p = ct_read_source(source);
	struct ct_symbolized done;
	int status;

	if (!p)
		return CT_FAILED;
	ct_symbolize(p, roots, &done);
	status = write_result(p, my.in_place ? source : my.output, &done);
	ct_profile_free(p);
	return status;
}

static int run(int argc, char **argv)
{
	const struct ct_option *const tables[] = { options, NULL };
	int first = ct_options_parse(&ct_verb_symbolize, argc, argv, tables), status;
	const char **roots;

	if (first < 0)
		return ct_options_status(first);
	if (my.in_place == (my.output != NULL))
		return ct_options_wrong(&ct_verb_symbolize, "give -o FILE or --in-place");
	if (argc == first || (my.output && argc - first != 1))
		return ct_options_wrong(&ct_verb_symbolize, "give %s",
					my.output ? "one profile" : "the profiles");
	roots = all_roots();
	status = CT_OK;
	for (int i = first; i < argc; i++)
		if (do_file(argv[i], roots))
			status = CT_FAILED;
	free(roots);
	return status;
}

const struct ct_verb ct_verb_symbolize = {
	.name = "symbolize",
	.operands = "FILE...",
	.summary = "Add lines and inlined calls from debug information",
	.details = "Debug information is found in the modules themselves, by build id and by\n"
		   "debuglink; from servers only when DEBUGINFOD_URLS names some.\n",
	.run = run,
};
