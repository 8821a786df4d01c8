/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of tools/serve/, by the file that implements them. */
#ifndef CP_SERVE_SERVE_H
#define CP_SERVE_SERVE_H

#include "control/control.h"

/* serve_route.c
 *
 * What the path of a request asks for. Called by serve_http.c and by the workers. */

enum ct_serve_what {
	CT_SERVE_NOTHING, /* no such path */
	CT_SERVE_MOVED,	  /* the same path with a slash at its end */
	CT_SERVE_HOME,	  /* the page of processes */
	CT_SERVE_TARGETS,
	CT_SERVE_METRICS,
	/* About one process: */
	CT_SERVE_RESOLVE, /* finds the only process */
	CT_SERVE_INDEX,
	CT_SERVE_CMDLINE,
	CT_SERVE_SYMBOL,
	CT_SERVE_THREADCREATE,
	CT_SERVE_THREADS, /* goroutine: where every thread is now */
	CT_SERVE_PROFILE, /* one of the kinds below */
	CT_SERVE_FLAME,	  /* the flame graph of the last minute */
	CT_SERVE_STOP	  /* ends a window */
};

enum ct_serve_span {
	CT_SERVE_WINDOW, /* the events of the next ?seconds= */
	CT_SERVE_TOTAL,	 /* everything since the mode's start; with ?seconds=: the change of it */
	CT_SERVE_DELTA	 /* the events since this client's last request */
};

/* A kind of profile that is served. */
struct ct_serve_kind {
	const char *name; /* the last part of the path */
	const char *mode; /* mode that must be on */
	const char *dump; /* mode or companion whose profile it is */
	enum ct_serve_span span;
	const char *file;	 /* file name for the client, without "-delta" */
	const char *description; /* text in the index page; NULL: not listed there */
};

struct ct_serve_route {
	enum ct_serve_what what;
	int pid; /* 0: the only process */
	const struct ct_serve_kind *kind;
};

/* Returns the route of any URL; an unknown path gets CT_SERVE_NOTHING. */
struct ct_serve_route ct_serve_route_of(const char *path);

/* The kinds of profiles in the order of their names, ended by one without a name. */
extern const struct ct_serve_kind ct_serve_route_kinds[];
/* The kind that shows MODE ("cpu", "wall", "heap", "lock", "holders", "wakers", "io", "event")
 * in a flame graph, or NULL. */
const struct ct_serve_kind *ct_serve_route_shown(const char *mode);

/* Returns whether TEXT is a whole number of seconds from 1 on, as Go reads it, and sets *SECONDS.
 */
bool ct_serve_route_seconds(const char *text, long *seconds);

/* serve_windows.c
 *
 * The windows that this server has of processes: of requests that are being answered, and of those
 * that a client goes on with (delta_*, the last minute of a flame graph). A window of which nothing
 * is taken keeps a mode on between requests for sums. The process keeps the windows of all servers
 * apart, so the end of one leaves those of others alone.
 *
 * Called by the server; a worker reads the window of its request. Times are monotonic seconds.
 */

/* Most windows of clients that go on with them, all together and of one mode of a process. Shared
 * ones don't count (a process has one of a mode), nor do those of processes that have ended. */
#define CT_SERVE_KEPT 1024
#define CT_SERVE_KEPT_OF_MODE 12
/* Limits: parts of one window, their bytes, and the bytes of all windows. The oldest parts are
 * given up. */
#define CT_SERVE_PARTS 64
#define CT_SERVE_PARTS_BYTES ((long long)16 << 20)
#define CT_SERVE_ALL_PARTS_BYTES ((long long)256 << 20)

struct ct_serve_part {
	int fd; /* a file in memory with a profile */
	double time;
	long long bytes;
};

struct ct_serve_window {
	char *key; /* NULL: the window of one request only */
	int pid;
	const char *mode; /* mode's name in a kind, never freed */
	bool shared;	  /* a window for sums, which several requests may have */
	struct ct_window_id id;
	/* The profiles that were taken from the window and will be shown again. */
	struct ct_serve_part parts[CT_SERVE_PARTS];
	unsigned part_count;
	unsigned missing; /* number of parts given up since the last ct_serve_windows_drop */
	unsigned users;	  /* number of requests that have it */
	double until;	  /* the process keeps the window until then; below 0: it has none */
	bool ending;	  /* a worker is ending the window */
	struct ct_serve_window *next;
};

/* Returns whether a request that is not of sums is one too many: it would need a new window KEY,
 * and those of other clients are not ended for it. */
bool ct_serve_windows_full(const char *key, int pid, const char *mode);
/* Returns the window called KEY of MODE of process PID, or a new one, for a request. NULL: it is
 * ending, or another request has it and it is not SHARED; then try again after the next
 * ct_serve_windows_release or ct_serve_windows_ended. */
struct ct_serve_window *ct_serve_windows_take(const char *key, int pid, const char *mode,
					      bool shared);
/* Call at the end of a request. The process keeps the window until UNTIL unless somebody asks
 * again; below 0: it has none any more. */
void ct_serve_windows_release(struct ct_serve_window *w, double until);

/* Puts FD, a profile that was just taken; it is closed when it is dropped. */
void ct_serve_windows_put(struct ct_serve_window *w, double now, int fd);
/* Drops the parts from before TIME. */
void ct_serve_windows_drop(struct ct_serve_window *w, double time);

/* Returns a window that is to be ended now, and that stays in the list until
 * ct_serve_windows_ended; or NULL. ALL: those that would be kept, too. */
struct ct_serve_window *ct_serve_windows_due(double now, bool all);
void ct_serve_windows_ended(struct ct_serve_window *w);
/* Returns when the next window is due; below 0: none. */
double ct_serve_windows_next(void);

/* serve.c
 *
 * What the parts of `cprof serve` hand to each other.
 *
 * One process with one thread has all connections (serve_http.c). It never asks a profiled process
 * and never reads a profile: each request that needs either gets a worker (serve_jobs.c), a child
 * that writes the body into a file in memory and ends. So a process that hangs, a profile that
 * takes all memory, and a request that lasts an hour hold up nobody else.
 */

/* Limits; docs/serve.md states them. */
#define CT_SERVE_CONNECTIONS 128u
#define CT_SERVE_WORKERS 64u
#define CT_SERVE_SECONDS 3600L
#define CT_SERVE_UPLOAD ((size_t)64 << 10)
#define CT_SERVE_WORKER_MEMORY ((size_t)2 << 30)
/* Seconds after the time of a request in which the mode that it turned on ends by itself if this
 * program is killed. */
#define CT_SERVE_GRACE 30
/* Seconds that a window of a mode that is on anyway waits for its client. */
#define CT_SERVE_PATIENCE 900

struct ct_serve_pids {
	const int *pids;
	size_t count;	   /* 0: all processes that answer */
	const char *asked; /* only those with this CPROF_SERVE; NULL: any */
};

struct ct_serve_request {
	struct ct_serve_route route;
	const struct ct_serve_pids *only;
	long seconds;	  /* 0: not given */
	int debug;	  /* ?debug= */
	bool folded;	  /* fgprof's ?format=folded */
	double keep;	  /* seconds until the client's next request of its kind */
	bool foreign;	  /* it comes from a page of another site, so no mode is turned on */
	bool arguments;	  /* cmdline shows arguments */
	const char *text; /* for /symbol: the addresses */
	const char *host; /* the Host header, or our own address */
	const struct ct_serve_window *window; /* window for a profile */
	const char *label; /* "request 127.0.0.1: /debug/pprof/heap", for messages */
};

/* The reply, written by a worker into memory that it shares with the server. */
struct ct_serve_reply {
	unsigned status;
	char type[64]; /* Content-Type */
	char file[64]; /* for Content-Disposition, or "" */
	bool error;    /* X-Go-Pprof: 1 */
	bool started;  /* the request has turned its mode on */
	/* For the request's window: seconds for which the process keeps it, or below 0; and how it
	 * goes on. */
	double lease;
	struct ct_window_id id;
	bool taken; /* the snapshot has the profile that was taken */
	int pid;    /* RESOLVE: the process that was found */
};

struct ct_serve_out {
	struct ct_serve_reply *reply;
	FILE *body;
	int snapshot; /* file for the profile that was taken from a window that goes on */
};

/* Sets status and type of a reply with a body. */
void ct_serve_reply_set(struct ct_serve_reply *reply, unsigned status, const char *type,
			const char *file);
#define CT_SERVE_BINARY "application/octet-stream"
#define CT_SERVE_PLAIN "text/plain; charset=utf-8"
#define CT_SERVE_HTML "text/html; charset=utf-8"
#define CT_SERVE_JSON "application/json"
/* Makes an error reply as net/http/pprof does: a line of text. */
void ct_serve_reply_fail(struct ct_serve_out *out, unsigned status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Pages of `cprof serve`.
 */

/* Writes everything up to the body's first element; TITLE is plain text. */
void ct_serve_html_begin(FILE *to, const char *title);
/* The same for the page of processes, whose body fills the window. */
void ct_serve_html_begin_home(FILE *to, const char *title);
void ct_serve_html_end(FILE *to);
/* Writes the script of the page of processes. */
void ct_serve_html_script(FILE *to);
/* Writes text that may contain anything. */
void ct_serve_html_text(FILE *to, const char *text);

/* The files of tools/serve/page/ as text, ended by NULL; made by tools/flame/page/embed.sh. */
extern const char *const ct_serve_style[];
extern const char *const ct_serve_script[];

/* Adds or subtracts profiles of one process; in a worker. */

/* Returns P with equal rows joined, or NULL. Frees P. */
struct ct_profile *ct_serve_sums_joined(struct ct_profile *p);
/* Returns the change from BEFORE to P; P, if BEFORE is of another run. Frees both. */
struct ct_profile *ct_serve_sums_change(struct ct_profile *p, struct ct_profile *before);
/* Returns the sum of P and what was taken from window W before. Frees P. Memory in use is that of
 * P. */
struct ct_profile *ct_serve_sums_with_parts(const struct ct_serve_window *w, struct ct_profile *p);

/* The served processes and their statuses. Called by the workers for /, /targets and /metrics. */

struct ct_serve_process {
	int pid;
	char *program;
	struct cp_control_message status;
};

struct ct_serve_processes {
	struct ct_serve_process *items; /* by pid */
	size_t count, room;
};

/* Asks the processes of ONLY, or all; SPANS: for their spans, too. Those that don't answer are left
 * out. */
void ct_serve_processes_ask(struct ct_serve_processes *all, const struct ct_serve_pids *only,
			    bool spans);
/* Does a process with this STATUS belong to ONLY, if ONLY lists none? */
bool ct_serve_processes_wants(const struct ct_serve_pids *only,
			      const struct cp_control_message *status);
/* The same for process PID. ASK: in any case it must answer, so it must be profiled. */
bool ct_serve_processes_has(const struct ct_serve_pids *only, int pid, bool ask);

bool ct_serve_processes_is_on(const struct ct_serve_process *p, const char *mode);

/* Are the mode's losses nanoseconds of waiting, and not samples? */
bool ct_serve_processes_loses_time(const char *mode);

/* serve_listen.c
 *
 * The address at which `cprof serve` listens, and the host names that requests may use. */

struct ct_serve_listen {
	int fd;
	bool loopback;	   /* only this machine can reach it */
	char host[256];	   /* host as the user gave it, without port and brackets */
	char address[280]; /* "127.0.0.1:6060", "[::1]:6060" */
};

/* Listens at WHERE, "HOST:PORT", ":PORT" (every address), "PORT" or "HOST". Port 0: the kernel
 * chooses one. Returns 0, or -1 with *WHY, which the caller frees. */
int ct_serve_listen_open(struct ct_serve_listen *l, const char *where, char **why);

/* Splits WHERE into host and port; the defaults are 127.0.0.1 and 6060. Returns false if it is no
 * address. */
bool ct_serve_listen_split(const char *where, char host[256], char port[8]);

/* May a request with this Host header be answered? A web page of anybody may have its name resolve
 * to 127.0.0.1, and so read what is served there; its requests carry that name. NAME is the host
 * that the user gave. */
bool ct_serve_listen_knows(const char *header, const char *name);

/* serve_http.c
 *
 * The server: connections, requests, their workers. Called by serve.c.
 */

struct ct_serve_how {
	const struct ct_serve_listen *at;
	struct ct_serve_pids only;
	double keep;	/* seconds for which a mode that a request turned on stays on */
	bool arguments; /* cmdline shows the programs' arguments */
};

/* Answers requests until SIGINT or SIGTERM, or until all processes of ONLY have ended.
 * libmicrohttpd has been loaded. Returns the exit status. */
int ct_serve_http_run(const struct ct_serve_how *how);

/* libmicrohttpd, as far as it is used here. It is loaded when `cprof serve` runs, because no other
 * verb needs it. Called by serve_http.c.
 *
 * The declarations are those of libmicrohttpd.so.12, whose numbers and signatures don't change. The
 * header at build time may belong to another version than the library that is found at run time. */

struct MHD_Daemon;
struct MHD_Connection;
struct MHD_Response;

enum { CT_MHD_NO, CT_MHD_YES };

enum {
	CT_MHD_USE_EPOLL = 512,
	CT_MHD_ALLOW_SUSPEND_RESUME = 9216,
	CT_MHD_OPTION_END = 0,
	CT_MHD_OPTION_CONNECTION_LIMIT = 2,
	CT_MHD_OPTION_CONNECTION_TIMEOUT = 3,
	CT_MHD_OPTION_NOTIFY_COMPLETED = 4,
	CT_MHD_OPTION_URI_LOG_CALLBACK = 7,
	CT_MHD_OPTION_LISTEN_SOCKET = 12,
	CT_MHD_COMPLETED_OK = 0,
	CT_MHD_HEADER = 1,
	CT_MHD_ARGUMENT = 8,
	CT_MHD_MUST_COPY = 2,
	CT_MHD_DAEMON_EPOLL_FD = 3,
	CT_MHD_CONNECTION_CLIENT_ADDRESS = 2,
	CT_MHD_CONNECTION_FD = 6
};

/* Both are the first member of one of the library's unions. */
union ct_mhd_info {
	int fd;
	const struct sockaddr *address;
};

typedef int ct_mhd_handler(void *arg, struct MHD_Connection *c, const char *url, const char *method,
			   const char *version, const char *data, size_t *size, void **state);
/* Returns the first STATE of the request for URI, which is as the client sent it. */
typedef void *ct_mhd_begun(void *arg, const char *uri, struct MHD_Connection *c);
typedef void ct_mhd_completed(void *arg, struct MHD_Connection *c, void **state, int how);

struct ct_mhd {
	struct MHD_Daemon *(*start_daemon)(unsigned flags, uint16_t port, void *policy,
					   void *policy_arg, ct_mhd_handler *handler, void *arg,
					   ...);
	void (*stop_daemon)(struct MHD_Daemon *);
	int (*run)(struct MHD_Daemon *);
	int (*get_timeout)(struct MHD_Daemon *, unsigned long long *ms);
	const union ct_mhd_info *(*get_daemon_info)(struct MHD_Daemon *, int what, ...);
	const union ct_mhd_info *(*get_connection_info)(struct MHD_Connection *, int what, ...);
	const char *(*lookup_connection_value)(struct MHD_Connection *, int kind, const char *key);
	void (*suspend_connection)(struct MHD_Connection *);
	void (*resume_connection)(struct MHD_Connection *);
	struct MHD_Response *(*create_response_from_fd)(size_t size, int fd);
	struct MHD_Response *(*create_response_from_buffer)(size_t size, void *data, int mode);
	int (*add_response_header)(struct MHD_Response *, const char *name, const char *value);
	int (*queue_response)(struct MHD_Connection *, unsigned status, struct MHD_Response *);
	void (*destroy_response)(struct MHD_Response *);
};

/* Fills ct_mhd. Returns false if the library is not there. */
bool ct_serve_http_load(void);
extern struct ct_mhd ct_mhd;

/* serve_jobs.c
 *
 * Workers: children that do the work of one request each. Called by serve_http.c.
 */

struct ct_serve_job {
	pid_t worker;
	struct ct_serve_reply *reply; /* shared with the worker */
	int body, snapshot, messages; /* files in memory; -1: the caller has taken it */
	void *arg;		      /* used by the caller */
	struct ct_serve_window *ends; /* used by the caller: the window that the worker ends */
	struct ct_serve_job *next;
};

/* Starts a worker. Returns NULL with errno set. */
struct ct_serve_job *ct_serve_jobs_start(const struct ct_serve_request *r, void *arg);
unsigned ct_serve_jobs_count(void);
/* Ends a worker soon, but not before what it must finish. It is reported like others. */
void ct_serve_jobs_cancel(struct ct_serve_job *job);
void ct_serve_jobs_cancel_all(void);
/* Returns the next worker that has ended, with its reply, or NULL. If the worker failed, the reply
 * says so. The caller releases it. */
struct ct_serve_job *ct_serve_jobs_ended(void);
void ct_serve_jobs_release(struct ct_serve_job *job);

/* Called by a worker that may be ended from here on. Before, it might leave a mode on of which the
 * server doesn't know. */
void ct_serve_jobs_may_end(void);
/* In a worker that may not be ended yet: must it end soon? */
bool ct_serve_jobs_is_cancelled(void);
/* In a worker: waits for its turn, because only a few may use the processor for long. */
void ct_serve_jobs_wait_turn(void);

/* serve_exchange.c
 *
 * A request and its reply, from the first byte to the last. Called by serve_http.c.
 */

struct MHD_Connection;

struct ct_serve_exchange {
	struct MHD_Connection *connection;
	int socket;
	bool suspended; /* the reply is being made */
	bool resumed;	/* the reply is made, and MHD calls the handler */
	bool waits;	/* it waits for a window that another request has, or that is being ended */
	bool crowded;	/* too many other clients have windows */
	bool gone;	/* the client is gone */
	bool head;	/* only the header is wanted (HEAD) */
	char *path;	/* NULL: the request's header is not complete */
	char *query, *host, *client;
	char *text; /* the body of the request */
	size_t text_size;
	char *label;
	struct ct_serve_window *window; /* window that it has now */
	struct ct_serve_request request;
	struct ct_serve_job *job; /* the running or ended worker */
	struct ct_serve_exchange *next;
};

/* Makes an exchange for URI, which is as the client sent it. */
struct ct_serve_exchange *ct_serve_exchange_new(struct MHD_Connection *c, const char *uri);
/* Call when the header is complete; PATH is decoded and without the query. */
void ct_serve_exchange_path(struct ct_serve_exchange *x, const char *path);
/* Adds to the body of the request, as far as there is room for it. */
void ct_serve_exchange_upload(struct ct_serve_exchange *x, const char *data, size_t size);
/* The request is complete: replies, or suspends the connection and starts a worker. Returns what
 * MHD's handler must return. */
int ct_serve_exchange_begin(struct ct_serve_exchange *x, const char *method,
			    const struct ct_serve_how *how);
/* The exchange's worker has ended: starts the next one, or resumes the connection, whose handler
 * then calls ct_serve_exchange_reply. */
void ct_serve_exchange_ended(struct ct_serve_exchange *x);
/* Lets requests that wait for a window try again. */
void ct_serve_exchange_retry(void);
/* Begins the end: no worker is started any more, and no window waits for its client. */
void ct_serve_exchange_stop(void);
/* At the end: resumes every connection. */
void ct_serve_exchange_resume_all(void);
int ct_serve_exchange_reply(struct ct_serve_exchange *x);
/* Ends the exchange; SENT: the client has got everything. Frees it, at the end of its worker at the
 * latest. */
void ct_serve_exchange_end(struct ct_serve_exchange *x, bool sent);

/* All exchanges that exist. */
extern struct ct_serve_exchange *ct_serve_exchange_all;

/* serve_helper.c
 *
 * The helper that the library starts for CPROF_SERVE=ADDRESS. Called by serve.c.
 */

/* Runs SERVE, in a child, for all processes that ask for ADDRESS, until the last of them has ended.
 * Returns at once if another helper does that. Returns the exit status. */
int ct_serve_helper(const char *address, int (*serve)(const char *address));

/* serve_profile.c */
void ct_serve_profile(const struct ct_serve_request *r, struct ct_serve_out *out);
/* Adds lines to P, from the files of process PID as it sees them. */
void ct_serve_profile_symbolize(struct ct_profile *p, int pid);

/* serve_text.c: writes P as net/http/pprof does for ?debug=1. */
void ct_serve_text(const struct ct_profile *p, const struct ct_serve_kind *k, FILE *to);

/* serve_threads.c: where every thread is now, as Go serves its goroutines. */
void ct_serve_threads(const struct ct_serve_request *r, struct ct_serve_out *out);

/* serve_process.c: replies without a profile. */
void ct_serve_process_index(const struct ct_serve_request *r, struct ct_serve_out *out);
void ct_serve_process_cmdline(const struct ct_serve_request *r, struct ct_serve_out *out);
void ct_serve_process_symbol(const struct ct_serve_request *r, struct ct_serve_out *out);
void ct_serve_process_threadcreate(const struct ct_serve_request *r, struct ct_serve_out *out);

/* serve_list.c, serve_metrics.c: replies about all processes. */
void ct_serve_list_resolve(const struct ct_serve_request *r, struct ct_serve_out *out);
void ct_serve_list_home(const struct ct_serve_request *r, struct ct_serve_out *out);
void ct_serve_list_targets(const struct ct_serve_request *r, struct ct_serve_out *out);
void ct_serve_metrics(const struct ct_serve_request *r, struct ct_serve_out *out);

#endif
