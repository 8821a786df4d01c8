/* SPDX-License-Identifier: BSD-3-Clause */
/* CPROF_SERVE=HOST:PORT: a helper, `cprof serve`, answers there for this process and for all others
 * of the user that name the same address. Called by window.c, under the collector's lock.
 *
 * A process that has lived for a second starts a helper, which ends at once if there is one.
 */
#ifndef CP_SERVE_H
#define CP_SERVE_H

#include <stdint.h>

/* Plans the start of the helper: at a start of the session, and in a fork child. */
void cp_serve_plan(void);
/* When it is due; monotonic ns, UINT64_MAX: not at all. */
uint64_t cp_serve_due(void);
/* Starts the helper if it is time. In the collector. */
void cp_serve_start(void);

#endif
