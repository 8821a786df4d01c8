/* SPDX-License-Identifier: BSD-3-Clause */
/* The loop of the server, by libmicrohttpd; see serve.h. */
#include "serve/serve.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "verbs/verbs.h"

/* Time after which a client that neither reads nor writes is dropped. */
#define IDLE_SECONDS 30u
/* Time at the end for workers, and for modes that must be turned off. */
#define END_SECONDS 12.0

static struct {
	const struct ct_serve_how *how;
	struct MHD_Daemon *daemon;
	int epoll, signals;
	int *processes; /* pidfds of the served processes; -1: the process has ended */
	bool ends;
} my;

/* ---- requests ---- */

static void *begun(void *arg, const char *uri, struct MHD_Connection *c)
{
	(void)arg;
	return ct_serve_exchange_new(c, uri);
}

static int handle_request(void *arg, struct MHD_Connection *c, const char *url, const char *method,
			  const char *version, const char *data, size_t *size, void **state)
{
	struct ct_serve_exchange *x = *state;

	(void)arg, (void)c, (void)version;
	if (!x->path) {
		ct_serve_exchange_path(x, url);
		return CT_MHD_YES;
	}
	if (*size) {
		ct_serve_exchange_upload(x, data, *size);
		*size = 0;
		return CT_MHD_YES;
	}
	return x->suspended ? ct_serve_exchange_reply(x)
			    : ct_serve_exchange_begin(x, method, my.how);
}

static void completed(void *arg, struct MHD_Connection *c, void **state, int how)
{
	(void)arg, (void)c;
	if (*state)
		ct_serve_exchange_end(*state, how == CT_MHD_COMPLETED_OK);
	*state = NULL;
	ct_serve_exchange_retry();
}

/* ---- workers ---- */

/* Starts workers that end windows. ALL, at the end: up to the limit of workers. */
static void end_windows(bool all)
{
	struct ct_serve_window *w;

	while ((!all || ct_serve_jobs_count() < CT_SERVE_WORKERS) &&
	       (w = ct_serve_windows_due(ct_now(), all))) {
		const struct ct_serve_request r = { .route = { .what = CT_SERVE_STOP,
							       .pid = w->pid },
						    .only = &my.how->only,
						    .window = w,
						    .label = "the end of a window" };
		struct ct_serve_job *job = ct_serve_jobs_start(&r, NULL);

		if (job)
			job->ends = w;
		else
			ct_serve_windows_ended(w);
	}
}

static void see_ended(void)
{
	struct ct_serve_job *job;

	while ((job = ct_serve_jobs_ended())) {
		if (job->arg) {
			ct_serve_exchange_ended(job->arg);
		} else {
			ct_serve_windows_ended(job->ends);
			ct_serve_jobs_release(job);
		}
		ct_serve_exchange_retry();
	}
}

/* ---- the loop ---- */

static void see_signals(void)
{
	struct signalfd_siginfo s;

	while (read(my.signals, &s, sizeof(s)) == (ssize_t)sizeof(s))
		if (s.ssi_signo != SIGCHLD)
			my.ends = true;
}

/* ---- libmicrohttpd ---- */

struct ct_mhd ct_mhd;

#define FUNCTION(name)                                                                             \
	{                                                                                          \
		"MHD_" #name, &ct_mhd.name                                                         \
	}

bool ct_serve_http_load(void)
{
	const struct ct_library_function functions[] = { FUNCTION(start_daemon),
							 FUNCTION(stop_daemon),
							 FUNCTION(run),
							 FUNCTION(get_timeout),
							 FUNCTION(get_daemon_info),
							 FUNCTION(get_connection_info),
							 FUNCTION(lookup_connection_value),
							 FUNCTION(suspend_connection),
							 FUNCTION(resume_connection),
							 FUNCTION(create_response_from_fd),
							 FUNCTION(create_response_from_buffer),
							 FUNCTION(add_response_header),
							 FUNCTION(queue_response),
							 FUNCTION(destroy_response) };

	return ct_library_load("libmicrohttpd.so.12", functions,
			       sizeof(functions) / sizeof(*functions));
}

/* Returns the milliseconds until something is due, or -1. */
static int timeout(void)
{
	unsigned long long ms = 0;
	double next = ct_serve_windows_next(), now = ct_now();
	int until = -1;

	if (ct_mhd.get_timeout(my.daemon, &ms) == CT_MHD_YES)
		until = ms > 60000 ? 60000 : (int)ms;
	if (next >= 0) {
		double left = next > now ? (next - now) * 1000 + 1 : 0;

		if (until < 0 || left < until)
			until = left > 60000 ? 60000 : (int)left;
	}
	return until;
}

/* Sleeps until something happens. A suspended connection is not watched by MHD: its client may go
 * away while the worker sleeps. It is looked at no more once its client has gone, because poll
 * would return at once. */
static void wait_for_something(struct pollfd *p, size_t room)
{
	size_t n = 0, first;

	p[n++] = (struct pollfd){ .fd = my.epoll, .events = POLLIN };
	p[n++] = (struct pollfd){ .fd = my.signals, .events = POLLIN };
	for (size_t i = 0; i < my.how->only.count; i++)
		p[n++] = (struct pollfd){ .fd = my.processes[i], .events = POLLIN };
	first = n;
	for (struct ct_serve_exchange *x = ct_serve_exchange_all; x && n < room; x = x->next)
		if (x->connection && x->suspended && x->job && !x->gone)
			p[n++] = (struct pollfd){ .fd = x->socket, .events = POLLRDHUP };
	if (poll(p, n, timeout()) <= 0)
		return;
	for (size_t i = 0; i < my.how->only.count; i++)
		if (p[2 + i].revents && my.processes[i] >= 0) {
			close(my.processes[i]);
			my.processes[i] = -1;
		}
	for (size_t i = first; i < n; i++)
		for (struct ct_serve_exchange *x = ct_serve_exchange_all;
		     x && p[i].revents & (POLLRDHUP | POLLHUP | POLLERR); x = x->next)
			if (x->connection && x->suspended && x->socket == p[i].fd && x->job) {
				x->gone = true;
				ct_serve_jobs_cancel(x->job);
			}
}

static bool all_ended(void)
{
	for (size_t i = 0; i < my.how->only.count; i++)
		if (my.processes[i] >= 0)
			return false;
	return my.how->only.count;
}

/* Ends workers and windows, at the end. */
static void end_all(void)
{
	double until = ct_now() + END_SECONDS, left;

	ct_serve_exchange_stop();
	ct_serve_jobs_cancel_all();
	do {
		struct pollfd p = { .fd = my.signals, .events = POLLIN };

		see_ended();
		end_windows(true);
		left = until - ct_now();
		if (ct_serve_jobs_count() && left > 0)
			poll(&p, 1, (int)(left * 1000));
		see_signals();
	} while (ct_serve_jobs_count() && left > 0);
	/* MHD can't be stopped with suspended connections. */
	ct_serve_exchange_resume_all();
	ct_mhd.run(my.daemon);
}

static void serve_loop(void)
{
	size_t room = 2 + my.how->only.count + CT_SERVE_CONNECTIONS;
	struct pollfd *p = ct_memory_alloc(room * sizeof(*p));

	while (!my.ends && !all_ended()) {
		wait_for_something(p, room);
		see_signals();
		see_ended();
		end_windows(false);
		ct_mhd.run(my.daemon);
	}
	free(p);
}

static int open_signals(void)
{
	sigset_t s;

	sigemptyset(&s);
	sigaddset(&s, SIGCHLD);
	sigaddset(&s, SIGINT);
	sigaddset(&s, SIGTERM);
	sigprocmask(SIG_BLOCK, &s, NULL);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &s, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void open_processes(void)
{
	my.processes = ct_memory_alloc((my.how->only.count + 1) * sizeof(*my.processes));
	for (size_t i = 0; i < my.how->only.count; i++)
		my.processes[i] = (int)syscall(SYS_pidfd_open, my.how->only.pids[i], 0);
}

int ct_serve_http_run(const struct ct_serve_how *how)
{
	const union ct_mhd_info *info;

	my.how = how;
	my.signals = open_signals();
	open_processes();
	my.daemon = ct_mhd.start_daemon(
		CT_MHD_USE_EPOLL | CT_MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handle_request, NULL,
		CT_MHD_OPTION_LISTEN_SOCKET, how->at->fd, CT_MHD_OPTION_CONNECTION_LIMIT,
		CT_SERVE_CONNECTIONS, CT_MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS,
		CT_MHD_OPTION_URI_LOG_CALLBACK, begun, NULL, CT_MHD_OPTION_NOTIFY_COMPLETED,
		completed, NULL, CT_MHD_OPTION_END);
	info = my.daemon ? ct_mhd.get_daemon_info(my.daemon, CT_MHD_DAEMON_EPOLL_FD) : NULL;
	if (!info || my.signals < 0) {
		fputs("cprof serve: libmicrohttpd can't be started\n", stderr);
		return CT_FAILED;
	}
	my.epoll = info->fd;
	serve_loop();
	if (!my.ends)
		fputs("cprof serve: all processes that were served have ended\n", stderr);
	end_all();
	ct_mhd.stop_daemon(my.daemon);
	free(my.processes);
	close(my.signals);
	return CT_OK;
}
