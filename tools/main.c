/* SPDX-License-Identifier: BSD-3-Clause */
/* cprof: run programs under libcprof, and read, compare and convert pprof files.
 *
 * This file knows only the names of the verbs; see core/core.h.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "convert/convert.h"
#include "core/read.h"
#include "cp-build.h"
#include "diff/diff.h"
#include "verbs/verbs.h"

/* One a line. */
/* clang-format off */
static const struct ct_verb *const verbs[] = {
	&ct_verb_run,
	&ct_verb_attach,
	&ct_verb_detach,
	&ct_verb_dump,
	&ct_verb_ps,
	&ct_verb_record,
	&ct_verb_live,
	&ct_verb_push,
	&ct_verb_start,
	&ct_verb_stop,
	&ct_verb_set,
	&ct_verb_serve,
	&ct_verb_threads,
	&ct_verb_top,
	&ct_verb_leaks,
	&ct_verb_locks,
	&ct_verb_waits,
	&ct_verb_spans,
	&ct_verb_timeline,
	&ct_verb_tree,
	&ct_verb_peek,
	&ct_verb_list,
	&ct_verb_tags,
	&ct_verb_info,
	&ct_verb_flame,
	&ct_verb_folded,
	&ct_verb_convert,
	&ct_verb_diff,
	&ct_verb_merge,
	&ct_verb_strip_labels,
	&ct_verb_symbolize,
};
/* clang-format on */

#define VERBS (sizeof(verbs) / sizeof(*verbs))

static const struct ct_verb *find_verb(const char *name)
{
	for (size_t i = 0; i < VERBS; i++)
		if (!strcmp(verbs[i]->name, name))
			return verbs[i];
	return NULL;
}

/* Returns the argument by which man finds the page, to be freed. In a clone, that is its path: the
 * page is in man/ beside the folder of the build. */
static char *manual(void)
{
	char folder[PATH_MAX], *slash;
	ssize_t n = readlink("/proc/self/exe", folder, sizeof(folder) - 1);

	folder[n > 0 ? n : 0] = '\0';
	while ((slash = strrchr(folder, '/'))) {
		char *page;

		*slash = '\0';
		page = ct_memory_printf("-l %s/man/cprof.1", folder);
		if (!access(page + 3, R_OK))
			return page;
		free(page);
	}
	return ct_memory_strdup("cprof");
}

static void usage(FILE *to)
{
	char *page = manual();

	fputs("usage: cprof VERB [OPTION]... [OPERAND]...\n\n", to);
	for (size_t i = 0; i < VERBS; i++)
		fprintf(to, "  %-13s %s\n", verbs[i]->name, verbs[i]->summary);
	fprintf(to,
		"\n\"cprof FILE\" is \"cprof top FILE\". A profile is a file, \"-\" (standard "
		"input) or\nhttp(s)://HOST:PORT/debug/pprof/..., in pprof's format; jemalloc's and "
		"gperftools' files are\nread, too.\n"
		"\"cprof VERB --help\" lists a verb's options; \"man %s\" has everything.\n",
		page);
	free(page);
}

/* Returns the verb that does what WORD does in other profilers. */
static const char *others_word(const char *name)
{
	static const char *const words[][2] = {
		{ "stat", "run" },	  { "exec", "run" },	      { "report", "top" },
		{ "show", "top" },	  { "text", "top" },	      { "annotate", "list" },
		{ "source", "list" },	  { "weblist", "list" },      { "script", "folded" },
		{ "collapse", "folded" }, { "flamegraph", "flame" },  { "web", "flame" },
		{ "http", "flame" },	  { "compare", "diff" },      { "inject", "attach" },
		{ "watch", "live" },	  { "monitor", "live" },      { "htop", "live" },
		{ "leak", "leaks" },	  { "callgrind", "convert" }, { "speedscope", "convert" },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(words[i][0], name))
			return words[i][1];
	return NULL;
}

/* Explains pprof's options that are verbs here, such as -top and -list=REGEX. Returns whether NAME
 * is one. */
static bool say_option_is_verb(const char *name)
{
	size_t n = strcspn(name += strspn(name, "-"), "=");
	char *word = ct_memory_printf("%.*s", (int)n, name);
	const char *verb = find_verb(word) ? word : others_word(word);
	bool has_value = verb && (!strcmp(verb, "list") || !strcmp(verb, "peek"));

	if (verb)
		fprintf(stderr, "cprof: verbs have no dash: cprof %s%s FILE\n", verb,
			has_value ? " REGEX" : "");
	free(word);
	return verb;
}

/* Explains that NAME was meant as a file, or as an option. */
static int no_verb_meant(const char *name)
{
	struct stat st;

	if (*name == '-' && say_option_is_verb(name))
		return CT_FAILED;
	if (*name == '-')
		fprintf(stderr,
			"cprof: options follow a verb, as in \"cprof run %s -- COMMAND\"; \"cprof "
			"--help\" lists the verbs\n",
			name);
	else if (stat(name, &st))
		fprintf(stderr, "cprof: %s: %s\n", name, strerror(errno));
	else if (S_ISDIR(st.st_mode))
		fprintf(stderr, "cprof: %s is a directory; give a profile in it\n", name);
	else
		fprintf(stderr,
			"cprof: %s is executable: \"cprof run -- %s\" profiles a program, \"cprof "
			"top %s\" shows a profile\n",
			name, name, name);
	return CT_FAILED;
}

static int unknown(const char *name)
{
	const char *near = others_word(name);

	if (*name == '-' || strpbrk(name, "./"))
		return no_verb_meant(name);
	if (!near)
		for (size_t i = 0; i < VERBS; i++)
			near = ct_options_nearest(name, near, verbs[i]->name);
	if (!near && !access(name, F_OK))
		return no_verb_meant(name);
	fprintf(stderr, "cprof: there is no verb \"%s\"", name);
	if (near)
		fprintf(stderr, "; did you mean \"%s\"?", near);
	fputs(near ? " \"cprof --help\" lists them all\n" : "; \"cprof --help\" lists them\n",
	      stderr);
	return CT_FAILED;
}

/* "cprof out.pb" shows its top. */
static bool is_file(const char *name)
{
	struct stat st;

	return ct_input_is_url(name) ||
	       (!stat(name, &st) && !S_ISDIR(st.st_mode) && access(name, X_OK) != 0);
}

static int top_of(int argc, char **argv)
{
	char **all = ct_memory_alloc(((size_t)argc + 1) * sizeof(*all));
	int status;

	all[0] = (char *)ct_verb_top.name;
	for (int i = 1; i < argc; i++)
		all[i] = argv[i];
	status = ct_options_run(&ct_verb_top, argc, all);
	free(all);
	return status;
}

int main(int argc, char **argv)
{
	const struct ct_verb *verb;

	ct_out_guard();
	ct_input_catch_shrunk();
	ct_legacy_names = ct_symbolize_here;
	if (argc < 2) {
		usage(stderr);
		return CT_FAILED;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-help") || !strcmp(argv[1], "-h") ||
	    !strcmp(argv[1], "help")) {
		verb = argc > 2 ? find_verb(argv[2]) : NULL;
		if (verb)
			return ct_options_run(verb, 2, (char *[]){ argv[2], "--help", NULL });
		usage(stdout);
		return CT_OK;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-version")) {
		puts("cprof (libcprof) " PACKAGE_VERSION);
		return CT_OK;
	}
	verb = find_verb(argv[1]);
	if (verb)
		return ct_options_run(verb, argc - 1, argv + 1);
	return is_file(argv[1]) ? top_of(argc, argv) : unknown(argv[1]);
}
