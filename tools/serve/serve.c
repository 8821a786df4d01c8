/* SPDX-License-Identifier: BSD-3-Clause */
/* cprof serve: the profiles of running processes over HTTP. */
#include "serve/serve.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "verbs/verbs.h"

static struct {
	const char *http, *keep;
	bool helper, arguments;
} my = { .http = "127.0.0.1:6060", .keep = "2m" };

static const struct ct_option options[] = {
	CT_TEXT("http", "HOST:PORT", &my.http,
		"where to listen (127.0.0.1:6060); port 0: a free one"),
	CT_TEXT("keep", "DUR", &my.keep,
		"how long a mode stays on that a scrape has turned on, after the last scrape (2m)"),
	CT_FLAG("arguments", &my.arguments,
		"cmdline tells the programs' arguments, too, which may be secret"),
	/* Used by the library only. */
	CT_FLAG("helper", &my.helper, NULL), CT_END
};
static const struct ct_option *const tables[] = { options, NULL };

static int wrong_pid(const char *text)
{
	return ct_options_wrong(&ct_verb_serve, CT_CONTROL_NO_PROCESS "; \"cprof ps\" lists them",
				text);
}

static int out_of_sight(const char *path)
{
	fprintf(stderr,
		"cprof serve: %s: nobody answers there, or the process can't be seen from here: "
		"serve it from its own container\n",
		path);
	return CT_FAILED;
}

/* Reads the operands. Returns the exit status. Each process must answer now. */
static int read_pids(struct ct_serve_pids *only, int argc, char **argv)
{
	int *pids = ct_memory_alloc(((size_t)argc + 1) * sizeof(*pids));

	only->pids = pids;
	for (int i = 0; i < argc; i++) {
		struct cp_control_message m;
		int id = ct_control_process(argv[i]), pid = id ? ct_control_pid(id) : 0;
		char *why;

		if (!id)
			return wrong_pid(argv[i]);
		if (!pid)
			return out_of_sight(argv[i]);
		why = ct_control_status(pid, &m);
		if (why) {
			fprintf(stderr, "cprof serve: %s\n", why);
			free(why);
			return CT_FAILED;
		}
		pids[only->count++] = pid;
	}
	return CT_OK;
}

static void say_where(const struct ct_serve_how *how)
{
	const char *address = how->at->address;

	if (!how->at->loopback)
		fprintf(stderr,
			"cprof serve: warning: everybody who reaches %s can read the names of "
			"these programs' functions and files, their labels%s, and turn modes on; "
			"there is no password\n",
			address, how->arguments ? " and arguments" : "");
	if (how->only.count == 1)
		fprintf(stderr, "cprof: serving process %d at http://%s/debug/pprof/\n",
			how->only.pids[0], address);
	else
		fprintf(stderr, "cprof: serving %s at http://%s/\n",
			how->only.count	  ? "these processes"
			: how->only.asked ? "all processes that ask for it"
					  : "all processes that answer",
			address);
}

/* Returns the exit status. */
static int serve_until_ended(struct ct_serve_how *how, const char *where)
{
	struct ct_serve_listen at;
	char *why;

	how->at = &at;
	if (ct_serve_listen_open(&at, where, &why)) {
		fprintf(stderr, "cprof serve: %s\n", why);
		free(why);
		return CT_FAILED;
	}
	say_where(how);
	return ct_serve_http_run(how);
}

static int serve_asked(const char *address)
{
	struct ct_serve_how how = { .only.asked = address, .keep = ct_options_seconds(my.keep) };

	return serve_until_ended(&how, address);
}

static int verb_serve(int argc, char **argv)
{
	struct ct_serve_how how = { .at = NULL };
	int status;

	how.keep = ct_options_seconds(my.keep);
	how.arguments = my.arguments;
	if (how.keep < 0 || how.keep > CT_SERVE_SECONDS)
		return ct_options_wrong(&ct_verb_serve, "-keep=%s is no duration up to an hour",
					my.keep);
	if (my.helper)
		ct_helper_open_log("serve");
	ct_control_raise_descriptors();
	if (!ct_serve_http_load()) {
		fputs("cprof serve: libmicrohttpd.so.12 can't be loaded: install libmicrohttpd12 "
		      "(Debian), libmicrohttpd (Fedora)\n",
		      stderr);
		return CT_FAILED;
	}
	if (my.helper)
		return argc ? ct_serve_helper(*argv, serve_asked) : CT_FAILED;
	status = read_pids(&how.only, argc, argv);
	if (status != CT_OK)
		return status;
	return serve_until_ended(&how, my.http);
}

const struct ct_verb ct_verb_serve = {
	.name = "serve",
	.operands = "[PID... | PATH...]",
	.summary = "Serve profiles of running processes over HTTP, as Go programs do",
	.details =
		"Without a PID, of all processes that answer. / is a page of them, "
		"/pid/N/debug/pprof/ has a process's\nprofiles (/debug/pprof/ those of the only "
		"one), /targets and /metrics are for scrapers. A request\nturns the mode on that "
		"it needs. Ends at SIGINT, at SIGTERM, and with the last of the PIDs.\n",
	.tables = tables,
	.run = verb_serve,
};
