/* SPDX-License-Identifier: BSD-3-Clause */
/* The modes that requests need, and those that requests have turned on: a mode is turned off again
 * when the last request that needs it is over and nobody is expected to ask again soon.
 *
 * Called by serve_http.c. Times are monotonic seconds.
 */
#ifndef CT_SERVE_MODES_H
#define CT_SERVE_MODES_H

#include <stdbool.h>

/* A request that lasts until UNTIL needs MODE of process PID. Returns false if the mode is being
 * turned off: then the request must wait, and try again when that is done. Otherwise sets *LEASE,
 * the seconds for which the mode must be on. Several requests may need a mode; each releases it. */
bool ct_serve_modes_take(int pid, const char *mode, double now, double until, double *lease);
/* The request is over. STARTED: it has turned the mode on. HOLDS: it has taken dumps; a mode of
 * which only windows were taken ends with them. KEEP: if the mode is ours, it stays on until then.
 */
void ct_serve_modes_release(int pid, const char *mode, bool started, bool holds, double keep);

/* Sets *PID and *MODE to one that is to be turned off now, and that stays in the list until
 * ct_serve_modes_ended. Returns false if there is none. ALL: those that would be kept, too. */
bool ct_serve_modes_due(double now, bool all, int *pid, const char **mode);
void ct_serve_modes_ended(int pid, const char *mode);
/* When the next one is due; below 0: none is. */
double ct_serve_modes_next(void);

#endif
