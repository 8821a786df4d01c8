/* SPDX-License-Identifier: BSD-3-Clause */
/* cprof start, cprof stop: modes of a running process, turned on and off. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/verbs.h"

static struct {
	const char *output, *seconds;
	bool discard;
} my;

#define NO_PROCESS "give a process id; \"cprof ps\" lists them"

static const struct ct_option start_options[] = {
	CT_TEXT("output", "PATH", &my.output,
		"where the process writes the profile; several modes: PATH with each mode's name "
		"in it"),
	CT_TEXT("o", "PATH", &my.output, NULL),
	CT_TEXT("for", "DUR", &my.seconds, "stop after DUR (30s, 5m)"),
	CT_TEXT("d", "DUR", &my.seconds, NULL), CT_END
};

static const struct ct_option stop_options[] = {
	CT_FLAG("discard", &my.discard, "drop what was recorded; no file is written"), CT_END
};

/* Prints what the process couldn't do, and what helps. */
static void say_result(const char *verb, int process, const char *mode,
		       const struct cp_control_message *reply)
{
	const char *pid = ct_control_name(process);
	char *own = ct_control_value(reply, "why");
	const char *why = own ? own : strerror(-reply->result);

	switch (reply->result) {
	case -ERANGE: break;
	case -EALREADY: why = "it is on; \"cprof ps\" lists the modes"; break;
	case -ESRCH: why = "it is not on; \"cprof ps\" lists the modes"; break;
	case -EBUSY: why = "the program starts or stops a profile itself; try again"; break;
	case -EOPNOTSUPP:
		why = "the program's own jemalloc reports to it, which only the program can end";
		break;
	case -EINVAL: why = "the process has a libcprof that doesn't know this setting"; break;
	default:
		fprintf(stderr, "cprof %s: process %s: %s: %s%s\n", verb, pid, mode, why,
			!strcmp(verb, "start") ? "; -o PATH puts the file elsewhere" : "");
		free(own);
		return;
	}
	fprintf(stderr, "cprof %s: process %s: %s: ", verb, pid, mode);
	ct_out_text(stderr, why);
	fputc('\n', stderr);
	free(own);
}

static void say_path(const struct cp_control_message *reply, const char *mode, int pid,
		     const char *does)
{
	char *key = ct_memory_printf("%s.path", mode), *path = ct_control_value(reply, key);

	printf("%s profile of process %s ", mode, ct_control_name(pid));
	if (path) {
		fputs(does, stdout);
		ct_out_text(stdout, path);
	} else {
		fputs("is not written", stdout);
	}
	putchar('\n');
	free(path);
	free(key);
}

/* Returns the path that the process gets for MODE. Without -o it is in the directory where the
 * process was started. */
static char *path_for(const char *mode)
{
	char *path, *escaped;

	if (!my.output)
		return ct_memory_printf("%%e.%%p.%s.pb", mode);
	path = ct_mode_options_count() > 1 ? ct_mode_options_infix(my.output, mode)
					   : ct_mode_options_absolute(my.output);
	escaped = ct_mode_options_escaped(path);
	free(path);
	return escaped;
}

static int ask_mode(const char *verb, int pid, const char *mode, struct cp_control_message *m)
{
	char *why = ct_control_ask(pid, m, -1);

	if (why)
		fprintf(stderr, "cprof %s: %s\n", verb, why);
	else if (m->result)
		say_result(verb, pid, mode, m);
	free(why);
	return why || m->result ? CT_FAILED : CT_OK;
}

static int start_mode(int pid, int mode, double seconds)
{
	const struct ct_control_mode *o = &ct_control_modes[mode];
	const char *setting = ct_mode_options[mode].value;
	struct cp_control_message m;
	char *path = path_for(o->name);
	int status;

	ct_control_request(&m, CP_CONTROL_START);
	ct_control_line(&m, o->path, path);
	if (*setting)
		ct_control_line(&m, o->setting, setting);
	if (mode == CT_HEAP && ct_mode_options_heap_views)
		ct_control_line(&m, "CPROF_HEAP_VIEWS", ct_mode_options_heap_views);
	if (seconds > 0)
		ct_control_nanoseconds(&m, seconds);
	free(path);
	status = ask_mode("start", pid, o->name, &m);
	if (!status)
		say_path(&m, o->name, pid, "goes to ");
	return status;
}

static int operands(const struct ct_verb *verb, int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		if (!ct_control_process(argv[i]))
			return ct_options_wrong(verb, CT_CONTROL_NO_PROCESS, argv[i]);
	return CT_OK;
}

static int run_start(int argc, char **argv)
{
	int status = CT_OK;
	double seconds = 0;

	if (operands(&ct_verb_start, argc, argv) || ct_mode_options_check(&ct_verb_start))
		return CT_FAILED;
	if (my.output && argc > 1)
		return ct_options_wrong(&ct_verb_start, "-output is for one process");
	if (my.seconds && (seconds = ct_options_seconds(my.seconds)) <= 0)
		return ct_options_wrong(&ct_verb_start, "-for=%s is no duration", my.seconds);
	if (!ct_mode_options_count())
		ct_mode_options[CT_CPU].value = "";
	for (int i = 0; i < argc; i++) {
		int pid = ct_control_process(argv[i]);

		for (int mode = 0; mode < CT_MODES; mode++)
			if (ct_mode_options[mode].value && start_mode(pid, mode, seconds))
				status = CT_FAILED;
	}
	return status;
}

static int stop_mode(int pid, const char *mode)
{
	struct cp_control_message m;
	int status;

	ct_control_request(&m, CP_CONTROL_STOP);
	ct_control_line(&m, "mode", mode);
	if (my.discard)
		ct_control_line(&m, "discard", "1");
	status = ask_mode("stop", pid, mode, &m);
	if (!status && !my.discard)
		say_path(&m, mode, pid, "is in ");
	return status;
}

/* Stops the modes that are asked for; without any, those that are on. */
static int stop_process(int pid)
{
	struct cp_control_message m;
	int status = CT_OK;
	bool any = false;

	ct_control_request(&m, CP_CONTROL_STATUS);
	if (ask_mode("stop", pid, "status", &m))
		return CT_FAILED;
	for (int mode = 0; mode < CT_MODES; mode++) {
		const char *name = ct_control_modes[mode].name;

		if (!ct_mode_options[mode].value &&
		    (ct_mode_options_count() || !ct_control_mode_number(&m, name, "since")))
			continue;
		any = true;
		if (stop_mode(pid, name))
			status = CT_FAILED;
	}
	if (!any) {
		fprintf(stderr, "cprof stop: process %s: no mode is on\n", ct_control_name(pid));
		status = CT_FAILED;
	}
	return status;
}

static int run_stop(int argc, char **argv)
{
	int status = CT_OK;

	if (operands(&ct_verb_stop, argc, argv))
		return CT_FAILED;
	for (int i = 0; i < argc; i++)
		if (stop_process(ct_control_process(argv[i])))
			status = CT_FAILED;
	return status;
}

const struct ct_verb ct_verb_start = {
	.name = "start",
	.operands = "PID|PATH...",
	.summary = "Start profiling a running process",
	.details = "Without a mode, its CPU time. The process was started under libcprof, with a "
		   "mode on or with\nCPROF_CONTROL=on.\n",
	.tables = (const struct ct_option *const[]){ ct_mode_options_table,
						     ct_mode_options_views_table, start_options,
						     NULL },
	.wanted = NO_PROCESS,
	.least = 1,
	.run = run_start,
};

const struct ct_verb ct_verb_stop = {
	.name = "stop",
	.operands = "PID|PATH...",
	.summary = "Stop profiling a running process, and write its profiles",
	.details = "Without a mode, all that are on. The process goes on.\n",
	.tables = (const struct ct_option *const[]){ ct_mode_options_table, stop_options, NULL },
	.wanted = NO_PROCESS,
	.least = 1,
	.run = run_stop,
};
