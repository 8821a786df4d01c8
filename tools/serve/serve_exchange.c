/* SPDX-License-Identifier: BSD-3-Clause */
/* See serve.h. */
#include "serve/serve.h"

#include <errno.h>
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

/* A flame graph shows the last minute: the windows taken in it. */
#define MINUTE 60.0
/* Name of the window that keeps a mode on between requests for sums. */
#define SUMS "sums"

struct ct_serve_exchange *ct_serve_exchange_all;
static bool stops; /* the server is ending */

/* ---- parts of a request ---- */

static const char *header(const struct ct_serve_exchange *x, const char *name)
{
	return ct_mhd.lookup_connection_value(x->connection, CT_MHD_HEADER, name);
}

static const char *argument(const struct ct_serve_exchange *x, const char *name)
{
	return ct_mhd.lookup_connection_value(x->connection, CT_MHD_ARGUMENT, name);
}

static char *address_of(struct MHD_Connection *c)
{
	const union ct_mhd_info *info =
		ct_mhd.get_connection_info(c, CT_MHD_CONNECTION_CLIENT_ADDRESS);
	char host[NI_MAXHOST] = "?";

	if (info && info->address)
		getnameinfo(info->address,
			    info->address->sa_family == AF_INET ? sizeof(struct sockaddr_in)
								: sizeof(struct sockaddr_in6),
			    host, sizeof(host), NULL, 0, NI_NUMERICHOST);
	return ct_memory_strdup(host);
}

struct ct_serve_exchange *ct_serve_exchange_new(struct MHD_Connection *c, const char *uri)
{
	struct ct_serve_exchange *x = ct_memory_alloc(sizeof(*x));
	const union ct_mhd_info *info = ct_mhd.get_connection_info(c, CT_MHD_CONNECTION_FD);

	x->connection = c;
	x->socket = info ? info->fd : -1;
	x->client = address_of(c);
	if (strchr(uri, '?'))
		x->query = ct_memory_strdup(strchr(uri, '?') + 1);
	x->next = ct_serve_exchange_all;
	ct_serve_exchange_all = x;
	return x;
}

void ct_serve_exchange_path(struct ct_serve_exchange *x, const char *path)
{
	x->path = ct_memory_strdup(path);
	x->label = ct_memory_printf("%s of %s", path, x->client);
}

void ct_serve_exchange_upload(struct ct_serve_exchange *x, const char *data, size_t size)
{
	if (size > CT_SERVE_UPLOAD - x->text_size)
		size = CT_SERVE_UPLOAD - x->text_size;
	x->text = ct_memory_realloc(x->text, x->text_size + size + 1, 1);
	memcpy(x->text + x->text_size, data, size);
	x->text_size += size;
	x->text[x->text_size] = '\0';
}

/* ---- replies ---- */

static int queue(struct ct_serve_exchange *x, const struct ct_serve_reply *reply,
		 struct MHD_Response *response)
{
	char *file = ct_memory_printf("attachment; filename=\"%s\"", reply->file);
	int result;

	ct_mhd.add_response_header(response, "X-Content-Type-Options", "nosniff");
	if (*reply->type)
		ct_mhd.add_response_header(response, "Content-Type", reply->type);
	/* Other sites must not show our pages in a frame. */
	if (!strcmp(reply->type, CT_SERVE_HTML))
		ct_mhd.add_response_header(response, "Content-Security-Policy",
					   "frame-ancestors 'self'");
	if (*reply->file)
		ct_mhd.add_response_header(response, "Content-Disposition", file);
	if (reply->error)
		ct_mhd.add_response_header(response, "X-Go-Pprof", "1");
	if (reply->status == 405)
		ct_mhd.add_response_header(response, "Allow", "GET, HEAD");
	if (reply->status == 503)
		ct_mhd.add_response_header(response, "Retry-After", "5");
	free(file);
	result = ct_mhd.queue_response(x->connection, reply->status, response);
	ct_mhd.destroy_response(response);
	return result;
}

/* Replies with one line of text, as net/http/pprof does. */
static int refuse_request(struct ct_serve_exchange *x, unsigned status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static int refuse_request(struct ct_serve_exchange *x, unsigned status, const char *fmt, ...)
{
	struct ct_serve_reply reply = { .status = status, .type = CT_SERVE_PLAIN, .error = true };
	char text[512];
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(text, sizeof(text) - 1, fmt, args);
	va_end(args);
	n = n < (int)sizeof(text) - 1 ? n : (int)sizeof(text) - 2;
	text[n] = '\n';
	return queue(x, &reply,
		     ct_mhd.create_response_from_buffer((size_t)n + 1, text, CT_MHD_MUST_COPY));
}

static int move(struct ct_serve_exchange *x)
{
	struct ct_serve_reply reply = { .status = 301 };
	struct MHD_Response *response = ct_mhd.create_response_from_buffer(0, "", CT_MHD_MUST_COPY);
	char *to = x->request.route.pid && !strstr(x->path, "/debug")
			   ? ct_memory_printf("/pid/%d/debug/pprof/", x->request.route.pid)
			   : ct_memory_printf("%s/", x->path);

	ct_mhd.add_response_header(response, "Location", to);
	free(to);
	return queue(x, &reply, response);
}

int ct_serve_exchange_reply(struct ct_serve_exchange *x)
{
	struct ct_serve_job *job = x->job;
	struct stat st;
	int body;

	x->suspended = false;
	if (x->crowded)
		return refuse_request(x, 503,
				      "too many other clients have windows; try again later");
	if (!job)
		return refuse_request(x, 503, "no worker can be started for this request");
	body = job->body;
	job->body = -1; /* the response closes the descriptor */
	if (job->reply->status >= 500 && !x->gone && !stops) {
		char text[256] = "";
		ssize_t n = pread(body, text, sizeof(text) - 1, 0);

		text[n > 0 ? n : 0] = '\0';
		fprintf(stderr, "cprof serve: %s: %s", x->label, *text ? text : "failed\n");
	}
	if (fstat(body, &st))
		return CT_MHD_NO;
	return queue(x, job->reply, ct_mhd.create_response_from_fd((size_t)st.st_size, body));
}

/* ---- workers ---- */

/* Returns the name of the window with which R's client goes on, or NULL. */
static char *window_key(const struct ct_serve_exchange *x)
{
	const struct ct_serve_route *r = &x->request.route;
	const char *agent = header(x, "User-Agent");

	if (r->what == CT_SERVE_FLAME)
		return ct_memory_printf("flame %s", r->kind->dump);
	/* Two scrapers on one machine differ by their names. */
	if (r->kind->span == CT_SERVE_DELTA)
		return ct_memory_printf("%s %s %s", r->kind->name, x->client, agent ? agent : "");
	return x->request.seconds ? NULL : ct_memory_strdup(SUMS);
}

/* Requests for sums take nothing from their window, so several may have it. */
static bool take_window(struct ct_serve_exchange *x)
{
	const struct ct_serve_route *r = &x->request.route;
	char *key = window_key(x);
	bool sums = key && !strcmp(key, SUMS);

	x->crowded = !sums && ct_serve_windows_full(key, r->pid, r->kind->mode);
	if (!x->crowded)
		x->window = ct_serve_windows_take(key, r->pid, r->kind->mode, sums);
	free(key);
	x->request.window = x->window;
	if (x->window && r->what == CT_SERVE_FLAME)
		ct_serve_windows_drop(x->window, ct_now() - MINUTE);
	return x->window != NULL;
}

/* Starts X's worker, or makes X wait. Returns false if neither is possible. */
static bool start_exchange(struct ct_serve_exchange *x)
{
	bool ready = !x->request.route.kind || take_window(x);

	x->waits = !ready && !x->crowded;
	if (!ready)
		return x->waits;
	x->job = ct_serve_jobs_start(&x->request, x);
	return x->job != NULL;
}

/* Starts a worker that finds the only process. */
static bool resolve_path(struct ct_serve_exchange *x)
{
	struct ct_serve_request r = x->request;

	r.route = (struct ct_serve_route){ .what = CT_SERVE_RESOLVE };
	x->job = ct_serve_jobs_start(&r, x);
	return x->job != NULL;
}

/* Releases the window of X. SENT: the client has the reply, which may be an error. */
static void release_window(struct ct_serve_exchange *x, bool sent)
{
	struct ct_serve_window *w = x->window;
	struct ct_serve_job *job = x->job;
	double now = ct_now();

	if (!w)
		return;
	x->window = NULL;
	if (!job) {
		ct_serve_windows_release(w, -1);
		return;
	}
	if (job->reply->id.consumer)
		w->id = job->reply->id;
	if (sent && job->reply->status == 200 && x->request.route.kind->span == CT_SERVE_DELTA) {
		ct_serve_windows_drop(w, INFINITY);
	} else if (job->reply->taken) {
		ct_serve_windows_put(w, now, job->snapshot);
		job->snapshot = -1;
	}
	ct_serve_windows_release(w, job->reply->lease < 0 ? -1 : now + job->reply->lease);
}

static void resume(struct ct_serve_exchange *x)
{
	x->resumed = true;
	x->waits = false;
	ct_mhd.resume_connection(x->connection);
}

static void free_exchange(struct ct_serve_exchange *x)
{
	struct ct_serve_exchange **at = &ct_serve_exchange_all;

	while (*at != x)
		at = &(*at)->next;
	*at = x->next;
	release_window(x, false);
	if (x->job)
		ct_serve_jobs_release(x->job);
	free(x->path);
	free(x->query);
	free(x->host);
	free(x->client);
	free(x->text);
	free(x->label);
	free(x);
}

void ct_serve_exchange_ended(struct ct_serve_exchange *x)
{
	struct ct_serve_job *job = x->job;
	const struct ct_serve_kind *k = x->request.route.kind;
	bool resolved = !x->request.route.pid && job->reply->pid;

	/* The client's next delta contains a delta that it didn't get. */
	if (k && (stops || k->span != CT_SERVE_DELTA))
		release_window(x, false);
	if (!x->connection) {
		free_exchange(x);
		return;
	}
	if (!resolved) {
		resume(x);
		return;
	}
	x->request.route.pid = job->reply->pid;
	ct_serve_jobs_release(job);
	x->job = NULL;
	if (x->gone || stops || !start_exchange(x))
		resume(x);
}

void ct_serve_exchange_retry(void)
{
	for (struct ct_serve_exchange *x = ct_serve_exchange_all; x && !stops; x = x->next)
		if (x->waits && x->connection && !start_exchange(x))
			resume(x);
}

void ct_serve_exchange_stop(void)
{
	stops = true;
	for (struct ct_serve_exchange *x = ct_serve_exchange_all; x; x = x->next)
		if (x->resumed)
			release_window(x, false);
}

void ct_serve_exchange_resume_all(void)
{
	for (struct ct_serve_exchange *x = ct_serve_exchange_all; x; x = x->next)
		if (x->connection && x->suspended && !x->resumed)
			resume(x);
}

void ct_serve_exchange_end(struct ct_serve_exchange *x, bool sent)
{
	struct ct_serve_job *job = x->job;

	x->connection = NULL;
	if (job && x->suspended && !x->resumed) {
		/* The worker goes on until it may be ended; see ct_serve_exchange_ended. */
		ct_serve_jobs_cancel(job);
		return;
	}
	release_window(x, sent && !x->gone);
	free_exchange(x);
}

/* ---- the begin ---- */

static bool is_served(const struct ct_serve_pids *only, int pid)
{
	for (size_t i = 0; i < only->count; i++)
		if (only->pids[i] == pid)
			return true;
	return !only->count;
}

/* Reads the arguments of a profile. Returns 0, or what refuse_request() returned. */
static int read_arguments(struct ct_serve_exchange *x)
{
	struct ct_serve_request *q = &x->request;
	const struct ct_serve_kind *k = q->route.kind;
	const char *seconds = argument(x, "seconds"), *format = argument(x, "format");
	bool valid = ct_serve_route_seconds(seconds, &q->seconds),
	     given = seconds && (*seconds || k->span == CT_SERVE_WINDOW);

	if (k->span == CT_SERVE_DELTA) {
		q->seconds = 0;
		return 0;
	}
	if (q->seconds > CT_SERVE_SECONDS)
		return refuse_request(x, 400, "\"seconds\" is at most %ld here", CT_SERVE_SECONDS);
	if (!strcmp(k->name, "fgprof")) {
		if (given && !valid && *seconds)
			return refuse_request(x, 400, "bad seconds: %s", seconds);
		if (format && *format && strcmp(format, "pprof") && strcmp(format, "folded"))
			return refuse_request(x, 400, "bad format: \"%s\"", format);
		q->folded = format && !strcmp(format, "folded");
	} else if (k->span == CT_SERVE_TOTAL && given && !valid) {
		return refuse_request(x, 400,
				      "invalid value for \"seconds\" - must be a positive integer");
	} else if (k->span == CT_SERVE_TOTAL && valid && q->debug) {
		return refuse_request(x, 400, "seconds and debug params are incompatible");
	}
	if (!valid && k->span == CT_SERVE_WINDOW)
		q->seconds = 30;
	return 0;
}

/* Is URL, from an Origin or Referer header, one of this server? */
static bool is_own(const struct ct_serve_exchange *x, const char *url)
{
	const char *at = strstr(url, "://");
	size_t n = x->host ? strlen(x->host) : 0;

	return n && at && !strncasecmp(at + 3, x->host, n) && (!at[3 + n] || at[3 + n] == '/');
}

/* May a page of another site have sent the request through a browser? Browsers say Sec-Fetch-Site
 * to loopback and over TLS only, and a page can have them leave the Referer out. So a browser's
 * request needs a proof that it comes from here, or that the user typed it. Scrapers and tools send
 * nothing of the kind. */
static bool is_foreign(const struct ct_serve_exchange *x)
{
	const char *site = header(x, "Sec-Fetch-Site"), *origin = header(x, "Origin"),
		   *referer = header(x, "Referer"), *agent = header(x, "User-Agent");

	if (site)
		return strcmp(site, "same-origin") && strcmp(site, "none");
	if (origin || referer)
		return !is_own(x, origin ? origin : referer);
	return (agent && strstr(agent, "Mozilla/")) || header(x, "Accept-Language");
}

/* Returns 0, or what refuse_request() returned: MHD_YES. */
static int check_request(struct ct_serve_exchange *x, const char *method,
			 const struct ct_serve_how *how)
{
	struct ct_serve_route *r = &x->request.route;
	const char *site = header(x, "Sec-Fetch-Site"), *origin = header(x, "Origin"),
		   *mode = argument(x, "mode");

	if (!ct_serve_listen_knows(x->host, how->at->host))
		return refuse_request(
			x, 403,
			"the host name \"%s\" is not known here: ask by the address, or "
			"start cprof serve with -http=NAME:PORT",
			x->host);
	if ((site && !strcmp(site, "cross-site")) || (origin && !is_own(x, origin)))
		return refuse_request(x, 403, "a page of another site asks");
	x->request.foreign = is_foreign(x);
	x->head = !strcmp(method, "HEAD");
	if (strcmp(method, "GET") && !x->head &&
	    !(r->what == CT_SERVE_SYMBOL && !strcmp(method, "POST")))
		return refuse_request(x, 405, "only GET is allowed");
	if (r->what == CT_SERVE_NOTHING && strstr(x->path, "/debug/pprof/trace"))
		return refuse_request(x, 404,
				      "there is no execution trace: that is of Go programs only");
	if (r->what == CT_SERVE_NOTHING)
		return refuse_request(x, 404,
				      strstr(x->path, "/debug/pprof/") ? "Unknown profile"
								       : "404 page not found");
	if (r->pid && !is_served(&how->only, r->pid))
		return refuse_request(
			x, 404, "process %d is not served here: / lists those that are", r->pid);
	if (r->what == CT_SERVE_FLAME) {
		r->kind = ct_serve_route_shown(mode ? mode : "cpu");
		if (!r->kind)
			return refuse_request(
				x, 400,
				"\"mode\" is cpu, wall, heap, lock, holders, wakers, io or "
				"event");
	} else if (r->kind) {
		return read_arguments(x);
	}
	return 0;
}

static bool is_of_process(enum ct_serve_what what)
{
	return what >= CT_SERVE_INDEX;
}

int ct_serve_exchange_begin(struct ct_serve_exchange *x, const char *method,
			    const struct ct_serve_how *how)
{
	struct ct_serve_request *q = &x->request;
	const char *host = header(x, "Host"), *debug = argument(x, "debug");
	int refused;

	x->host = host ? ct_memory_strdup(host) : NULL;
	q->route = ct_serve_route_of(x->path);
	q->only = &how->only;
	q->arguments = how->arguments;
	q->host = x->host ? x->host : how->at->address;
	q->label = x->label;
	q->keep = how->keep;
	q->text = x->text ? x->text : x->query;
	q->debug = debug ? atoi(debug) : 0;
	refused = check_request(x, method, how);
	if (refused)
		return refused;
	if (q->route.what == CT_SERVE_MOVED)
		return move(x);
	if (x->head && q->route.kind) {
		struct ct_serve_reply reply = { .status = 200, .type = CT_SERVE_BINARY };

		return queue(x, &reply,
			     ct_mhd.create_response_from_buffer(0, "", CT_MHD_MUST_COPY));
	}
	if (stops)
		return refuse_request(x, 503, "the server is ending");
	if (ct_serve_jobs_count() >= CT_SERVE_WORKERS)
		return refuse_request(x, 503, "%u requests are being answered; try again later",
				      CT_SERVE_WORKERS);
	x->suspended = true;
	ct_mhd.suspend_connection(x->connection);
	if (is_of_process(q->route.what) && !q->route.pid ? !resolve_path(x) : !start_exchange(x))
		resume(x);
	return CT_MHD_YES;
}
