/* SPDX-License-Identifier: BSD-3-Clause */
/* What the path of a request asks for. Called by serve_http.c and by the workers. */
#ifndef CT_SERVE_ROUTE_H
#define CT_SERVE_ROUTE_H

#include <stdbool.h>

enum ct_serve_what {
	CT_SERVE_NOTHING, /* nothing is there */
	CT_SERVE_MOVED,	  /* the same with a slash at its end */
	CT_SERVE_HOME,	  /* the page of processes */
	CT_SERVE_TARGETS,
	CT_SERVE_METRICS,
	/* Of one process: */
	CT_SERVE_RESOLVE, /* which process is the only one? */
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
	CT_SERVE_WINDOW, /* what happens in the next ?seconds= */
	CT_SERVE_TOTAL,	 /* all that the mode has seen; with ?seconds=: by how much it changes */
	CT_SERVE_DELTA	 /* what happened since this client's last request */
};

/* A profile that is served. */
struct ct_serve_kind {
	const char *name; /* the last part of the path */
	const char *mode; /* that must be on */
	const char *dump; /* the mode or companion whose profile it is */
	enum ct_serve_span span;
	const char *file;	 /* its name for the client, without "-delta" */
	const char *description; /* in the index page; NULL: not listed there */
};

struct ct_serve_route {
	enum ct_serve_what what;
	int pid; /* 0: the only process */
	const struct ct_serve_kind *kind;
};

/* Every URL has one: a path that is none gets CT_SERVE_NOTHING. */
struct ct_serve_route ct_serve_route_of(const char *path);

/* The kinds of profiles in the order of their names, ended by one without a name. */
extern const struct ct_serve_kind ct_serve_route_kinds[];
/* The kind that shows MODE ("cpu", "wall", "heap", "lock", "holders", "wakers", "io", "event")
 * in a flame graph, or NULL. */
const struct ct_serve_kind *ct_serve_route_shown(const char *mode);

/* Returns whether TEXT is a whole number of seconds from 1 on, as Go reads it, and sets *SECONDS.
 */
bool ct_serve_route_seconds(const char *text, long *seconds);

#endif
