/* SPDX-License-Identifier: BSD-3-Clause */
/* cprof record: a window of a running process, and the top of it.
 *
 * A mode that is off is on for the window only; a mode that is on stays as it is
 * (control/control.h).
 */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/read.h"
#include "verbs/verbs.h"

/* If cprof is killed, the mode ends by itself so long after the window. */
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
	int mode; /* CT_CPU ... */
	struct ct_window *window;
	char *path; /* NULL: the mode couldn't be recorded */
};

static volatile sig_atomic_t interrupted;

static void interrupt(int sig)
{
	(void)sig;
	interrupted = 1;
}

/* Says WHY, and frees it. */
static int say_why(char *why)
{
	fprintf(stderr, "cprof record: %s\n", why);
	free(why);
	return CT_FAILED;
}

/* *SAID gets why it failed; a reason that is there already isn't said again. */
static int begin_window(struct window *w, int pid, double seconds, char **said)
{
	const char *name = ct_control_modes[w->mode].name,
		   *setting = ct_mode_options[w->mode].value;
	const struct ct_window_how how = { .mode = name,
					   .setting = setting,
					   .lease = seconds + GRACE_SECONDS };
	char *why;

	if (ct_window_open(&w->window, pid, &how, &why)) {
		if (!*said || strcmp(*said, why) != 0)
			fprintf(stderr, "cprof record: %s\n", why);
		free(*said);
		*said = why;
		return CT_FAILED;
	}
	if (ct_window_was_on(w->window) && *setting)
		fprintf(stderr, "cprof record: %s is on already, and keeps its own setting\n",
			name);
	return CT_OK;
}

/* The holders of locks, and who ended the waits, go to files beside the waits'. */
static void keep_companions(const struct ct_window_taken *taken, int mode, const char *path)
{
	for (int i = 0; i < CT_COMPANIONS; i++) {
		const struct ct_companion *c = &ct_control_modes[mode].companions[i];
		char *beside;

		if (!taken->companions[i] || c->repeats)
			continue;
		beside = ct_mode_options_infix(path, c->infix);
		ct_write_file(taken->companions[i], beside);
		free(beside);
	}
}

static char *path_of(const struct window *w, int pid)
{
	char *given, *path;

	if (my.output && ct_mode_options_count() == 1)
		return ct_mode_options_absolute(my.output);
	given = my.output ? ct_memory_strdup(my.output)
			  : ct_memory_printf("%s.pb", ct_base_name(ct_control_name(pid)));
	path = ct_mode_options_infix(given, ct_control_modes[w->mode].name);
	free(given);
	return path;
}

/* Writes the profile to W's path. A profile that was there stays beside it, as in a second run. */
static int write_profile(const struct window *w, const struct ct_profile *p)
{
	struct ct_run_keep before;
	char *kept;

	ct_run_keep_open(&before, w->path);
	if (ct_write_file(p, w->path)) {
		ct_run_keep_close(&before);
		return CT_FAILED;
	}
	kept = ct_run_keep_store(&before, w->path, 1);
	if (kept)
		fprintf(stderr, "cprof: the %s profile that was there: %s\n",
			ct_control_modes[w->mode].name, kept);
	free(kept);
	return CT_OK;
}

static int end_window(struct window *w, int pid)
{
	struct ct_window_taken taken;
	char *why;
	enum ct_window_result result = ct_window_take(w->window, &taken, &why);
	int status = result == CT_WINDOW_OK ? CT_OK : say_why(why);

	ct_window_close(w->window);
	if (!taken.profile)
		return CT_FAILED;
	w->path = path_of(w, pid);
	if (write_profile(w, taken.profile)) {
		free(w->path);
		w->path = NULL;
		status = CT_FAILED;
	} else {
		keep_companions(&taken, w->mode, w->path);
	}
	ct_window_taken_release(&taken);
	return status;
}

/* Waits until the time is over, or the process of the N windows has ended. */
static void wait_for_end(const struct window *windows, unsigned n, int pid, double seconds)
{
	struct pollfd process = { .fd = (int)syscall(SYS_pidfd_open, ct_control_pid(pid), 0),
				  .events = POLLIN };
	double began = ct_now(), passed;
	char text[80];

	while ((passed = ct_now() - began) < seconds && !interrupted) {
		double left = seconds - passed;

		snprintf(text, sizeof(text), "cprof: recording, %.0f of %.0f s ", passed, seconds);
		ct_out_guard_progress(text);
		for (unsigned i = 0; i < n; i++)
			ct_window_turn_away(windows[i].window);
		if (poll(&process, 1, left < 0.1 ? (int)(left * 1000) + 1 : 100) > 0)
			break;
	}
	ct_out_guard_progress(NULL);
	if (process.fd >= 0 && poll(&process, 1, 0) == 1)
		fprintf(stderr, "cprof: process %s has ended after %.1f s\n", ct_control_name(pid),
			ct_now() - began);
	if (process.fd >= 0)
		close(process.fd);
}

static void show_window(const struct window *w, struct ct_run_show_start start)
{
	const char **roots = ct_verb_symbolize_roots(&my.roots);
	struct ct_run_show how = { .start = start, .roots = roots, .top = my.top, .window = true };

	ct_run_show(&how, ct_control_modes[w->mode].name, w->path);
	free(roots);
}

static int record_process(int pid, double seconds, void (*begun)(int pid))
{
	struct window windows[CT_MODES] = { { 0 } };
	struct ct_run_show_start start;
	char *path, *said = NULL;
	unsigned count = 0;
	int status = CT_OK;

	for (int m = 0; m < CT_MODES; m++) {
		windows[count].mode = m;
		if (!ct_mode_options[m].value)
			continue;
		if (begin_window(&windows[count], pid, seconds, &said))
			status = CT_FAILED;
		else
			count++;
	}
	free(said);
	if (!count)
		return CT_FAILED;
	if (begun)
		begun(pid);
	fprintf(stderr, "cprof: recording process %s for %g s; Ctrl-C ends it earlier\n",
		ct_control_name(pid), seconds);
	signal(SIGINT, interrupt);
	signal(SIGTERM, interrupt);
	wait_for_end(windows, count, pid, seconds);
	path = path_of(&windows[0], pid);
	start = ct_run_show_start(path);
	free(path);
	for (unsigned i = 0; i < count; i++)
		if (end_window(&windows[i], pid))
			status = CT_FAILED;
	for (unsigned i = 0; i < count; i++)
		if (windows[i].path)
			show_window(&windows[i], start);
	for (unsigned i = 0; i < count; i++)
		free(windows[i].path);
	return status;
}

const struct ct_option *const ct_verb_record_tables[] = { ct_mode_options_table, options,
							  ct_own_options, ct_short_name_options,
							  NULL };

int ct_verb_record_check(const struct ct_verb *verb)
{
	if (ct_options_seconds(my.seconds) <= 0)
		return ct_options_wrong(verb, "-for=%s is no duration", my.seconds);
	return ct_mode_options_check(verb) || ct_own_table_check() ? CT_FAILED : CT_OK;
}

int ct_verb_record_process(int pid, void (*begun)(int pid))
{
	if (!ct_mode_options_count())
		ct_mode_options[CT_CPU].value = "";
	return record_process(pid, ct_options_seconds(my.seconds), begun);
}

static int verb_record(int argc, char **argv)
{
	int first = ct_options_parse(&ct_verb_record, argc, argv, ct_verb_record_tables), pid;

	if (first < 0)
		return ct_options_status(first);
	if (argc - first != 1) {
		if (first < argc)
			ct_mode_options_hint(argv[first - 1], argv[first]);
		return ct_options_wrong(&ct_verb_record,
					"give one process id; \"cprof ps\" lists them");
	}
	pid = ct_control_process(argv[first]);
	if (!pid)
		return ct_options_wrong(&ct_verb_record,
					CT_CONTROL_NO_PROCESS "; \"cprof run\" records a command",
					argv[first]);
	return ct_verb_record_check(&ct_verb_record) ? CT_FAILED
						     : ct_verb_record_process(pid, NULL);
}

const struct ct_verb ct_verb_record = {
	.name = "record",
	.operands = "PID|PATH",
	.summary = "Record a running process for a while, and show what it did",
	.details =
		"Without a mode, its CPU time. The profile goes to PID.MODE.pb here. A mode that "
		"is on goes on; others\nare on for the window only.\n",
	.run = verb_record,
};
