/* SPDX-License-Identifier: BSD-3-Clause */
/* The server: connections, requests, their workers. Called by serve.c. */
#ifndef CT_SERVE_HTTP_H
#define CT_SERVE_HTTP_H

#include "serve/serve.h"
#include "serve/serve_listen.h"

struct ct_serve_how {
	const struct ct_serve_listen *at;
	struct ct_serve_pids only;
	double keep;	/* seconds for which a mode stays on that a request has turned on */
	bool arguments; /* cmdline tells the programs' arguments */
};

/* Answers requests until SIGINT or SIGTERM, or until all processes of ONLY have ended.
 * libmicrohttpd has been loaded. Returns the exit status. */
int ct_serve_http_run(const struct ct_serve_how *how);

#endif
