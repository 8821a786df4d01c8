/* SPDX-License-Identifier: BSD-3-Clause */
/* cprof record: a window of a running process, and the top of it.
 *
 * A mode that is off is started for the window, without a file of its own. A mode that is on stays
 * as it is: its profile at the begin of the window is subtracted from the one at the end.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "core/combine.h"
#include "core/memory.h"
#include "core/options.h"
#include "core/read.h"
#include "core/short_name.h"
#include "core/write.h"
#include "verbs/control.h"
#include "verbs/mode_options.h"
#include "verbs/own_table.h"
#include "verbs/run_show.h"
#include "verbs/verb_symbolize.h"
#include "verbs/verbs.h"

/* Should we be killed, the mode ends by itself so long after the window. */
#define GRACE_SECONDS 30

static struct {
	const char *output, *seconds;
	long top;
	struct ct_list roots;
} my = { .seconds = "10s", .top = 15 };

static const struct ct_option options[] = {
	CT_TEXT("for", "DUR", &my.seconds, "how long (10s); Ctrl-C ends it earlier"),
	CT_TEXT("d", "DUR", &my.seconds, NULL),
	CT_TEXT("output", "PATH", &my.output,
		"where to write the profile; several modes: PATH with each mode's name in it"),
	CT_TEXT("o", "PATH", &my.output, NULL),
	CT_INTEGER("top", "N", &my.top, "show N rows of each profile (15); 0: none"),
	CT_LIST("debug-dir", "DIR", &my.roots, "look for debug files in DIR, too"),
	CT_END
};

struct window {
	const struct ct_mode_option *mode;
	bool started;		   /* for this window */
	struct ct_profile *before; /* of a mode that was on */
	char *path;		   /* NULL: the mode couldn't be recorded */
};

static volatile sig_atomic_t interrupted;

static void interrupt(int sig)
{
	(void)sig;
	interrupted = 1;
}

static int failed(int pid, const char *mode, int err)
{
	fprintf(stderr, "cprof record: process %d: %s: %s\n", pid, mode,
		err == -ESRCH	? "the mode ended meanwhile"
		: err == -EBUSY ? "the program starts or stops a profile itself; try again"
				: strerror(-err));
	return CT_FAILED;
}

/* Asks, and says why there is no reply. Returns 0, -EIO without a reply, or the reply's error. */
static int ask(int pid, struct cp_control_message *m, int fd)
{
	char *why = ct_control_ask(pid, m, fd);

	if (!why)
		return m->result;
	fprintf(stderr, "cprof record: %s\n", why);
	free(why);
	return -EIO;
}

/* The profile of MODE up to now, or NULL with *ERR, which is -EIO if it was said. */
static struct ct_profile *get(int pid, const char *mode, int *err)
{
	struct cp_control_message m;
	struct ct_profile *p = NULL;
	int fd = memfd_create("cprof", MFD_CLOEXEC);
	char *path;

	ct_control_request(&m, CP_CONTROL_DUMP);
	ct_control_line(&m, "mode", mode);
	*err = fd < 0 ? -errno : ask(pid, &m, fd);
	if (!*err) {
		path = ct_memory_printf("/proc/self/fd/%d", fd);
		p = ct_read_source(path);
		*err = p ? 0 : -EIO;
		free(path);
	}
	if (fd >= 0)
		close(fd);
	return p;
}

static int begin(struct window *w, int pid, double seconds)
{
	struct cp_control_message m;
	int err;

	ct_control_request(&m, CP_CONTROL_START);
	ct_control_line(&m, w->mode->path, "/dev/null");
	ct_control_line(&m, "nofile", "1");
	if (*w->mode->value)
		ct_control_line(&m, w->mode->setting, w->mode->value);
	ct_control_nanoseconds(&m, seconds + GRACE_SECONDS);
	err = ask(pid, &m, -1);
	w->started = !err;
	if (err == -EALREADY) {
		w->before = get(pid, w->mode->name, &err);
		if (w->before && *w->mode->value)
			fprintf(stderr,
				"cprof record: %s is on already, and keeps its own setting\n",
				w->mode->name);
	}
	if (!err || err == -EIO)
		return err ? CT_FAILED : CT_OK;
	return failed(pid, w->mode->name, err);
}

/* P without what was there BEFORE. Frees both. */
static struct ct_profile *since(struct ct_profile *p, struct ct_profile *before, double seconds)
{
	double *ratios = ct_memory_alloc(before->type_count * sizeof(*ratios));
	struct ct_profile *both[2] = { p, before }, *window;
	int64_t began = p->time_nanos + p->duration_nanos - (int64_t)(seconds * 1e9);

	for (size_t i = 0; i < before->type_count; i++)
		ratios[i] = -1;
	ct_combine_header_scale(before, ratios);
	before->comment_count = 0;
	window = ct_combine(both, 2);
	if (window) {
		window->time_nanos = began;
		window->duration_nanos = (int64_t)(seconds * 1e9);
		ct_model_add_comment(
			window,
			ct_model_string(window,
					"# note: the mode was on before; the samples are those "
					"of the window, the lines above tell of all its "
					"time"));
	}
	ct_model_free(p);
	ct_model_free(before);
	free(ratios);
	return window;
}

static void stop(const struct window *w, int pid)
{
	struct cp_control_message m;
	char *why;

	ct_control_request(&m, CP_CONTROL_STOP);
	ct_control_line(&m, "mode", w->mode->name);
	ct_control_line(&m, "discard", "1");
	why = ct_control_ask(pid, &m, -1);
	free(why);
}

/* The holders of locks go to a file beside the waits'. */
static void keep_holders(int pid, const char *path)
{
	int err;
	struct ct_profile *p = get(pid, "holders", &err);
	char *beside = p ? ct_mode_options_infix(path, "holders") : NULL;

	if (p && p->sample_count)
		ct_write_file(p, beside);
	free(beside);
	ct_model_free(p);
}

static char *path_of(const struct window *w, int pid)
{
	char *given, *path;

	if (my.output && ct_mode_options_count() == 1)
		return ct_mode_options_absolute(my.output);
	given = my.output ? ct_memory_strdup(my.output) : ct_memory_printf("%d.pb", pid);
	path = ct_mode_options_infix(given, w->mode->name);
	free(given);
	return path;
}

static int end(struct window *w, int pid, double seconds)
{
	int err;
	struct ct_profile *p = get(pid, w->mode->name, &err);

	w->path = p ? path_of(w, pid) : NULL;
	if (p && w->started && !strcmp(w->mode->name, "lock"))
		keep_holders(pid, w->path);
	if (w->started)
		stop(w, pid);
	if (p && w->before)
		p = since(p, w->before, seconds);
	if (!p)
		return err == -EIO || !err ? CT_FAILED : failed(pid, w->mode->name, err);
	err = ct_write_file(p, w->path);
	ct_model_free(p);
	if (err) {
		free(w->path);
		w->path = NULL;
	}
	return err ? CT_FAILED : CT_OK;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Waits for the end of the window. Returns how long that was. */
static double wait_for_end(double seconds)
{
	const struct timespec tick = { .tv_nsec = 100000000 };
	double began = now(), passed;
	bool shown = isatty(STDERR_FILENO);

	while ((passed = now() - began) < seconds && !interrupted) {
		double left = seconds - passed;
		struct timespec rest = { 0, (long)(left * 1e9) };

		if (shown)
			fprintf(stderr, "\rcprof: recording, %.0f of %.0f s ", passed, seconds);
		nanosleep(left < 0.1 ? &rest : &tick, NULL);
	}
	if (shown)
		fputs("\r\033[K", stderr);
	return passed;
}

static void show(const struct window *w, struct timespec start)
{
	const char **roots = ct_memory_alloc((my.roots.count + 2) * sizeof(*roots));
	struct ct_run_show how = { start, roots, my.top, NULL, false };

	for (unsigned long i = 0; i < my.roots.count; i++)
		roots[i] = my.roots.items[i];
	roots[my.roots.count] = CT_DEBUG_ROOT;
	ct_run_show(&how, w->mode->name, w->path);
	free(roots);
}

static int record(int pid, double seconds)
{
	struct window windows[CT_MODES] = { { 0 } };
	struct timespec start;
	unsigned count = 0;
	int status = CT_OK;

	for (int m = 0; m < CT_MODES; m++) {
		windows[count].mode = &ct_mode_options[m];
		if (!ct_mode_options[m].value)
			continue;
		if (begin(&windows[count], pid, seconds))
			status = CT_FAILED;
		else
			count++;
	}
	if (!count)
		return CT_FAILED;
	fprintf(stderr, "cprof: recording process %d for %g s; Ctrl-C ends it earlier\n", pid,
		seconds);
	signal(SIGINT, interrupt);
	signal(SIGTERM, interrupt);
	seconds = wait_for_end(seconds);
	start = ct_run_show_start();
	for (unsigned i = 0; i < count; i++)
		if (end(&windows[i], pid, seconds))
			status = CT_FAILED;
	for (unsigned i = 0; i < count; i++)
		if (windows[i].path)
			show(&windows[i], start);
	for (unsigned i = 0; i < count; i++)
		free(windows[i].path);
	return status;
}

static int run(int argc, char **argv)
{
	const struct ct_option *const tables[] = { ct_mode_options_table, options, ct_own_options,
						   ct_short_name_options, NULL };
	int first = ct_options_parse(&ct_verb_record, argc, argv, tables);
	double seconds;
	char *rest;
	long pid;

	if (first < 0)
		return ct_options_status(first);
	if (argc - first != 1)
		return ct_options_wrong(&ct_verb_record,
					"give one process id; \"cprof ps\" lists them");
	pid = strtol(argv[first], &rest, 10);
	if (*rest || pid <= 0 || pid > INT32_MAX)
		return ct_options_wrong(&ct_verb_record,
					"\"%s\" is no process id; \"cprof run\" records a command",
					argv[first]);
	seconds = ct_mode_options_seconds(my.seconds);
	if (seconds <= 0)
		return ct_options_wrong(&ct_verb_record, "-for=%s is no duration", my.seconds);
	if (ct_mode_options_check(&ct_verb_record) || ct_own_table_check())
		return CT_FAILED;
	if (!ct_mode_options_count())
		ct_mode_options[CT_CPU].value = "";
	return record((int)pid, seconds);
}

const struct ct_verb ct_verb_record = {
	.name = "record",
	.operands = "PID",
	.summary = "Record a running process for a while, and show what it did",
	.details =
		"Without a mode, its CPU time. The profile goes to PID.MODE.pb here. A mode that "
		"is on goes on; others\nare on for the window only.\n",
	.run = run,
};
