/* SPDX-License-Identifier: BSD-3-Clause */
/* cprof run: runs a command under libcprof, and prints its hottest functions on stderr afterwards.
 *
 * The command must not notice: stdin and stdout are the command's, and cprof ends with the
 * command's exit status or signal. If something can't be profiled, a message says so, and why,
 * before the command runs.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "flame/flame.h"
#include "verbs/verbs.h"

/* The results of three modes fit on a screen of 50 rows. */
#define ROWS 15
#define ROWS_OF_SEVERAL 7

static struct {
	const char *output, *flame, *seconds, *slow;
	long top, keep;
	bool open;
	struct ct_list roots;
} my = { .top = -1, .keep = 1 };

static const struct ct_option options[] = {
	CT_TEXT("output", "PATH", &my.output,
		"where to write the profile; several modes: PATH with each mode's name in it"),
	CT_TEXT("o", "PATH", &my.output, NULL),
	CT_INTEGER("top", "N", &my.top,
		   "show N rows of each profile (15; 7 of several modes); 0: none"),
	CT_INTEGER("keep", "N", &my.keep,
		   "keep N earlier profiles (1), as NAME.before.EXT, and compare with the latest"),
	CT_TEXT("flame", "FILE", &my.flame,
		"also write a flame graph to FILE (.html or .svg), a tab for each mode"),
	CT_FLAG("open", &my.open, "show the flame graph in a browser"),
	CT_TEXT("for", "DUR", &my.seconds, "end the command after DUR (10s, 5m) with SIGTERM"),
	CT_TEXT("slow", "DUR", &my.slow,
		"afterwards, the slowest spans of those that took at least DUR (10ms)"),
	CT_LIST("debug-dir", "DIR", &my.roots, "look for debug files in DIR, too"),
	CT_END
};

/* ---- files ---- */

static char *path_of(int mode, const char *command, unsigned count)
{
	char *given, *path;

	if (my.output && count == 1)
		return ct_mode_options_absolute(my.output);
	given = my.output ? ct_memory_strdup(my.output)
			  : ct_memory_printf("%s.pb", ct_base_name(command));
	path = ct_mode_options_infix(given, ct_control_modes[mode].name);
	free(given);
	return path;
}

/* ---- before the command ---- */

struct plan {
	char *path[CT_MODES]; /* path of the file; NULL = the mode is off */
	struct ct_run_keep before[CT_MODES];
	char *settings[2 * CT_MODES + 4];
	unsigned count;
	struct ct_run_show_start start;
};

static void add_setting(struct plan *p, char *setting)
{
	p->settings[p->count++] = setting;
}

static int make_plan(struct plan *p, const char *command, const char *program)
{
	char *preload = ct_preload_setting("run", program);
	unsigned count = ct_mode_options_count();

	if (!preload)
		return -1;
	for (int m = 0; m < CT_MODES; m++) {
		char *path;

		p->before[m].fd = -1;
		if (!ct_mode_options[m].value)
			continue;
		p->path[m] = path_of(m, command, count);
		ct_run_keep_open(&p->before[m], p->path[m]);
		path = ct_mode_options_escaped(p->path[m]);
		add_setting(p, ct_memory_printf("%s=%s", ct_control_modes[m].path, path));
		free(path);
		if (*ct_mode_options[m].value)
			add_setting(p, ct_memory_printf("%s=%s", ct_control_modes[m].setting,
							ct_mode_options[m].value));
	}
	if (ct_mode_options_heap_views)
		add_setting(p, ct_memory_printf("CPROF_HEAP_VIEWS=%s", ct_mode_options_heap_views));
	add_setting(p, preload);
	/* cprof itself adds lines, to all files, and waits for that. */
	add_setting(p, ct_memory_strdup("CPROF_SYMBOLIZE=names"));
	/* A process that Go ends leaves only its last checkpoint, which by default may be a minute
	 * old. */
	if (!getenv("CPROF_CHECKPOINT") && ct_preload_is_go(program))
		add_setting(p, ct_memory_strdup("CPROF_CHECKPOINT=1s"));
	/* All files have this directory, and begin with this name. */
	for (int m = 0; m < CT_MODES; m++)
		if (p->path[m]) {
			p->start = ct_run_show_start(p->path[m]);
			break;
		}
	return 0;
}

static void forget_plan(struct plan *p)
{
	for (int m = 0; m < CT_MODES; m++) {
		free(p->path[m]);
		ct_run_keep_close(&p->before[m]);
	}
	for (unsigned i = 0; i < p->count; i++)
		free(p->settings[i]);
}

/* Prints on stderr why PROGRAM can't be profiled, or not completely, and returns that text; NULL:
 * nothing prevents it. Sets *BREAKS if the library must not be preloaded. */
static char *warn(const char *program, bool *breaks)
{
	char *why = ct_preload_obstacle(program, breaks);

	if (why)
		fprintf(stderr, "cprof: no profile will be made: %s\n", why);
	return why;
}

/* ---- after ---- */

static void say_nothing_written(int mode, const char *path, const struct ct_ended *end)
{
	char *directory = ct_memory_printf("%.*s", (int)(strrchr(path, '/') - path) + 1, path);

	fprintf(stderr, "cprof: no %s profile was written", ct_control_modes[mode].name);
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

/* The run before has left the command's own file, so the change of a tree isn't known. */
static void show_change(struct plan *p, int mode, bool of_command)
{
	char *before = ct_run_keep_store(&p->before[mode], p->path[mode], my.keep);

	if (before && my.top && of_command)
		ct_run_show_change(ct_control_modes[mode].name, before, p->path[mode]);
	free(before);
}

/* WHY: the text that warn() returned, or NULL. */
static void show_files(struct plan *p, const char *why, const struct ct_ended *end)
{
	const char **roots = ct_verb_symbolize_roots(&my.roots);
	bool several = ct_mode_options_count() > 1;
	struct ct_run_show how = { .start = p->start,
				   .roots = roots,
				   .top = my.top >= 0 ? my.top
					  : several   ? ROWS_OF_SEVERAL
						      : ROWS,
				   .several = several,
				   .flame = my.flame,
				   .open = my.open };
	char *written[CT_MODES];
	size_t count = 0;

	for (int m = 0; m < CT_MODES; m++) {
		if (!p->path[m])
			continue;
		if (ct_run_show_wrote(&how, p->path[m])) {
			show_change(p, m, ct_run_show(&how, ct_control_modes[m].name, p->path[m]));
			written[count++] = p->path[m];
		} else if (!why) {
			say_nothing_written(m, p->path[m], end);
		}
	}
	if (why && !count)
		fprintf(stderr, "cprof: no profile was written: %s\n", why);
	if (count)
		ct_run_show_spans(my.slow, written, count);
	if (how.flame)
		ct_run_show_flame(&how);
	free(roots);
}

/* Does process PID have one of P's paths of profiles in its environment? */
static bool is_of_run(const struct plan *p, const char *pid)
{
	char *path = ct_memory_printf("/proc/%s/environ", pid), *line = NULL;
	FILE *f = fopen(path, "re");
	bool found = false;
	size_t room = 0;

	while (f && !found && getdelim(&line, &room, '\0', f) > 0)
		for (unsigned i = 0; i < p->count && !found; i++)
			found = strstr(p->settings[i], "PROFILE=/") &&
				!strcmp(line, p->settings[i]);
	if (f)
		fclose(f);
	free(line);
	free(path);
	return found;
}

/* Daemons, and what a shell leaves in the background, have no file yet. */
static void say_running(const struct plan *p)
{
	DIR *d = opendir("/proc");
	int first = 0, count = 0;
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (ct_siblings_process(e->d_name) && is_of_run(p, e->d_name) &&
		    ct_control_has_library(atoi(e->d_name)) && !count++)
			first = atoi(e->d_name);
	if (d)
		closedir(d);
	if (count == 1)
		fprintf(stderr,
			"cprof: process %d, which the command started, still runs: its files come "
			"at its end\n",
			first);
	else if (count)
		fprintf(stderr,
			"cprof: %d processes that the command started, %d among them, still run: "
			"their files come at their end\n",
			count, first);
}

static int run_it(char **argv, double seconds)
{
	struct plan plan = { .count = 0 };
	char *program = ct_preload_program(argv[0]), *why;
	char *const nothing[] = { NULL };
	struct ct_ended end;
	bool breaks;
	int error;

	if (!program)
		return ct_mode_options_cannot_run(argv, errno);
	if (make_plan(&plan, argv[0], program)) {
		free(program);
		return CT_FAILED;
	}
	why = warn(program, &breaks);
	error = ct_run_command(program, argv, breaks ? nothing : plan.settings, seconds, &end);
	if (error || end.error)
		return ct_mode_options_cannot_run(argv, error ? -error : end.error);
	free(program);
	show_files(&plan, why, &end);
	say_running(&plan);
	forget_plan(&plan);
	free(why);
	return ct_run_command_end_like(&end);
}

static int verb_run(int argc, char **argv)
{
	const struct ct_option *const tables[] = {
		ct_mode_options_table, ct_mode_options_views_table, options,
		ct_own_options,	       ct_short_name_options,	    NULL
	};
	int first = ct_options_parse(&ct_verb_run, argc, argv, tables);
	double seconds = 0;

	if (first < 0)
		return ct_options_status(first);
	if (first >= argc)
		return ct_options_wrong(&ct_verb_run, "give a command");
	if (my.seconds && (seconds = ct_options_seconds(my.seconds)) <= 0)
		return ct_options_wrong(&ct_verb_run, "-for=%s is no duration", my.seconds);
	if (my.slow && ct_options_seconds(my.slow) < 0)
		return ct_options_wrong(&ct_verb_run, "-slow=%s is no duration", my.slow);
	if (my.flame && !ct_flame_is_output(my.flame))
		return ct_options_wrong(&ct_verb_run, "-flame=%s ends neither in .html nor in .svg",
					my.flame);
	if (ct_mode_options_check(&ct_verb_run) || ct_own_table_check())
		return CT_FAILED;
	if (my.open && !my.flame)
		my.flame = ct_run_show_page(argv[first]);
	if (!ct_mode_options_count())
		ct_mode_options[CT_CPU].value = "";
	return run_it(argv + first, seconds);
}

const struct ct_verb ct_verb_run = {
	.name = "run",
	.operands = "[--] COMMAND [ARGUMENT]...",
	.summary = "Run a command and show where its time and memory went, or where it waited",
	.details = "Without a mode, it records CPU time. The command keeps its output and input, "
		   "its signals and its exit status.\n",
	.stops_at_operand = true,
	.run = verb_run,
};
