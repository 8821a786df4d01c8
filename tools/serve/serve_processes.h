/* SPDX-License-Identifier: BSD-3-Clause */
/* The processes that are served, with what they say of themselves. Called by the workers for /,
 * /targets and /metrics.
 */
#ifndef CT_SERVE_PROCESSES_H
#define CT_SERVE_PROCESSES_H

#include "control/control.h"
#include "serve/serve.h"

struct ct_serve_process {
	int pid;
	char *program;
	struct cp_control_message status;
};

struct ct_serve_processes {
	struct ct_serve_process *items; /* by pid */
	size_t count, room;
};

/* Asks those of ONLY, or all; SPANS: for their spans, too. Those that don't answer are left out. */
void ct_serve_processes_ask(struct ct_serve_processes *all, const struct ct_serve_pids *only,
			    bool spans);
/* Does a process with this STATUS belong to ONLY, if ONLY names none? */
bool ct_serve_processes_wants(const struct ct_serve_pids *only,
			      const struct cp_control_message *status);
/* The same of process PID. ASK: in any case it must answer, that is, be profiled and let us ask. */
bool ct_serve_processes_has(const struct ct_serve_pids *only, int pid, bool ask);

/* The number of MODE's KEY, "cpu.samples"; 0: it isn't there. */
unsigned long long ct_serve_processes_number(const struct ct_serve_process *p, const char *mode,
					     const char *key);
bool ct_serve_processes_is_on(const struct ct_serve_process *p, const char *mode);

/* Do the mode's losses count as nanoseconds of waiting, and not as samples? */
bool ct_serve_processes_loses_time(const char *mode);

#endif
