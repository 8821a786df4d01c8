/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of processes that have ended, and what a file tells of its process. Called by
 * push_follow.c and push_command.c.
 */
#ifndef CT_PUSH_ENDED_H
#define CT_PUSH_ENDED_H

#include "core/model.h"

/* Reads the profile PATH, a plain file. Returns NULL if there is none that can be read. */
struct ct_profile *ct_push_ended_read(const char *path);

/* What P's first comment says; the texts are to be freed. NULL, 0: it doesn't. */
char *ct_push_ended_mode(const struct ct_profile *p);
int ct_push_ended_pid(const struct ct_profile *p);
/* The program's name, from P's first mapping. */
char *ct_push_ended_program(const struct ct_profile *p);

#endif
