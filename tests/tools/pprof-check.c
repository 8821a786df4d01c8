/* SPDX-License-Identifier: BSD-3-Clause */
/* pprof-check: is a profile as every reader wants it? And what is in it?
 *
 * Exit status: 0 all files are valid, 1 one is not (each broken rule on stderr), 2 usage.
 */
#include "pprof-check.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static struct {
	const char *mode, *main_path;
	size_t top;
	bool print_top, raw, comments, total, times;
} options;

static int usage(void)
{
	fprintf(stderr,
		"usage: pprof-check [--mode cpu|wall|heap|peak|mmap|lock|holders|wakers|io|\n"
		"                   event] [--main PATH]\n"
		"                   [--top N] [--raw] [--comments] [--total] [--times] FILE...\n"
		"Checks profiles; --top 0 prints all functions.\n");
	return 2;
}

static bool known_mode(const char *name)
{
	return !strcmp(name, "cpu") || !strcmp(name, "wall") || !strcmp(name, "heap") ||
	       !strcmp(name, "lock") || !strcmp(name, "mmap") || !strcmp(name, "lifetimes") ||
	       !strcmp(name, "fragmentation") || !strcmp(name, "peak") ||
	       !strcmp(name, "holders") || !strcmp(name, "wakers") || !strcmp(name, "io") ||
	       !strcmp(name, "event");
}

static bool parse_count(const char *s, size_t *n)
{
	char *end;

	errno = 0;
	*n = strtoul(s, &end, 10);
	return *s >= '0' && *s <= '9' && !*end && !errno;
}

/* Sets the options; false: usage. */
static bool parse(int argc, char **argv)
{
	static const struct option names[] = {
		{ "mode", required_argument, NULL, 'm' }, { "main", required_argument, NULL, 'M' },
		{ "top", required_argument, NULL, 't' },  { "raw", no_argument, NULL, 'r' },
		{ "comments", no_argument, NULL, 'c' },	  { "total", no_argument, NULL, 's' },
		{ "times", no_argument, NULL, 'T' },	  { 0 },
	};
	bool ok = true;
	int c;

	while (ok && (c = getopt_long(argc, argv, "", names, NULL)) >= 0) {
		switch (c) {
		case 'm':
			options.mode = optarg;
			ok = known_mode(optarg);
			break;
		case 'M': options.main_path = optarg; break;
		case 't':
			options.print_top = true;
			ok = parse_count(optarg, &options.top);
			break;
		case 'r': options.raw = true; break;
		case 'c': options.comments = true; break;
		case 'T': options.times = true; break;
		case 's': options.total = true; break;
		default: ok = false;
		}
	}
	return ok && optind < argc;
}

static bool check(const char *file)
{
	struct pcheck_report r = { .out = stderr, .file = file };
	struct pcheck_profile p;

	if (pcheck_read_file(&p, file, &r))
		return false;
	pcheck_rules(&p, options.mode, options.main_path, &r);
	if (options.print_top)
		pcheck_print_top(&p, options.top, stdout);
	if (options.raw)
		pcheck_print_raw(&p, stdout);
	if (options.comments)
		pcheck_print_comments(&p, stdout);
	if (options.total)
		pcheck_print_totals(&p, stdout);
	if (options.times)
		pcheck_print_times(&p, stdout);
	pcheck_free(&p);
	if (r.broken)
		fprintf(stderr, "%s: %u rules broken\n", file, r.broken);
	return !r.broken;
}

int main(int argc, char **argv)
{
	bool ok = true;

	if (!parse(argc, argv))
		return usage();
	for (int i = optind; i < argc; i++)
		ok &= check(argv[i]);
	return fflush(stdout) || !ok ? 1 : 0;
}
