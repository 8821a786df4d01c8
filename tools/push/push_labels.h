/* SPDX-License-Identifier: BSD-3-Clause */
/* The labels by which a process is found at the receiver: service_name, host, pid, those of
 * Kubernetes and OpenTelemetry, and the user's own. Called by push_follow.c.
 *
 * They come from the process's environment as it was at its start, so that processes of one tree,
 * or of one host, each have their own.
 */
#ifndef CT_PUSH_LABELS_H
#define CT_PUSH_LABELS_H

#include <stdbool.h>

#include "core/options.h"

struct ct_push_labels_how {
	const char *name;	   /* service_name; NULL: the process's own */
	const struct ct_list *own; /* "key=value"; without a value the label is left out */
};

/* Returns lines "key=value\n" for process PID, to be freed. PROGRAM is the service's name if
 * nothing else names it. PID is this process itself: ENDED is the process that ended, whose
 * environment this process has. */
char *ct_push_labels_of(int pid, const char *program, int ended,
			const struct ct_push_labels_how *how);
/* Is TEXT "key=value", with a key that receivers take? */
bool ct_push_labels_is_good(const char *text);
/* Returns the value of variable NAME of process PID at its start, to be freed; NULL: not set, or
 * not to be read. */
char *ct_push_labels_variable(int pid, const char *name);

#endif
