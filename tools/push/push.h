/* SPDX-License-Identifier: BSD-3-Clause */
/* The ways in which `cprof push` runs, for verb_push.c. Each returns the exit status.
 */
#ifndef CT_PUSH_H
#define CT_PUSH_H

#include <stdbool.h>

#include "push/push_follow.h"

struct ct_push_how {
	const struct ct_push_target *target;
	const struct ct_push_queue_how *queue;
	struct ct_push_follow_how *follow; /* its queue is filled in */
	double flush;			   /* seconds that the end may take */
};

/* PIDS, COUNT of them, until all have ended; COUNT 0: all processes of this host, until a signal.
 */
int ct_push_processes(const struct ct_push_how *how, const int *pids, size_t count);
/* Runs a command, and ends as it does. */
int ct_push_command(const struct ct_push_how *how, char **argv);
/* For CPROF_PUSH=URL: all processes that ask for the same URL, until none is left. Returns at once
 * if another such helper is there. */
int ct_push_helper(const struct ct_push_how *how, const char *url);
/* Files of a process that has ended. */
int ct_push_files_of_ended(const struct ct_push_how *how, char *const *files, size_t count);

/* What all these have in common (push.c): a queue with its follower, and a descriptor that becomes
 * readable when it is time to end. */
struct ct_push {
	const struct ct_push_how *how;
	struct ct_push_queue *queue;
	struct ct_push_follow *follow;
	int end;   /* an eventfd */
	bool idle; /* there was nothing to push: no line tells of 0 profiles */
};

/* Returns 0, or -1 after a message. With CATCH, SIGINT, SIGTERM and SIGHUP end the push. */
int ct_push_begin(struct ct_push *p, const struct ct_push_how *how, bool catch);
/* Sends what there is, and says what was sent and lost. Returns CT_OK, or CT_FAILED if something
 * was lost. */
int ct_push_end(struct ct_push *p);
/* Until the end: calls LOOK every second, which returns whether to go on, and takes windows. */
void ct_push_loop(struct ct_push *p, bool (*look)(struct ct_push *p, void *arg), void *arg);

#endif
