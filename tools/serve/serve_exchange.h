/* SPDX-License-Identifier: BSD-3-Clause */
/* A request and its reply, from the first byte to the last. Called by serve_http.c. */
#ifndef CT_SERVE_EXCHANGE_H
#define CT_SERVE_EXCHANGE_H

#include "serve/serve_http.h"
#include "serve/serve_jobs.h"

struct MHD_Connection;

struct ct_serve_exchange {
	struct MHD_Connection *connection;
	int socket;
	bool suspended; /* its reply is being made */
	bool resumed;	/* it is made: MHD calls the handler */
	bool waits;	/* for a window that another request has, or that is ending */
	bool crowded;	/* too many other clients have windows */
	bool gone;	/* its client is */
	bool head;	/* only the header is wanted */
	char *path;	/* NULL: the header is not complete */
	char *query, *host, *client;
	char *text; /* the body of the request */
	size_t text_size;
	char *label;
	struct ct_serve_window *window; /* that it has now */
	struct ct_serve_request request;
	struct ct_serve_job *job; /* a worker has been started, or has ended */
	struct ct_serve_exchange *next;
};

/* Makes an exchange for URI, which is as the client sent it. */
struct ct_serve_exchange *ct_serve_exchange_new(struct MHD_Connection *c, const char *uri);
/* The header is complete; PATH is decoded and without the query. */
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
/* Requests that wait for a window try again. */
void ct_serve_exchange_retry(void);
/* The end begins: no more workers are started, and no window waits for its client any more. */
void ct_serve_exchange_stop(void);
/* The end: every connection is resumed. */
void ct_serve_exchange_resume_all(void);
int ct_serve_exchange_reply(struct ct_serve_exchange *x);
/* The exchange is over; SENT: the client has all of it. Frees it, at the end of its worker at the
 * latest. */
void ct_serve_exchange_end(struct ct_serve_exchange *x, bool sent);

/* All that exist. */
extern struct ct_serve_exchange *ct_serve_exchange_all;

double ct_serve_exchange_now(void);

#endif
