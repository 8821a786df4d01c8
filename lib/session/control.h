/* SPDX-License-Identifier: BSD-3-Clause */
/* What other processes may ask of the session, over the control socket (base/control.h). Runs in
 * the collector. */
#ifndef CP_SESSION_CONTROL_H
#define CP_SESSION_CONTROL_H

#include <stdbool.h>

#include "base/control.h"

struct cp_control_place;

/* Answers request M in place, with descriptor FD or -1. Without the collector's lock. */
void cp_control_answer_request(struct cp_control_message *m, int fd);
/* The answer to the last request was sent, or the client had gone. As above. */
void cp_control_see_answered(bool received);
/* In a fork child: the request is the parent's. */
void cp_control_fork_child(void);
/* Wait until it is known whether the window that is just being sent has arrived, so that what is
 * handed over before an exec or the end doesn't have its time again. At most a tenth of a second.
 * Any context. */
void cp_control_wait_for_answer(void);
/* Returns whether there is to be a control socket; EARLY: the collector has just begun. */
bool cp_control_wanted(bool early);
/* Where the socket is to be besides its abstract name: CPROF_CONTROL=/PATH. */
void cp_control_where(struct cp_control_place *place);
/* Say that it can't be there. The process's first program says it; others with CPROF_VERBOSE. */
void cp_control_failed(const struct cp_control_place *place, int err);

#endif
