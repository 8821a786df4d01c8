/* SPDX-License-Identifier: BSD-3-Clause */
/* Workers: children that do the work of one request each. Called by serve_http.c. */
#ifndef CT_SERVE_JOBS_H
#define CT_SERVE_JOBS_H

#include <sys/types.h>

#include "serve/serve.h"

struct ct_serve_job {
	pid_t worker;
	struct ct_serve_reply *reply; /* shared with the worker */
	int body, snapshot, messages; /* files in memory; -1: taken away by the caller */
	void *arg;		      /* of the caller */
	struct ct_serve_window *ends; /* of the caller */
	struct ct_serve_job *next;
};

/* Starts a worker. Returns NULL with errno set. */
struct ct_serve_job *ct_serve_jobs_start(const struct ct_serve_request *r, void *arg);
unsigned ct_serve_jobs_count(void);
/* Ends a worker soon, within what it may not leave undone. It is reported as the others are. */
void ct_serve_jobs_cancel(struct ct_serve_job *job);
void ct_serve_jobs_cancel_all(void);
/* Returns the next worker that has ended, with its reply, or NULL. A worker that failed has a
 * reply that says so. The caller releases it. */
struct ct_serve_job *ct_serve_jobs_ended(void);
void ct_serve_jobs_release(struct ct_serve_job *job);

/* In a worker: from here on it may be ended. Before, it may not: it would leave a mode on, of which
 * the server knows nothing. */
void ct_serve_jobs_may_end(void);
/* In a worker that may not be ended yet: it is to end soon. */
bool ct_serve_jobs_is_cancelled(void);
/* In a worker: waits until one of few may use the processor for long. */
void ct_serve_jobs_wait_turn(void);

#endif
