/* SPDX-License-Identifier: BSD-3-Clause */
/* cprof set: other settings for the modes of a running process. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/verbs.h"

static struct {
	const char *values[CT_MODES]; /* of ct_control_modes' settings */
	const char *others[CT_MODES]; /* of the settings below */
} my;

static const char *const others[CT_MODES] = {
	[CT_HEAP] = "CPROF_HEAP_BUDGET", [CT_EVENT] = "CPROF_EVENT_PERIOD"
};

static const struct ct_option options[] = {
	CT_TEXT("cpu", "HZ", &my.values[CT_CPU], "samples per CPU second"),
	CT_TEXT("wall", "HZ", &my.values[CT_WALL], "samples per second of every thread"),
	CT_TEXT("heap", "BYTES", &my.values[CT_HEAP], "a sample every BYTES (512K)"),
	CT_TEXT("lock", "DUR", &my.values[CT_LOCK],
		"stacks of waits for locks of DUR (1us) or longer"),
	CT_TEXT("heap-budget", "N", &my.others[CT_HEAP],
		"about N samples a second, or N% of the CPU time: the interval follows; 0: it "
		"stays"),
	CT_TEXT("event-period", "N", &my.others[CT_EVENT], "a sample for every N events"),
	CT_END
};

static bool is_asked(int mode)
{
	return my.values[mode] || my.others[mode];
}

static void say_changed(int pid, int mode, const struct cp_control_message *m)
{
	char *accepted = ct_control_value(m, "why");
	const char *why = accepted;

	switch (m->result) {
	case -ESRCH: why = "it is not on; \"cprof ps\" lists the modes"; break;
	case -EBUSY: why = "the program starts or stops a profile itself; try again"; break;
	case -EOPNOTSUPP:
		why = my.values[mode]
			      ? "to or from every allocation (-heap=1) only by cprof stop "
				"and cprof start"
			      : "every allocation is recorded (-heap=1): that has no budget";
		break;
	case -ERANGE:
		if (!why)
			why = "the event can't be sampled that often";
		break;
	case -EINVAL: why = "the process has a libcprof that doesn't know this setting"; break;
	default: break;
	}
	fprintf(stderr, "cprof set: process %s: %s: %s\n", ct_control_name(pid),
		ct_control_modes[mode].name, why ? why : strerror(-m->result));
	free(accepted);
}

/* Prints each "set=KEY=VALUE, before: VALUE" of reply M. */
static void print_changes(int pid, const struct cp_control_message *m)
{
	const char *at = m->text, *end = m->text + m->size, *line_end;

	for (; at < end && (line_end = memchr(at, '\n', (size_t)(end - at))); at = line_end + 1) {
		char line[256];

		if (line_end - at < 4 || memcmp(at, "set=", 4))
			continue;
		snprintf(line, sizeof(line), "%.*s", (int)(line_end - at - 4), at + 4);
		printf("process %s: ", ct_control_name(pid));
		ct_out_text(stdout, line);
		putchar('\n');
	}
}

static int set_mode(int pid, int mode)
{
	struct cp_control_message m;
	char *why;

	ct_control_request(&m, CP_CONTROL_SET);
	ct_control_line(&m, "mode", ct_control_modes[mode].name);
	if (my.values[mode])
		ct_control_line(&m, ct_control_modes[mode].setting, my.values[mode]);
	if (my.others[mode])
		ct_control_line(&m, others[mode], my.others[mode]);
	why = ct_control_ask(pid, &m, -1);
	if (why) {
		fprintf(stderr, "cprof set: %s\n", why);
		free(why);
		return CT_FAILED;
	}
	if (m.result)
		say_changed(pid, mode, &m);
	else
		print_changes(pid, &m);
	return m.result ? CT_FAILED : CT_OK;
}

static int check_settings(int argc, int first)
{
	bool any = false;

	for (int mode = 0; mode < CT_MODES; mode++) {
		any |= is_asked(mode);
		if ((my.values[mode] && !*my.values[mode]) ||
		    (my.others[mode] && !*my.others[mode]))
			return ct_options_wrong(&ct_verb_set, "a setting of %s has no value",
						ct_control_modes[mode].name);
	}
	if (!any)
		return ct_options_wrong(&ct_verb_set, "give a setting, as -cpu=1000");
	if (first == argc)
		return ct_options_wrong(&ct_verb_set, "give a process id; \"cprof ps\" lists them");
	return CT_OK;
}

static int verb_set(int argc, char **argv)
{
	const struct ct_option *const tables[] = { options, NULL };
	int first = ct_options_parse(&ct_verb_set, argc, argv, tables), status = CT_OK;

	if (first < 0)
		return ct_options_status(first);
	if (check_settings(argc, first))
		return CT_FAILED;
	for (int i = first; i < argc; i++)
		if (!ct_control_process(argv[i]))
			return ct_options_wrong(&ct_verb_set, CT_CONTROL_NO_PROCESS, argv[i]);
	for (int i = first; i < argc; i++) {
		int pid = ct_control_process(argv[i]);

		for (int mode = 0; mode < CT_MODES; mode++)
			if (is_asked(mode) && set_mode(pid, mode))
				status = CT_FAILED;
	}
	return status;
}

const struct ct_verb ct_verb_set = {
	.name = "set",
	.operands = "PID|PATH...",
	.summary = "Change rates and thresholds of a running process's profiles",
	.details = "For modes that are on, whoever turned them on. Each sample counts for the "
		   "rate that it was taken\nat, so totals stay right; the profile's comments tell "
		   "what was set, and when.\n",
	.run = verb_set,
};
