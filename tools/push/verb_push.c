/* SPDX-License-Identifier: BSD-3-Clause */
/* cprof push: windows of running processes, sent to a receiver; and the helper that the library
 * starts for CPROF_PUSH=URL. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "push/push.h"
#include "verbs/verbs.h"

#define EVERY_MIN 1.0
#define EVERY_MAX 3600.0

static struct {
	const char *to, *every, *name, *keys, *spool, *spool_size, *spool_age, *flush;
	struct ct_list labels, roots;
	struct ct_push_credentials credentials;
	bool all_frames, verbose, helper, ended, lines;
} my = { .every = "15s", .spool_size = "256M", .spool_age = "1h", .flush = "10s" };

static const struct ct_option options[] = {
	CT_TEXT("to", "PROTOCOL", &my.to,
		"pyroscope, ingest, parca, otlp or datadog; default: as the URL's path or port "
		"says, "
		"else pyroscope"),
	CT_TEXT("every", "DUR", &my.every, "how long a window is (15s)"),
	CT_TEXT("name", "NAME", &my.name,
		"service_name; default: OTEL_SERVICE_NAME of the process, else its program"),
	CT_LIST("label", "KEY=VALUE", &my.labels,
		"a label of the processes (may be repeated); KEY= leaves one out"),
	CT_TEXT("keys", "GLOBS", &my.keys,
		"labels of samples that are sent, as thread,tenant; default: none"),
	CT_FLAG("all-frames", &my.all_frames,
		"send malloc, pthread_mutex_lock and what lies between them and your code, too"),
	CT_TEXT("user-file", "FILE", &my.credentials.user_file,
		"\"user:password\" (CPROF_PUSH_USER)"),
	CT_TEXT("token-file", "FILE", &my.credentials.token_file,
		"a bearer token (CPROF_PUSH_TOKEN)"),
	CT_TEXT("tenant-file", "FILE", &my.credentials.tenant_file,
		"X-Scope-OrgID (CPROF_PUSH_TENANT)"),
	CT_TEXT("ca-file", "FILE", &my.credentials.ca_file,
		"certificates to check the receiver's with, in place of the system's"),
	CT_TEXT("spool", "DIR", &my.spool,
		"where profiles wait that can't be sent yet (~/.local/state/cprof/push); none: in "
		"memory"),
	CT_TEXT("spool-size", "BYTES", &my.spool_size,
		"most bytes that wait (256M); of a dir: target, most bytes of its files"),
	CT_TEXT("spool-age", "DUR", &my.spool_age, "how long a profile may wait (1h)"),
	CT_TEXT("flush", "DUR", &my.flush, "how long the end may take (10s)"),
	CT_LIST("debug-dir", "DIR", &my.roots, "look for debug files in DIR, too"),
	CT_FLAG("verbose", &my.verbose, "say what is followed, and what fails for now"),
	/* Used by the library only. */
	CT_FLAG("helper", &my.helper, NULL), CT_FLAG("ended", &my.ended, NULL),
	CT_FLAG("lines", &my.lines, NULL), CT_END
};

/* Returns the bytes of "256M"; 0 if TEXT is malformed. */
static uint64_t bytes_of(const char *text)
{
	char *end;
	double n = strtod(text, &end);
	const char *units = "KMGT", *unit = *end ? strchr(units, *end) : NULL;

	if (end == text || n <= 0)
		return 0;
	for (; unit && unit >= units; unit--)
		n *= 1024;
	if (*end && strchr(units, *end))
		end++;
	end += strspn(end, "iB");
	return *end || n >= 1e18 ? 0 : (uint64_t)n;
}

static bool is_between(const char *text, double least, double most)
{
	double n = ct_options_seconds(text);

	return n >= least && n <= most;
}

static int check_options(void)
{
	const struct ct_verb *v = &ct_verb_push;

	if (!is_between(my.every, EVERY_MIN, EVERY_MAX))
		return ct_options_wrong(v, "-every=%s is not 1s to 1h", my.every);
	if (!is_between(my.spool_age, 1, 1e9))
		return ct_options_wrong(v, "-spool-age=%s is no duration, as 1h", my.spool_age);
	if (!is_between(my.flush, 0, 3600))
		return ct_options_wrong(v, "-flush=%s is not 0 to 1h", my.flush);
	if (!bytes_of(my.spool_size))
		return ct_options_wrong(v, "-spool-size=%s is no size, as 256M", my.spool_size);
	for (unsigned long i = 0; i < my.labels.count; i++)
		if (!ct_push_labels_is_good(my.labels.items[i]))
			return ct_options_wrong(v,
						"-label=%s: labels are KEY=VALUE, KEY of letters, "
						"digits, \"_\" and \".\"",
						my.labels.items[i]);
	return ct_mode_options_check(v);
}

/* Returns the process ids of the operands; NULL after a message. */
static int *read_pids(char **operands, size_t count)
{
	int *pids = ct_memory_alloc((count + 1) * sizeof(*pids));

	for (size_t i = 0; i < count; i++) {
		pids[i] = ct_control_process(operands[i]);
		if (!pids[i]) {
			ct_options_wrong(&ct_verb_push,
					 "\"%s\" is neither a process id, nor a file, nor a "
					 "path of CPROF_CONTROL, which begins with \"/\"; a "
					 "command follows \"--\"",
					 operands[i]);
			free(pids);
			return NULL;
		}
	}
	return pids;
}

static void add_lines(char **files, size_t count)
{
	char **argv = ct_memory_alloc((count + 3) * sizeof(*argv));

	argv[0] = (char *)ct_verb_symbolize.name;
	argv[1] = (char *)"--in-place";
	for (size_t i = 0; i < count; i++)
		argv[2 + i] = files[i];
	ct_options_run(&ct_verb_symbolize, (int)count + 2, argv);
	free(argv);
}

/* Returns the parent of process PID, or 0. */
static int parent_of(int pid)
{
	char *path = ct_memory_printf("/proc/%d/stat", pid), line[512] = "", *at;
	FILE *f = fopen(path, "re");

	if (f && !fgets(line, sizeof(line), f))
		*line = '\0';
	if (f)
		fclose(f);
	free(path);
	at = strrchr(line, ')');
	return at && strlen(at) > 4 ? atoi(at + 4) : 0;
}

/* Lets the ending program go on. It waits for lines, but not for a receiver, unless it is the first
 * process of a container, whose end ends everything. */
static void let_go(void)
{
	if (parent_of(getppid()) != 1 && fork() > 0)
		_exit(0);
}

static bool is_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && !S_ISSOCK(st.st_mode);
}

/* ---- the helper for CPROF_PUSH=URL; control/control.h says which of several stays ---- */

static bool asks_for_us(const struct cp_control_message *status, void *url)
{
	char *value = ct_control_value(status, "push");
	bool is = value && !strcmp(value, url);

	free(value);
	return is;
}

static bool look_for_processes(struct ct_push *p, void *url)
{
	ct_push_follow_all(p->follow, true, asks_for_us, url);
	return ct_push_follow_count(p->follow) > 0;
}

static int serve_push(const struct ct_push_how *how, const char *url)
{
	struct ct_push p;

	if (ct_push_begin(&p, how, true))
		return CT_FAILED;
	if (look_for_processes(&p, (char *)url))
		ct_push_loop(&p, look_for_processes, (char *)url);
	return ct_push_end(&p);
}

/* For CPROF_PUSH=URL: all processes that ask for the same URL, until none is left. Returns at once
 * if another such helper is there. */
static int push_as_helper(const struct ct_push_how *how, const char *url)
{
	int status = CT_OK;

	/* The next round sees a process whose helper left because it found this one still there. */
	while (ct_helper_become_only("push", url)) {
		bool any;
		struct ct_push probe = { .how = how };

		status = serve_push(how, url);
		ct_helper_leave();
		how->follow->queue = NULL;
		probe.follow = ct_push_follow_new(how->follow);
		any = look_for_processes(&probe, (char *)url);
		ct_push_follow_free(probe.follow);
		if (!any)
			break;
	}
	return status;
}

static int start_push(const struct ct_push_how *how, const char *url, char **operands, size_t count,
		      bool is_command)
{
	int status = CT_FAILED, *pids;

	if (my.helper)
		return push_as_helper(how, url);
	if (my.ended && my.lines)
		add_lines(operands, count);
	if (my.ended)
		let_go();
	if (my.ended)
		return ct_push_files_of_ended(how, operands, count);
	if (is_command) {
		if (!ct_mode_options_count())
			ct_mode_options[CT_CPU].value = "";
		return ct_push_command(how, operands);
	}
	if (count && is_file(operands[0]))
		return ct_push_files_of_ended(how, operands, count);
	pids = read_pids(operands, count);
	if (pids)
		status = ct_push_processes(how, pids, count);
	free(pids);
	return status;
}

static int push_to(const struct ct_push_target *target, const char *url, char **operands,
		   size_t count, bool is_command)
{
	const char **roots = ct_verb_symbolize_roots(&my.roots);
	const struct ct_push_queue_how queue = { .target = target,
						 .credentials = &my.credentials,
						 .spool = my.spool,
						 .size = bytes_of(my.spool_size),
						 .seconds = ct_options_seconds(my.spool_age),
						 .verbose = my.verbose };
	struct ct_push_follow_how follow = { .series = { target, my.keys, my.all_frames },
					     .labels = { my.name, &my.labels },
					     .every = ct_options_seconds(my.every),
					     .roots = roots,
					     .verbose = my.verbose };
	const struct ct_push_how how = { target, &queue, &follow, ct_options_seconds(my.flush) };
	int status;

	if (target->is_clear_text && (my.credentials.user_file || my.credentials.token_file))
		fprintf(stderr,
			"cprof push: %s is not encrypted: credentials can be read on the "
			"way; use https\n",
			url);
	status = start_push(&how, url, operands, count, is_command);
	free(roots);
	return status;
}

static bool has_command(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--"))
			return i + 1 < argc;
	return false;
}

static int verb_push(int argc, char **argv)
{
	const struct ct_option *const tables[] = { ct_mode_options_table, options, NULL };
	bool is_command = has_command(argc, argv);
	int first = ct_options_parse(&ct_verb_push, argc, argv, tables), status;
	struct ct_push_target target;
	char *why;

	if (first < 0)
		return ct_options_status(first);
	if (check_options())
		return CT_FAILED;
	if (first >= argc)
		return ct_options_wrong(&ct_verb_push,
					"give a target, as http://pyroscope:4040 or dir:/path");
	if (my.helper || my.ended)
		ct_helper_open_log("push");
	if (ct_push_target_read(&target, argv[first], my.to, &why)) {
		status = ct_options_wrong(&ct_verb_push, "%s", why);
		free(why);
		return status;
	}
	status = push_to(&target, argv[first], argv + first + 1, (size_t)(argc - first - 1),
			 is_command);
	ct_push_target_release(&target);
	return status;
}

const struct ct_verb ct_verb_push = {
	.name = "push",
	.operands = "TARGET [PID... | PATH... | FILE... | -- COMMAND [ARGUMENT]...]",
	.summary = "Send windows of running processes to Pyroscope, Parca, OTLP, Datadog, or a "
		   "directory",
	.details = "TARGET is http(s)://HOST:PORT or dir:/PATH. PATH is a path of CPROF_CONTROL, "
		   "FILE a "
		   "profile\nof a process that has ended. Without any, all profiled processes of "
		   "this host. Without a mode, "
		   "those that are on, else CPU time.\n",
	.run = verb_push,
};
