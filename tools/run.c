/* cprof run: a command under libcprof, its hottest functions afterwards on stderr.
 *
 * The command must not notice: stdin and stdout are its own, its exit status or signal becomes
 * ours. What can't be profiled is said before it runs, and why.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "memory.h"
#include "options.h"
#include "preload.h"
#include "read.h"
#include "run_command.h"
#include "symbolize.h"
#include "verbs.h"
#include "write.h"

enum { CPU, WALL, HEAP, LOCK, MODES };

static const struct {
	const char *name, *path, *setting;
} modes[MODES] = {
	{ "cpu", "CPUPROFILE", "CPUPROFILE_FREQUENCY" },
	{ "wall", "WALLPROFILE", "WALLPROFILE_FREQUENCY" },
	{ "heap", "HEAPPROFILE", "CPROF_HEAP_INTERVAL" },
	{ "lock", "LOCKPROFILE", "CPROF_LOCK_THRESHOLD" },
};

static struct {
	const char *mode[MODES]; /* NULL = off; its setting */
	const char *output, *flame, *seconds;
	long top;
	struct ct_list roots;
} my = { .top = 15 };

static const struct ct_option options[] = {
	CT_MAYBE("cpu", "HZ", &my.mode[CPU],
		 "CPU time, sampled HZ times a second (this is the default)"),
	CT_MAYBE("wall", "HZ", &my.mode[WALL], "time of every thread, running or waiting"),
	CT_MAYBE("heap", "BYTES", &my.mode[HEAP],
		 "memory, a sample every BYTES (512K); 1: every allocation"),
	CT_MAYBE("lock", "DUR", &my.mode[LOCK], "waits for locks of DUR (1us) or longer"),
	CT_TEXT("output", "PATH", &my.output,
		"the profile; of several modes PATH with the mode's name in it"),
	CT_TEXT("o", "PATH", &my.output, NULL),
	CT_INTEGER("top", "N", &my.top, "rows shown of each profile (15); 0: none"),
	CT_TEXT("flame", "FILE", &my.flame,
		"also write a flame graph to FILE (.html or .svg), of the first mode"),
	CT_TEXT("for", "DUR", &my.seconds, "end the command after DUR (10s, 5m) with SIGTERM"),
	CT_LIST("debug-dir", "DIR", &my.roots, "look for debug files below DIR too"),
	CT_END
};

/* Seconds of "10", "1.5s", "200ms", "5m", "1h"; below 0: unreadable. */
static double duration(const char *text)
{
	static const struct {
		const char *unit;
		double seconds;
	} units[] = { { "", 1 }, { "ms", 1e-3 }, { "s", 1 }, { "m", 60 }, { "h", 3600 } };
	char *end;
	double n = strtod(text, &end);

	for (unsigned i = 0; end != text && n >= 0 && i < sizeof(units) / sizeof(*units); i++)
		if (!strcmp(end, units[i].unit))
			return n * units[i].seconds;
	return -1;
}

/* ---- files ---- */

/* Where the part of PATH's name begins that stays at its end: ".pb", ".pb.gz". */
static const char *extension(const char *path)
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

static char *with_infix(const char *path, const char *infix)
{
	const char *at = extension(path);

	return ct_printf("%.*s.%s%s", (int)(at - path), path, infix, at);
}

static char *absolute(const char *path)
{
	char *cwd, *whole;

	if (*path == '/')
		return ct_strdup(path);
	cwd = getcwd(NULL, 0);
	whole = ct_printf("%s/%s", cwd ? cwd : "", path);
	free(cwd);
	return whole;
}

static char *path_of(int mode, const char *command, unsigned count)
{
	const char *slash = strrchr(command, '/');
	char *given, *path;

	if (my.output && count == 1)
		return absolute(my.output);
	given = my.output ? ct_strdup(my.output) : ct_printf("%s.pb", slash ? slash + 1 : command);
	path = with_infix(given, modes[mode].name);
	free(given);
	given = absolute(path);
	free(path);
	return given;
}

/* ---- before ---- */

struct plan {
	char *path[MODES]; /* of the file; NULL = the mode is off */
	char *settings[2 * MODES + 3];
	unsigned count;
	struct timespec start;
};

static void add(struct plan *p, char *setting)
{
	p->settings[p->count++] = setting;
}

/* A % would be a template's. */
static char *escaped(const char *path)
{
	char *to = ct_alloc(2 * strlen(path) + 1), *t = to;

	for (; *path; path++) {
		if (*path == '%')
			*t++ = '%';
		*t++ = *path;
	}
	return to;
}

static int make_plan(struct plan *p, const char *command)
{
	const char *before = getenv("LD_PRELOAD");
	char *library = ct_preload_library();
	unsigned count = 0;

	if (!library || strpbrk(library, ": ")) {
		fprintf(stderr,
			library ? "cprof run: %s can't be preloaded: its path has a space or "
				  "colon\n"
				: "cprof run: libcprof.so is not installed beside this cprof\n",
			library);
		free(library);
		return -1;
	}
	for (int m = 0; m < MODES; m++)
		count += my.mode[m] != NULL;
	for (int m = 0; m < MODES; m++) {
		char *path;

		if (!my.mode[m])
			continue;
		p->path[m] = path_of(m, command, count);
		path = escaped(p->path[m]);
		add(p, ct_printf("%s=%s", modes[m].path, path));
		free(path);
		if (*my.mode[m])
			add(p, ct_printf("%s=%s", modes[m].setting, my.mode[m]));
	}
	add(p, ct_printf("LD_PRELOAD=%s%s%s", library, before && *before ? ":" : "",
			 before ? before : ""));
	/* We do it ourselves, for all files, and wait for it. */
	add(p, ct_strdup("CPROF_SYMBOLIZE=names"));
	free(library);
	/* The clock of files' times. */
	clock_gettime(CLOCK_REALTIME_COARSE, &p->start);
	return 0;
}

static void forget(struct plan *p)
{
	for (int m = 0; m < MODES; m++)
		free(p->path[m]);
	for (unsigned i = 0; i < p->count; i++)
		free(p->settings[i]);
}

/* Says on stderr what stands against a profile of PROGRAM, and returns it; NULL: nothing. */
static char *warn(const char *program)
{
	char *why = ct_preload_obstacle(program);

	if (why)
		fprintf(stderr, "cprof: no profile will be made: %s\n", why);
	return why;
}

static int cannot_run(const char *command, int error)
{
	fprintf(stderr, "cprof: %s can't be run: %s\n", command, strerror(error));
	return error == ENOENT ? 127 : 126;
}

/* ---- after ---- */

static bool is_fresh(const struct plan *p, const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && st.st_size &&
	       (st.st_mtim.tv_sec > p->start.tv_sec ||
		(st.st_mtim.tv_sec == p->start.tv_sec && st.st_mtim.tv_nsec >= p->start.tv_nsec));
}

static void symbolize(const char *path)
{
	const char **roots = ct_alloc((my.roots.count + 2) * sizeof(*roots));
	struct ct_profile *profile = ct_read_source(path);
	struct ct_symbolized done;

	for (unsigned long i = 0; i < my.roots.count; i++)
		roots[i] = my.roots.items[i];
	roots[my.roots.count] = CT_DEBUG_ROOT;
	if (profile) {
		ct_symbolize(profile, roots, &done);
		if (done.lines || done.names)
			ct_write_file(profile, path);
		ct_profile_free(profile);
	}
	free(roots);
}

/* What a verb prints goes to stderr: stdout is the command's. */
static int call(const struct ct_verb *verb, char *option, const char *path)
{
	char *file = ct_strdup(path), *argv[] = { ct_strdup(verb->name), option, file, NULL };
	int saved = dup(STDOUT_FILENO), status;

	fflush(stdout);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	status = verb->run(3, argv);
	fflush(stdout);
	if (saved >= 0) {
		dup2(saved, STDOUT_FILENO);
		close(saved);
	}
	free(argv[0]);
	free(file);
	free(option);
	return status;
}

/* What else this run wrote of the mode: companions (NAME.peak.EXT), and files of its descendants
 * (PATH.PID). */
static void show_others(const struct plan *p, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash + 1, *ext = extension(path);
	char *directory = ct_printf("%.*s", (int)(slash - path) + 1, path);
	size_t stem = (size_t)(ext - name);
	DIR *d = opendir(directory);
	struct dirent *e;
	unsigned children = 0;

	while (d && (e = readdir(d))) {
		const char *tail = e->d_name + stem;
		char *whole;

		if (strncmp(e->d_name, name, stem) || !strcmp(e->d_name, name) || *tail != '.' ||
		    !strstr(tail, *ext ? ext : "."))
			continue;
		whole = ct_printf("%s%s", directory, e->d_name);
		if (is_fresh(p, whole)) {
			symbolize(whole);
			if (!strcmp(extension(whole), ext) && strspn(tail, ".0123456789") == 1)
				fprintf(stderr, "cprof:   and %s\n", whole);
			else
				children++;
		}
		free(whole);
	}
	if (children)
		fprintf(stderr, "cprof:   and %u of its children, %s.PID\n", children, path);
	if (d)
		closedir(d);
	free(directory);
}

static void say_nothing_written(int mode, const char *why, const struct ct_ended *end)
{
	fprintf(stderr, "cprof: no %s profile was written", modes[mode].name);
	if (why)
		fprintf(stderr, ": %s\n", why);
	else if (WIFSIGNALED(end->status) && WTERMSIG(end->status) == SIGKILL)
		fprintf(stderr, ": the command was killed (SIGKILL) before its first checkpoint\n");
	else
		fprintf(stderr, ": libcprof was not loaded, or could not write; "
				"CPROF_VERBOSE=1 in the environment tells more\n");
}

static void show(const struct plan *p, const char *why, const struct ct_ended *end)
{
	bool first = true;

	for (int m = 0; m < MODES; m++) {
		if (!p->path[m])
			continue;
		if (!is_fresh(p, p->path[m])) {
			say_nothing_written(m, why, end);
			continue;
		}
		symbolize(p->path[m]);
		fputc('\n', stderr);
		if (my.top)
			call(&ct_verb_top, ct_printf("-nodecount=%ld", my.top), p->path[m]);
		if (first && my.flame)
			call(&ct_verb_flame, ct_printf("-o=%s", my.flame), p->path[m]);
		first = false;
		fprintf(stderr, "cprof: %s profile: %s\n", modes[m].name, p->path[m]);
		show_others(p, p->path[m]);
	}
}

static int run_it(char **argv, double seconds)
{
	struct plan plan = { .count = 0 };
	char *program = ct_preload_program(argv[0]), *why;
	struct ct_ended end;
	int error;

	if (!program)
		return cannot_run(argv[0], errno);
	if (make_plan(&plan, argv[0])) {
		free(program);
		return CT_FAILED;
	}
	why = warn(program);
	error = ct_run_command(program, argv, plan.settings, seconds, &end);
	if (error || end.error)
		return cannot_run(argv[0], error ? -error : end.error);
	free(program);
	show(&plan, why, &end);
	forget(&plan);
	free(why);
	return ct_run_end_like(&end);
}

static int run(int argc, char **argv)
{
	const struct ct_option *const tables[] = { options, NULL };
	int first = ct_options_parse(&ct_verb_run, argc, argv, tables);
	double seconds = 0;

	if (first < 0)
		return ct_options_status(first);
	if (first >= argc)
		return ct_options_wrong(&ct_verb_run, "give a command");
	if (my.seconds && (seconds = duration(my.seconds)) <= 0)
		return ct_options_wrong(&ct_verb_run, "-for=%s is no duration", my.seconds);
	if (!my.mode[CPU] && !my.mode[WALL] && !my.mode[HEAP] && !my.mode[LOCK])
		my.mode[CPU] = "";
	return run_it(argv + first, seconds);
}

const struct ct_verb ct_verb_run = {
	.name = "run",
	.operands = "[--] COMMAND [ARGUMENT]...",
	.summary = "Run a command and show what it spent its time, memory or waits on",
	.details = "The command keeps its output and input, its signals and its exit status.\n",
	.stops_at_operand = true,
	.run = run,
};
