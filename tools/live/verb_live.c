/* SPDX-License-Identifier: BSD-3-Clause */
/* cprof live: a running process on the screen, as top shows all processes. */
#include <stdlib.h>

#include "core/core.h"
#include "live/live.h"
#include "verbs/verbs.h"

static struct {
	const char *every;
} my = { .every = "2s" };

static const struct ct_option options[] = {
	CT_TEXT("every", "DUR", &my.every, "how long a window is (2s); the keys + and - change it"),
	CT_END
};

static int run(int argc, char **argv)
{
	const struct ct_option *const tables[] = { ct_mode_options_table, options, ct_own_options,
						   NULL };
	int first = ct_options_parse(&ct_verb_live, argc, argv, tables), mode = -1;
	const char *settings[CT_MODES];
	bool modes[CT_MODES];
	double every;
	char *rest;
	long pid;

	if (first < 0)
		return ct_options_status(first);
	if (argc - first != 1)
		return ct_options_wrong(&ct_verb_live,
					"give one process id; \"cprof ps\" lists them");
	pid = strtol(argv[first], &rest, 10);
	if (*rest || pid <= 0 || pid > INT32_MAX)
		return ct_options_wrong(&ct_verb_live,
					"\"%s\" is no process id; \"cprof ps\" lists them",
					argv[first]);
	every = ct_mode_options_seconds(my.every);
	if (!(every >= CT_LIVE_LEAST_EVERY && every <= CT_LIVE_MOST_EVERY))
		return ct_options_wrong(&ct_verb_live, "-every=%s is not 0.5s to 1m", my.every);
	if (ct_mode_options_check(&ct_verb_live) || ct_own_table_check())
		return CT_FAILED;
	for (int m = CT_MODES - 1; m >= 0; m--) {
		settings[m] = ct_mode_options[m].value;
		modes[m] = settings[m] != NULL;
		mode = modes[m] ? m : mode;
	}
	return ct_live((int)pid, every, mode, modes, settings);
}

const struct ct_verb ct_verb_live = {
	.name = "live",
	.operands = "PID",
	.summary = "Watch a running process on the screen: functions, flame graph, threads",
	.details =
		"Your code and all functions, of the last two seconds. Keys change the mode (c w h "
		"l i e), show\na flame graph (f) or every thread (t), sort, filter and pause; ? "
		"lists them. Without a mode: one\nthat is on, else the CPU time. A mode that is "
		"on goes on; others are on until the end.\n",
	.run = run,
};
