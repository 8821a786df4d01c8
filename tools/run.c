/* cprof run: a command under libcprof, its hottest functions afterwards on stderr.
 *
 * The command must not notice: stdin and stdout are its own, its exit status or signal becomes
 * ours. What can't be profiled is said before it runs, and why.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "memory.h"
#include "options.h"
#include "preload.h"
#include "run_command.h"
#include "run_show.h"
#include "symbolize.h"
#include "verbs.h"

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
	} units[] = { { "", 1 },  { "ns", 1e-9 }, { "us", 1e-6 }, { "ms", 1e-3 },
		      { "s", 1 }, { "m", 60 },	  { "h", 3600 } };
	char *end;
	double n = strtod(text, &end);

	for (unsigned i = 0; end != text && n >= 0 && i < sizeof(units) / sizeof(*units); i++)
		if (!strcmp(end, units[i].unit))
			return n * units[i].seconds;
	return -1;
}

/* ---- files ---- */

static char *with_infix(const char *path, const char *infix)
{
	const char *at = ct_run_extension(path);

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

static void say_nothing_written(int mode, const char *path, const struct ct_ended *end)
{
	char *directory = ct_printf("%.*s", (int)(strrchr(path, '/') - path) + 1, path);

	fprintf(stderr, "cprof: no %s profile was written", modes[mode].name);
	if (WIFSIGNALED(end->status) && WTERMSIG(end->status) == SIGKILL)
		fprintf(stderr, ": the command was killed (SIGKILL) before its first checkpoint\n");
	else if (access(directory, W_OK | X_OK))
		fprintf(stderr, ": %s: %s; -o PATH puts it elsewhere\n", directory,
			strerror(errno));
	else
		fprintf(stderr,
			": it ended past libc before its first checkpoint, as Go's programs do "
			"(CPROF_CHECKPOINT=1s then leaves one), or libcprof was not loaded; "
			"CPROF_VERBOSE=1 tells more\n");
	free(directory);
}

/* WHY: what stood against a profile; NULL: nothing. */
static void show(const struct plan *p, const char *why, const struct ct_ended *end)
{
	const char **roots = ct_alloc((my.roots.count + 2) * sizeof(*roots));
	struct ct_run_show how = { p->start, roots, my.top, my.flame };
	unsigned written = 0;

	for (unsigned long i = 0; i < my.roots.count; i++)
		roots[i] = my.roots.items[i];
	roots[my.roots.count] = CT_DEBUG_ROOT;
	for (int m = 0; m < MODES; m++) {
		if (!p->path[m])
			continue;
		if (ct_run_wrote(&how, p->path[m])) {
			ct_run_show(&how, modes[m].name, p->path[m]);
			how.flame = NULL;
			written++;
		} else if (!why) {
			say_nothing_written(m, p->path[m], end);
		}
	}
	if (why && !written)
		fprintf(stderr, "cprof: no profile was written: %s\n", why);
	free(roots);
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

/* A number from 1 to MAX. */
static bool is_rate(const char *text, long max)
{
	long n = strtol(text, NULL, 10);

	return !text[strspn(text, "0123456789")] && n >= 1 && n <= max;
}

/* "1", "512K", "1.5MiB": the library knows which of them it takes. */
static bool is_size(const char *text)
{
	size_t n = strspn(text, "0123456789.");

	return n && strspn(text + n, "kKmMgGiIbB") == strlen(text + n);
}

/* The library would say it, too, and take its default: in a run that is then for nothing. */
static int check_settings(void)
{
	const char *cpu = my.mode[CPU], *wall = my.mode[WALL], *heap = my.mode[HEAP],
		   *lock = my.mode[LOCK];

	if (cpu && *cpu && !is_rate(cpu, 10000))
		return ct_options_wrong(&ct_verb_run, "-cpu=%s is not 1 to 10000 (Hz)", cpu);
	if (wall && *wall && !is_rate(wall, 1000))
		return ct_options_wrong(&ct_verb_run, "-wall=%s is not 1 to 1000 (Hz)", wall);
	if (heap && *heap && !is_size(heap))
		return ct_options_wrong(&ct_verb_run, "-heap=%s is no size, as 512K or 1", heap);
	if (lock && *lock && duration(lock) < 0)
		return ct_options_wrong(&ct_verb_run, "-lock=%s is no duration, as 10us", lock);
	return CT_OK;
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
	if (check_settings())
		return CT_FAILED;
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
