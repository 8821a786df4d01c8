/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of `cprof serve` hand to each other.
 *
 * One process with one thread has all connections (serve_http.c). It never asks a profiled process
 * and never reads a profile: each request that needs either gets a worker (serve_jobs.c), a child
 * that writes the body into a file in memory and ends. So a process that hangs, a profile that
 * takes all memory, and a request that lasts an hour hold up nobody else.
 */
#ifndef CT_SERVE_H
#define CT_SERVE_H

#include <stdbool.h>
#include <stdio.h>

#include "serve/serve_route.h"
#include "serve/serve_windows.h"

/* Limits; docs/serve.md states them. */
#define CT_SERVE_CONNECTIONS 128u
#define CT_SERVE_WORKERS 64u
#define CT_SERVE_SECONDS 3600L
#define CT_SERVE_UPLOAD ((size_t)64 << 10)
#define CT_SERVE_WORKER_MEMORY ((size_t)2 << 30)
/* A mode that a request turned on ends by itself so long after the time for which it is needed, if
 * this program is killed. */
#define CT_SERVE_GRACE 30
/* A window of a mode that is on by itself waits so long for its client. */
#define CT_SERVE_PATIENCE 900

struct ct_serve_pids {
	const int *pids;
	size_t count;	   /* 0: every process that answers */
	const char *asked; /* only those whose CPROF_SERVE is this; NULL: whatever it is */
};

struct ct_serve_request {
	struct ct_serve_route route;
	const struct ct_serve_pids *only;
	long seconds;	  /* 0: not given */
	int debug;	  /* ?debug= */
	bool folded;	  /* fgprof's ?format=folded */
	double keep;	  /* seconds until the client's next request of its kind */
	bool foreign;	  /* a page of another site may ask: no mode is turned on for it */
	bool arguments;	  /* cmdline tells them */
	const char *text; /* symbol: the addresses; */
	const char *host; /* the Host header, or our own address */
	const struct ct_serve_window *window; /* of a profile */
	const char *label; /* "request 127.0.0.1: /debug/pprof/heap", for messages */
};

/* Written by a worker into memory that it shares with the server. */
struct ct_serve_reply {
	unsigned status;
	char type[64]; /* Content-Type */
	char file[64]; /* for Content-Disposition, or "" */
	bool error;    /* X-Go-Pprof: 1 */
	bool started;  /* the request has turned its mode on */
	/* Of the request's window: how many seconds the process has it from now on, or below 0; how
	 * it goes on. */
	double lease;
	struct ct_window_id id;
	bool taken; /* the snapshot has what was taken */
	int pid;    /* RESOLVE: the process */
};

struct ct_serve_out {
	struct ct_serve_reply *reply;
	FILE *body;
	int snapshot; /* where that goes which was taken of a window that goes on */
};

/* Does the work of a request. Runs in a worker. */
void ct_serve_work(const struct ct_serve_request *r, struct ct_serve_out *out);

/* Sets status and type of a reply with a body. */
void ct_serve_reply_set(struct ct_serve_reply *reply, unsigned status, const char *type,
			const char *file);
#define CT_SERVE_BINARY "application/octet-stream"
#define CT_SERVE_PLAIN "text/plain; charset=utf-8"
#define CT_SERVE_HTML "text/html; charset=utf-8"
#define CT_SERVE_JSON "application/json"
/* An error as net/http/pprof gives it: a line of text. */
void ct_serve_reply_fail(struct ct_serve_out *out, unsigned status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
