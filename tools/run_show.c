/* After a command under libcprof; see run_show.h. */
#include "run_show.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory.h"
#include "numbers.h"
#include "read.h"
#include "symbolize.h"
#include "verbs.h"
#include "write.h"

/* Of one mode of one run. */
struct files {
	char **process; /* the command's own file, then its children's */
	size_t count, room;
	int64_t own, children; /* totals of what is shown */
	char **companions;     /* NAME.peak.EXT and the like */
	size_t companion_count, companion_room;
	char *peak; /* one of them that has samples, or NULL */
};

const char *ct_run_extension(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *dot = strrchr(name, '.');
	size_t n = strlen(name);

	if (n > 6 && !strcmp(name + n - 6, ".pb.gz"))
		return name + n - 6;
	if (n > 9 && !strcmp(name + n - 9, ".pprof.gz"))
		return name + n - 9;
	return dot && dot != name ? dot : name + n;
}

bool ct_run_wrote(const struct ct_run_show *how, const char *path)
{
	const struct timespec *since = &how->since;
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && st.st_size &&
	       (st.st_mtim.tv_sec > since->tv_sec ||
		(st.st_mtim.tv_sec == since->tv_sec && st.st_mtim.tv_nsec >= since->tv_nsec));
}

/* Adds lines; the total of the sample type that is shown. */
static int64_t symbolize(const struct ct_run_show *how, const char *path)
{
	struct ct_profile *p = ct_read_source(path);
	struct ct_symbolized done;
	int64_t total = 0;

	if (!p)
		return 0;
	for (size_t i = 0; p->type_count && i < p->sample_count; i++)
		total = ct_add(total, ct_values(p, i)[ct_profile_default_type(p)]);
	ct_symbolize(p, how->roots, &done);
	if (done.lines || done.names)
		ct_write_file(p, path);
	ct_profile_free(p);
	return total;
}

/* What a verb prints goes to stderr: stdout is the command's. */
static void call(const struct ct_verb *verb, char *option, char *const *paths, size_t count)
{
	char **argv = ct_alloc((count + 3) * sizeof(*argv));
	int saved = dup(STDOUT_FILENO);

	argv[0] = ct_strdup(verb->name);
	argv[1] = option;
	for (size_t i = 0; i < count; i++)
		argv[i + 2] = ct_strdup(paths[i]);
	fflush(stdout);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	verb->run((int)count + 2, argv);
	fflush(stdout);
	if (saved >= 0) {
		dup2(saved, STDOUT_FILENO);
		close(saved);
	}
	/* Options are read in place, and may have been reordered. */
	for (size_t i = 0; i < count + 2; i++)
		free(argv[i]);
	free(argv);
}

/* ---- files ---- */

/* TAIL is what follows the name without its extension: ".pb.123", ".pb.123.2" */
static bool is_of_child(const char *tail, const char *ext)
{
	size_t n = strlen(ext);

	return !strncmp(tail, ext, n) && tail[n] == '.' && tail[n + 1] &&
	       !tail[n + strspn(tail + n, ".0123456789")];
}

/* ".peak.pb" */
static bool is_companion(const char *tail, const char *ext)
{
	static const char *const names[] = { ".peak", ".mmap", ".holders" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(tail, names[i], strlen(names[i])) &&
		    !strcmp(tail + strlen(names[i]), ext))
			return true;
	return false;
}

static void take(const struct ct_run_show *how, struct files *f, char *path, const char *tail,
		 const char *ext)
{
	int64_t total = symbolize(how, path);

	if (is_of_child(tail, ext)) {
		f->children = ct_add(f->children, total);
		*CT_PUSH(f->process, f->count, f->room) = path;
		return;
	}
	if (!is_companion(tail, ext)) {
		free(path);
		return;
	}
	*CT_PUSH(f->companions, f->companion_count, f->companion_room) = path;
	if (total && !strncmp(tail, ".peak", 5))
		f->peak = path;
}

/* What else this run wrote of the mode. */
static void find_others(const struct ct_run_show *how, struct files *f, const char *path)
{
	const char *name = strrchr(path, '/') + 1, *ext = ct_run_extension(path);
	char *directory = ct_printf("%.*s", (int)(name - path), path);
	size_t stem = (size_t)(ext - name);
	DIR *d = opendir(directory);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		char *whole;

		if (strncmp(e->d_name, name, stem) || !strcmp(e->d_name, name) ||
		    e->d_name[stem] != '.' || !strstr(e->d_name + stem, *ext ? ext : "."))
			continue;
		whole = ct_printf("%s%s", directory, e->d_name);
		if (ct_run_wrote(how, whole))
			take(how, f, whole, e->d_name + stem, ext);
		else
			free(whole);
	}
	if (d)
		closedir(d);
	free(directory);
}

static void say_files(const struct files *f, const char *path)
{
	for (size_t i = 0; i < f->companion_count; i++)
		fprintf(stderr, "cprof:   and %s\n", f->companions[i]);
	if (f->count == 2)
		fprintf(stderr, "cprof:   and of its child %s\n", f->process[1]);
	else if (f->count > 2)
		fprintf(stderr,
			"cprof:   and %zu of its children, %s.PID; one file of all: "
			"cprof merge -o ALL.pb %s*\n",
			f->count - 1, path, path);
}

/* ---- what is shown ---- */

static const char *nothing(const char *mode)
{
	if (!strcmp(mode, "heap"))
		return "nothing sampled was in use at the end; -sample_index=alloc_space shows "
		       "what was allocated";
	if (!strcmp(mode, "lock"))
		return "nothing waited for a lock";
	if (!strcmp(mode, "cpu"))
		return "no samples: the command itself used too little CPU time";
	return "no samples: the command ended too soon";
}

static void show_top(const struct ct_run_show *how, const struct files *f, const char *mode)
{
	char *const *paths = f->process;
	size_t count = 1;

	if (f->children > f->own) {
		count = f->count;
		fprintf(stderr,
			count == 2 ? "cprof: %s of the command and its child together:\n"
				   : "cprof: %s of the command and %zu of its children together:\n",
			mode, count - 1);
	} else if (!f->own && f->peak) {
		paths = &f->peak;
		fputs("cprof: nothing sampled was in use at the end; at the high water:\n", stderr);
	}
	if (how->flame)
		call(&ct_verb_flame, ct_printf("-o=%s", how->flame), paths, count);
	if (!f->own && !f->peak && count == 1)
		fprintf(stderr, "cprof: %s: %s\n", mode, nothing(mode));
	else if (how->top)
		call(&ct_verb_top, ct_printf("-nodecount=%ld", how->top), paths, count);
}

void ct_run_show(const struct ct_run_show *how, const char *mode, const char *path)
{
	struct files f = { 0 };

	*CT_PUSH(f.process, f.count, f.room) = ct_strdup(path);
	fputc('\n', stderr);
	f.own = symbolize(how, path);
	find_others(how, &f, path);
	show_top(how, &f, mode);
	fprintf(stderr, "cprof: %s profile: %s\n", mode, path);
	say_files(&f, path);
	for (size_t i = 0; i < f.count; i++)
		free(f.process[i]);
	free(f.process);
	for (size_t i = 0; i < f.companion_count; i++)
		free(f.companions[i]);
	free(f.companions);
}
