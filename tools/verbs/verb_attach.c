/* SPDX-License-Identifier: BSD-3-Clause */
/* cprof attach, cprof detach: the library, into a process that runs without it, and out again. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/attach.h"
#include "verbs/verbs.h"

/* Says WHY, and frees it. */
static int say_why(const char *verb, char *why)
{
	fprintf(stderr, "cprof %s: ", verb);
	ct_out_text(stderr, why);
	fputc('\n', stderr);
	free(why);
	return CT_FAILED;
}

/* A process that listens needs nothing. */
static bool listens(int pid)
{
	struct cp_control_message m;
	char *why = ct_control_status(pid, &m);
	bool does = !why;

	free(why);
	return does;
}

static int attach_to(int pid, const char *library)
{
	bool has = listens(pid);
	double stopped;
	char *why = has ? NULL : ct_attach(pid, library, &stopped);

	/* Another cprof may have done it meanwhile. */
	if (has || (why && listens(pid))) {
		fprintf(stderr, "cprof: process %d has libcprof already\n", pid);
		free(why);
		return CT_OK;
	}
	if (why)
		return say_why("attach", why);
	fprintf(stderr,
		"cprof: attached to process %d; one of its threads was stopped for %.2f ms; "
		"\"cprof detach %d\" undoes it\n",
		pid, stopped * 1e3, pid);
	return CT_OK;
}

/* Gives masks of PID's threads with bits FROM the bits TO, if the library there says that it may be
 * done. */
static void change_masks(int pid, uint64_t from, uint64_t to)
{
	struct cp_control_message m;
	char *why = ct_control_status(pid, &m);

	if (!why && ct_control_number(&m, "may_free_prof"))
		ct_seize_masks(ct_control_pid(pid), from, to);
	free(why);
}

/* Threads that block all signals would not be sampled. The library has SIGPROF now. */
static void let_signals_in(int pid)
{
	if (ct_mode_options[CT_CPU].value || ct_mode_options[CT_WALL].value ||
	    ct_mode_options[CT_EVENT].value)
		change_masks(pid, CT_SEIZE_BLOCKED, CT_SEIZE_SAMPLED);
}

static int verb_attach(int argc, char **argv)
{
	int first = ct_options_parse(&ct_verb_attach, argc, argv, ct_verb_record_tables);
	int status = CT_OK;
	char *library;

	if (first < 0)
		return ct_options_status(first);
	if (argc == first)
		return ct_options_wrong(&ct_verb_attach, "give a process id");
	for (int i = first; i < argc; i++)
		if (ct_control_process(argv[i]) <= 0)
			return ct_options_wrong(&ct_verb_attach, "\"%s\" is no process id",
						argv[i]);
	/* getopt puts the options first. Any of them says what to record. */
	if (first > 1 && argc - first > 1)
		return ct_options_wrong(&ct_verb_attach, "one process is recorded at a time");
	if (ct_verb_record_check(&ct_verb_attach))
		return CT_FAILED;
	library = ct_preload_library("attach");
	if (!library)
		return CT_FAILED;
	for (int i = first; i < argc; i++)
		if (attach_to(ct_control_process(argv[i]), library))
			status = CT_FAILED;
	free(library);
	return status || first == 1
		       ? status
		       : ct_verb_record_process(ct_control_process(argv[first]), let_signals_in);
}

/* Returns whether PID runs and has no control socket. If the socket doesn't let this user in, the
 * process isn't detached. */
static bool is_detached(int pid)
{
	struct ct_control_end e;
	int fd = ct_control_talk_connect(pid, &e);

	if (fd >= 0)
		close(fd);
	return (fd == -ENOENT || fd == -ECONNREFUSED) && !kill(pid, 0) &&
	       !ct_control_has_ended(pid);
}

static int detach_from(int pid)
{
	struct cp_control_message m;
	char *why;

	if (is_detached(pid)) {
		why = ct_memory_printf("process %s is detached already, or was never attached",
				       ct_control_name(pid));
		return say_why("detach", why);
	}
	/* Before, because the program sees its masks as they are afterwards. */
	change_masks(pid, CT_SEIZE_SAMPLED, CT_SEIZE_BLOCKED);
	ct_control_request(&m, CP_CONTROL_DETACH);
	why = ct_control_ask(pid, &m, -1);
	if (why && is_detached(pid)) {
		free(why);
		why = ct_memory_printf("process %s is detached already, by another cprof",
				       ct_control_name(pid));
		return say_why("detach", why);
	}
	if (!why && !m.result) {
		fprintf(stderr, "cprof: detached from process %s\n", ct_control_name(pid));
		return CT_OK;
	}
	if (!why)
		switch (m.result) {
		case -ESRCH:
			why = ct_memory_printf("process %s was started with libcprof, which stays",
					       ct_control_name(pid));
			break;
		case -EBUSY:
			why = ct_memory_printf("process %s starts or stops a profile itself; try "
					       "again",
					       ct_control_name(pid));
			break;
		case -EOPNOTSUPP:
			why = ct_memory_printf(
				"process %s: the program's own jemalloc reports to a "
				"mode, which only the program can end",
				ct_control_name(pid));
			break;
		default:
			why = ct_memory_printf("process %s: %s", ct_control_name(pid),
					       strerror(-m.result));
		}
	return say_why("detach", why);
}

static int run_detach(int argc, char **argv)
{
	int status = CT_OK;

	for (int i = 0; i < argc; i++)
		if (!ct_control_process(argv[i]))
			return ct_options_wrong(&ct_verb_detach, CT_CONTROL_NO_PROCESS, argv[i]);
	for (int i = 0; i < argc; i++)
		if (detach_from(ct_control_process(argv[i])))
			status = CT_FAILED;
	return status;
}

const struct ct_verb ct_verb_attach = {
	.name = "attach",
	.operands = "PID...",
	.summary = "Load libcprof into a running process; with a mode, record it",
	.details =
		"For a process that was started without libcprof. Without an option, no mode is "
		"on afterwards: \"cprof start\",\nrecord, live, threads and so on work then. With "
		"a mode or -for, it records as \"cprof record\" does.\n\"cprof detach PID\" ends "
		"it.\n",
	.run = verb_attach,
};

const struct ct_verb ct_verb_detach = {
	.name = "detach",
	.operands = "PID|PATH...",
	.summary = "Undo attach: all modes off, nothing of the process is caught any more",
	.details = "Profiles with a file are written. The library stays in memory, and does "
		   "nothing.\n",
	.tables = (const struct ct_option *const[]){ NULL },
	.wanted = "give a process id",
	.least = 1,
	.run = run_detach,
};
