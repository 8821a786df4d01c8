/* SPDX-License-Identifier: BSD-3-Clause */
/* What the helpers have in common that the library starts: `cprof push -helper URL` for CPROF_PUSH,
 * `cprof serve -helper ADDRESS` for CPROF_SERVE.
 *
 * One helper works for all processes of a user that ask for the same: each process starts one, but
 * only the first stays. An abstract socket's name tells that a helper is there. The kernel frees it
 * when the helper ends. It is visible where the processes' own sockets are. Other users may take
 * such names, so a lock in the user's own directory decides first, if there is one.
 */
#ifndef CT_HELPER_H
#define CT_HELPER_H

#include <stdbool.h>

/* Keeps other helpers of VERB for ARGUMENT away until ct_helper_leave. Returns false if there is
 * one already. */
bool ct_helper_become_only(const char *verb, const char *argument);
void ct_helper_leave(void);
/* Messages go to the file VERB.log of the user's state: a helper has no terminal. */
void ct_helper_open_log(const char *verb);

#endif
