/* cprof: run programs under libcprof, and read, compare and convert pprof files.
 *
 * This file knows the verbs' names only; see verbs.h.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cp-build.h"
#include "verbs.h"

/* One a line. */
/* clang-format off */
static const struct ct_verb *const verbs[] = {
	&ct_verb_run,
	&ct_verb_dump,
	&ct_verb_top,
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

static const struct ct_verb *find(const char *name)
{
	for (size_t i = 0; i < VERBS; i++)
		if (!strcmp(verbs[i]->name, name))
			return verbs[i];
	return NULL;
}

static void usage(FILE *to)
{
	fputs("usage: cprof VERB [OPTION]... [OPERAND]...\n\n", to);
	for (size_t i = 0; i < VERBS; i++)
		fprintf(to, "  %-13s %s\n", verbs[i]->name, verbs[i]->summary);
	fputs("\nA profile is a file, \"-\" (standard input) or "
	      "http(s)://HOST:PORT/debug/pprof/...\n"
	      "\"cprof VERB --help\" tells a verb's options; \"man cprof\" tells all.\n",
	      to);
}

/* The verb that NAME most likely meant: the longest common beginning, of two letters at least. */
static const char *nearest(const char *name)
{
	const char *best = NULL;
	size_t longest = 1;

	for (size_t i = 0; i < VERBS; i++) {
		size_t n = 0;

		while (name[n] && name[n] == verbs[i]->name[n])
			n++;
		if (n > longest) {
			longest = n;
			best = verbs[i]->name;
		}
	}
	return best;
}

static int unknown(const char *name)
{
	const char *near = nearest(name);

	fprintf(stderr, "cprof: there is no verb \"%s\"", name);
	if (near)
		fprintf(stderr, "; did you mean \"%s\"?", near);
	fputs(near ? " \"cprof --help\" lists them all\n" : "; \"cprof --help\" lists them\n",
	      stderr);
	return CT_FAILED;
}

int main(int argc, char **argv)
{
	const struct ct_verb *verb;

	if (argc < 2) {
		usage(stderr);
		return CT_FAILED;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-help") || !strcmp(argv[1], "-h") ||
	    !strcmp(argv[1], "help")) {
		verb = argc > 2 ? find(argv[2]) : NULL;
		if (verb)
			return verb->run(2, (char *[]){ argv[2], "--help", NULL });
		usage(stdout);
		return CT_OK;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-version")) {
		puts("cprof (libcprof) " PACKAGE_VERSION);
		return CT_OK;
	}
	verb = find(argv[1]);
	return verb ? verb->run(argc - 1, argv + 1) : unknown(argv[1]);
}
