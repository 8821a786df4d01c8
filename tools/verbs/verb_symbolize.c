/* SPDX-License-Identifier: BSD-3-Clause */
/* cprof symbolize: adds lines, columns and inlined calls to files. libcprof starts it at exit for
 * CPROF_SYMBOLIZE=full.
 */
#include "verbs/verbs.h"

#include <errno.h>
#include <stdlib.h>

#include "core/read.h"
#include "dwarf/dwarf.h"

#define IN_DIRECTORIES " by build id or in -debug-dir"
#define TRY_DIRECTORY "; try -debug-dir=DIR"

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

char *ct_verb_symbolize_no_file(const struct ct_dwarf_module *m, const char *build_id, bool asked)
{
	if (m->denied)
		return ct_memory_printf("%s can't be read: %s", m->denied, strerror(EACCES));
	if (!*build_id)
		return ct_memory_strdup("no such file, and it has no build id, by which another "
					"file could prove to be the same");
	return ct_memory_printf("%s, and no file with its build id %s was found%s",
				m->there ? "the file is another build" : "no such file", build_id,
				asked ? IN_DIRECTORIES : TRY_DIRECTORY);
}

static char *why(const struct ct_symbolize_missing *to, const char *build_id,
		 const struct ct_dwarf_module *m)
{
	if (m->packed)
		return ct_memory_strdup("its debug information is compressed by zstd, and "
					"libzstd.so.1 is missing or can't unpack it");
	if (m->debug >= 0)
		return ct_memory_strdup("its debug information has none for these addresses");
	if (m->denied || m->image < 0)
		return ct_verb_symbolize_no_file(m, build_id, to->asked);
	return ct_memory_printf("it has no debug information (build it with -g), and no debug file "
				"was found%s",
				to->asked ? IN_DIRECTORIES : TRY_DIRECTORY);
}

void ct_verb_symbolize_missing(struct ct_symbolize_missing *to, const struct ct_profile *p,
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
static void say_missing(struct ct_symbolize_missing *m)
{
	for (size_t i = 0; i < m->count; i++) {
		fputs("cprof symbolize: ", stderr);
		ct_out_text(stderr, m->texts[i]);
		fputc('\n', stderr);
		free(m->texts[i]);
	}
	free(m->texts);
	*m = (struct ct_symbolize_missing){ 0 };
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
	if (ct_input_is_shrunk()) {
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

struct results {
	struct ct_profile **profiles;
	const char **paths;
	int status;
};

/* Writes each file as soon as its own modules are done. */
static void write_one(size_t i, const struct ct_symbolized *done, void *arg)
{
	struct results *r = arg;

	if (write_result(r->profiles[i], my.in_place ? r->paths[i] : my.output, done))
		r->status = CT_FAILED;
}

static int do_files(char **sources, size_t n, const char *const *roots)
{
	struct results r = { .profiles = ct_memory_alloc(n * sizeof(*r.profiles)),
			     .paths = ct_memory_alloc(n * sizeof(*r.paths)),
			     .status = CT_OK };
	struct ct_symbolize_missing missing = { .asked = my.roots.count > 0 };
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		r.profiles[count] = ct_read_source(sources[i]);
		if (r.profiles[count])
			r.paths[count++] = sources[i];
		else
			r.status = CT_FAILED;
	}
	ct_symbolize_each(r.profiles, count, roots, my.more ? NULL : &missing, write_one, &r);
	for (size_t i = 0; i < count; i++)
		ct_model_free(r.profiles[i]);
	free(r.profiles);
	free(r.paths);
	say_missing(&missing);
	return r.status;
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
	ct_legacy_any_file = true;
	if (my.more)
		ct_symbolize_more_begin(&more);
	status = do_files(argv, (size_t)argc, roots);
	while (my.more && !ct_input_is_shrunk() && ct_symbolize_more_wait(&more))
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
		   "of an image. A file is\nused only if its build id is the module's; jemalloc's "
		   "and gperftools' files have\nnone, so what is at the path is used. A line says "
		   "which of your modules has no lines.\n",
	.tables = tables,
	.run = verb_symbolize,
};
