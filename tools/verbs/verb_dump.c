/* SPDX-License-Identifier: BSD-3-Clause */
/* cprof dump: a running process's profiles up to now. The process answers over its control socket
 * with all of them, of one moment, in a file in memory; the files are written here, with this
 * user's rights.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/read.h"
#include "core/times.h"
#include "verbs/verbs.h"

static struct {
	const char *mode, *output;
	double last; /* ns; 0: all of the run */
} my;

static const struct ct_option options[] = {
	CT_TEXT("mode", "M", &my.mode,
		"cpu, wall, heap, lock, io or event; default: every mode that is on"),
	CT_TEXT("output", "FILE", &my.output,
		"where to write the profile (of one mode); default: PID.MODE.0001.pb here, or the "
		"next number"),
	CT_TEXT("o", "FILE", &my.output, NULL), CT_END
};
static const struct ct_option *const tables[] = { options, ct_times_window_options, NULL };

/* The profiles, and the parts of the companions' file names. A process that doesn't make a
 * companion has no samples for it. */
static const struct {
	int mode;
	const char *name, *infix;
} all[] = {
	{ CT_CPU, "cpu", NULL },
	{ CT_WALL, "wall", NULL },
	{ CT_HEAP, "heap", NULL },
	{ CT_HEAP, "peak", "peak" },
	{ CT_HEAP, "mmap", "mmap" },
	{ CT_HEAP, "lifetimes", "lifetimes" },
	{ CT_HEAP, "fragmentation", "fragmentation" },
	{ CT_LOCK, "lock", NULL },
	{ CT_LOCK, "holders", "holders" },
	{ CT_LOCK, "wakers", "wakers" },
	{ CT_IO, "io", NULL },
	{ CT_IO, "io_wakers", "wakers" },
	{ CT_EVENT, "event", NULL },
};
#define ALL (int)(sizeof(all) / sizeof(*all))

/* Prints WHY, and frees it. */
static int say_why(char *why)
{
	fprintf(stderr, "cprof dump: %s\n", why);
	free(why);
	return CT_FAILED;
}

static void see_modes(const struct ct_controlled *p, const struct cp_control_message *status,
		      void *arg)
{
	bool *on = arg;

	(void)p;
	for (int m = 0; m < CT_MODES; m++)
		on[m] = ct_control_mode_number(status, ct_control_modes[m].name, "since") &&
			(!my.mode || !strcmp(my.mode, ct_control_modes[m].name));
}

/* Without an answer the signal remains, on which the library writes files itself. */
static int no_answer(int pid, char *why)
{
	say_why(why);
	if (pid > 0 && ct_control_has_library(pid) && !kill(pid, 0))
		fprintf(stderr,
			"cprof dump: if it was started with a profile's path (CPUPROFILE=... or "
			"another mode's), it writes NAME.0001.EXT beside that on \"kill -USR2 "
			"%d\", or on the signal of CPROF_SIGNAL; without, the signal ends it\n",
			pid);
	return CT_FAILED;
}

/* The first name that no file has, also of the views' files: dumps of one process are compared. A
 * link that leads nowhere, which another user may have put there, has its name, too. */
static char *free_path(int pid, int mode)
{
	const char *name = ct_base_name(ct_control_name(pid));
	struct stat st;
	char *absolute;

	for (unsigned n = 1;; n++) {
		char *path =
			ct_memory_printf("%s.%s.%04u.pb", name, ct_control_modes[mode].name, n);

		if (!lstat(path, &st)) {
			free(path);
			continue;
		}
		absolute = ct_mode_options_absolute(path);
		free(path);
		return absolute;
	}
}

/* Returns what the options of time leave of P, which it frees; NULL after a message. */
static struct ct_profile *cut(struct ct_profile *p, int pid)
{
	const char *name = ct_control_name(pid);
	struct ct_profile *left = ct_times_filter(&p, &name, 1) ? NULL : ct_combine(&p, 1);

	ct_model_free(p);
	return left;
}

/* Writes P, which it frees, to PATH. */
static int keep_profile(struct ct_profile *p, int pid, const char *path)
{
	int status = CT_FAILED;

	ct_symbolize_process(p, ct_control_pid(pid));
	if (ct_times_window_active())
		p = cut(p, pid);
	if (p && !ct_write_file(p, path)) {
		status = CT_OK;
		if (strcmp(path, "-"))
			printf("%s\n", path);
	}
	ct_model_free(p);
	return status;
}

/* Writes P, which it frees, the profile of ALL[I], beside *PATH, the file of its mode, which is set
 * for a mode. Of a companion only samples are written, and times if those are asked for. */
static int keep_one(struct ct_profile *p, int pid, int i, char **path)
{
	char *beside;
	int status;

	if (!all[i].infix) {
		free(*path);
		*path = !my.output		 ? free_path(pid, all[i].mode)
			: strcmp(my.output, "-") ? ct_mode_options_absolute(my.output)
						 : ct_memory_strdup("-");
		return keep_profile(p, pid, *path);
	}
	if (!*path || !p->sample_count || (ct_times_window_active() && !p->times)) {
		ct_model_free(p);
		return CT_OK;
	}
	beside = ct_mode_options_infix(*path, all[i].infix);
	status = keep_profile(p, pid, beside);
	free(beside);
	return status;
}

/* Asks for the profiles of the modes that are ON, which are all of one moment, and writes them. */
static int dump_modes(int pid, const bool on[CT_MODES])
{
	struct cp_control_message m;
	struct ct_profile *p[ALL];
	const char *names[ALL];
	char last[32], *path = NULL, *why;
	int which[ALL], count = 0, err, status = CT_OK;

	for (int i = 0; i < ALL; i++)
		if (on[all[i].mode] && (!all[i].infix || !my.output || strcmp(my.output, "-"))) {
			names[count] = all[i].name;
			which[count++] = i;
		}
	ct_control_request(&m, CP_CONTROL_DUMP);
	/* The process leaves out the rest, as cprof_dump_last does. */
	snprintf(last, sizeof(last), "%.0f", my.last);
	ct_control_line(&m, "last_ns", last);
	err = ct_control_profile_ask_all(pid, &m, names, count, p, &why);
	if (err)
		return say_why(why
				       ?: ct_memory_printf("process %s: %s", ct_control_name(pid),
							   err == -ESRCH
								   ? "the modes are off by now"
								   : strerror(-err)));
	for (int i = 0; i < count; i++)
		if (p[i] && keep_one(p[i], pid, which[i], &path))
			status = CT_FAILED;
	free(path);
	return status;
}

static int dump_process(int pid)
{
	bool on[CT_MODES] = { false };
	char *why = ct_control_one(pid, see_modes, on);
	int count = 0;

	if (why)
		return no_answer(pid, why);
	for (int m = 0; m < CT_MODES; m++)
		count += on[m];
	if (!count)
		return say_why(ct_memory_printf("process %s: %s%s; \"cprof ps\" lists the "
						"modes, \"cprof start\" turns one on",
						ct_control_name(pid), my.mode ?: "no mode",
						my.mode ? " is not on" : " is on"));
	if (count > 1 && my.output)
		return say_why(ct_memory_strdup("several modes are on: -output needs -mode"));
	return dump_modes(pid, on);
}

static int verb_dump(int argc, char **argv)
{
	int pid = ct_control_process(*argv);

	(void)argc;
	if (!pid)
		return ct_options_wrong(&ct_verb_dump, CT_CONTROL_NO_PROCESS, *argv);
	if (my.mode && ct_control_modes_find(my.mode) < 0)
		return ct_options_wrong(&ct_verb_dump,
					"-mode=%s is not cpu, wall, heap, lock, io or event",
					my.mode);
	return ct_times_window_last(&my.last) ? CT_FAILED : dump_process(pid);
}

const struct ct_verb ct_verb_dump = {
	.name = "dump",
	.operands = "PID|PATH",
	.summary = "Get a profile of a running process now",
	.details = "The process runs under libcprof; it goes on, and so does its profile. The file "
		   "is written here.\n",
	.tables = tables,
	.wanted = "give one process id; \"cprof ps\" lists them",
	.least = 1,
	.most = 1,
	.run = verb_dump,
};
