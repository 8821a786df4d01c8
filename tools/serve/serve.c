/* SPDX-License-Identifier: BSD-3-Clause */
/* cprof serve: the profiles of running processes over HTTP. */
#include "serve/serve.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "flame/flame.h"
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

/* Replies of workers. */

void ct_serve_reply_set(struct ct_serve_reply *reply, unsigned status, const char *type,
			const char *file)
{
	reply->status = status;
	snprintf(reply->type, sizeof(reply->type), "%s", type);
	snprintf(reply->file, sizeof(reply->file), "%s", file);
	reply->error = false;
}

void ct_serve_reply_fail(struct ct_serve_out *out, unsigned status, const char *fmt, ...)
{
	va_list args;

	ct_serve_reply_set(out->reply, status, CT_SERVE_PLAIN, "");
	out->reply->error = true;
	rewind(out->body);
	if (ftruncate(fileno(out->body), 0))
		return;
	va_start(args, fmt);
	vfprintf(out->body, fmt, args);
	va_end(args);
	fputc('\n', out->body);
}

void ct_serve_html_text(FILE *to, const char *text)
{
	ct_flame_text_markup(to, text, strlen(text));
}

static void lines(const char *const *text, FILE *to)
{
	for (; *text; text++)
		fputs(*text, to);
}

static void begin_page(FILE *to, const char *title, const char *kind)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	      "script-src "
	      "'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; frame-src "
	      "'self'\">\n"
	      "<title>",
	      to);
	ct_serve_html_text(to, title);
	fputs("</title>\n<style>\n", to);
	lines(ct_serve_style, to);
	fprintf(to, "</style>\n</head>\n<body%s>\n", kind);
}

void ct_serve_html_begin(FILE *to, const char *title)
{
	begin_page(to, title, "");
}

void ct_serve_html_begin_home(FILE *to, const char *title)
{
	begin_page(to, title, " class=\"home\"");
}

void ct_serve_html_end(FILE *to)
{
	fputs("</body>\n</html>\n", to);
}

void ct_serve_html_script(FILE *to)
{
	fputs("<script>\n", to);
	lines(ct_serve_script, to);
	fputs("</script>\n", to);
}

/* Sums and differences of profiles of one process. */

/* A heap profile's time is that of the dump. The allocated bytes tell whether the mode was off
 * meanwhile or the process called exec: otherwise they never get less. */
static bool has_less(const struct ct_profile *p)
{
	for (size_t i = 0; i < p->sample_count; i++)
		for (size_t t = 0; t < p->type_count; t++)
			if (!ct_model_is_of_moment(p, t) && ct_values(p, i)[t] < 0)
				return true;
	return false;
}

static void scale(struct ct_profile *p, double moment, double other)
{
	double *ratios = ct_memory_alloc((p->type_count + 1) * sizeof(*ratios));

	for (size_t i = 0; i < p->type_count; i++)
		ratios[i] = ct_model_is_of_moment(p, i) ? moment : other;
	ct_combine_header_scale(p, ratios);
	free(ratios);
	p->comment_count = 0;
}

struct ct_profile *ct_serve_sums_joined(struct ct_profile *p)
{
	struct ct_profile *whole = p ? ct_combine(&p, 1) : NULL;

	ct_model_free(p);
	return whole;
}

struct ct_profile *ct_serve_sums_change(struct ct_profile *p, struct ct_profile *before)
{
	struct ct_profile *both[2] = { p, before }, *window = NULL;

	if (ct_flame_sides_equal_types(p, before)) {
		scale(before, -1, -1);
		window = ct_combine(both, 2);
	}
	if (window && has_less(window)) {
		ct_model_free(window);
		window = NULL;
	}
	/* With a duration, a receiver would take the memory in use for the window's. */
	if (window) {
		window->time_nanos = before->time_nanos;
		window->duration_nanos = p->time_nanos - before->time_nanos;
	}
	ct_model_free(before);
	if (!window)
		return ct_serve_sums_joined(p); /* another run, so all of it is new */
	ct_model_free(p);
	return window;
}

static void add_missing(struct ct_profile *p, unsigned count)
{
	char *text = ct_memory_printf("# note: %u earlier windows that this client missed are not "
				      "in this profile: there was no room for them",
				      count);

	ct_model_add_comment(p, ct_model_string(p, text));
	free(text);
}

struct ct_profile *ct_serve_sums_with_parts(const struct ct_serve_window *w, struct ct_profile *p)
{
	struct ct_profile *all[CT_SERVE_PARTS + 1], *sum;
	unsigned missing = w->missing;
	size_t n = 0;
	char *why;

	for (unsigned i = 0; i < w->part_count; i++) {
		struct ct_profile *part = ct_control_profile_read(w->parts[i].fd, &why);

		if (part)
			scale(part, 0, 1);
		else
			free(why);
		/* The mode may have begun anew with other types. */
		if (part && ct_flame_sides_equal_types(part, p))
			all[n++] = part;
		else
			ct_model_free(part);
	}
	all[n++] = p;
	sum = ct_combine(all, n);
	while (n > 0)
		ct_model_free(all[--n]);
	if (missing && sum)
		add_missing(sum, missing);
	return sum;
}

/* The served processes, and what they say of themselves. */

static void add_process(struct ct_serve_processes *all, int pid,
			const struct cp_control_message *status)
{
	struct ct_serve_process *p = CT_PUSH(all->items, all->count, all->room);
	char *program = ct_control_value(status, "program");

	*p = (struct ct_serve_process){ pid, program ? program : ct_memory_strdup("?"), *status };
}

bool ct_serve_processes_wants(const struct ct_serve_pids *only,
			      const struct cp_control_message *status)
{
	char *value = only->asked ? ct_control_value(status, "serve") : NULL;
	bool wants = !only->asked || (value && !strcmp(value, only->asked));

	free(value);
	return wants;
}

bool ct_serve_processes_has(const struct ct_serve_pids *only, int pid, bool ask)
{
	struct cp_control_message m;
	char *why;
	bool has;

	if (!only->asked && !ask)
		return true;
	why = ct_control_status(pid, &m);
	has = !why && !m.result && ct_serve_processes_wants(only, &m);
	free(why);
	return has;
}

struct seen {
	struct ct_serve_processes *all;
	const struct ct_serve_pids *only;
};

/* One of another pid namespace that we can't see has no pid here, and can't be asked by it. We
 * ourselves may be profiled, too, but not by ourselves. */
static void see(const struct ct_controlled *p, const struct cp_control_message *status, void *arg)
{
	const struct seen *s = arg;

	if (p->pid && p->pid != getppid() && p->pid != getpid() &&
	    ct_serve_processes_wants(s->only, status))
		add_process(s->all, p->pid, status);
}

static int by_pid(const void *a, const void *b)
{
	const struct ct_serve_process *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

void ct_serve_processes_ask(struct ct_serve_processes *all, const struct ct_serve_pids *only,
			    bool spans)
{
	const struct ct_control_which which = { only->pids, only->count, spans, NULL };

	*all = (struct ct_serve_processes){ 0 };
	ct_control_each(&which, see, &(struct seen){ all, only });
	if (all->count)
		qsort(all->items, all->count, sizeof(*all->items), by_pid);
}

bool ct_serve_processes_is_on(const struct ct_serve_process *p, const char *mode)
{
	return ct_control_mode_number(&p->status, mode, "since") != 0;
}

bool ct_serve_processes_loses_time(const char *mode)
{
	int m = ct_control_modes_find(mode);

	return m >= 0 && ct_control_modes[m].waits;
}
