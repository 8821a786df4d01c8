/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of processes that have ended, and what a file tells of its process. Called by
 * push_follow.c.
 */
#ifndef CT_PUSH_ENDED_H
#define CT_PUSH_ENDED_H

#include <sys/types.h>

#include "core/model.h"

struct ct_push_ended {
	int root;   /* the process's root directory, or -1: ours */
	uid_t user; /* who owns its files */
};

/* Holds what is needed to read files of process PID after its end. */
void ct_push_ended_open(struct ct_push_ended *e, int pid);
void ct_push_ended_close(struct ct_push_ended *e);
/* Reads the profile PATH, as the process names it. Only a plain file of the process's user is read.
 * E is NULL: a file of ours. Returns NULL if there is none that can be read. */
struct ct_profile *ct_push_ended_read(const struct ct_push_ended *e, const char *path);

/* Asks process PID for all that MODE has seen. Returns NULL if there is no answer. */
struct ct_profile *ct_push_ended_ask(int pid, const char *mode);

/* What P's first comment says; the texts are to be freed. NULL, 0: it doesn't. */
char *ct_push_ended_mode(const struct ct_profile *p);
int ct_push_ended_pid(const struct ct_profile *p);
/* The program's name, from P's first mapping. */
char *ct_push_ended_program(const struct ct_profile *p);

#endif
