/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process sends at its end to a consumer of its windows (base/control.h, "last=1"). For
 * window.c.
 */
#ifndef CT_LAST_WINDOW_H
#define CT_LAST_WINDOW_H

#include <stdint.h>

#include "core/model.h"

struct ct_last_window;

/* Listens for the end of process PID as consumer NUMBER. Returns NULL if that can't be: then the
 * last window is lost. */
struct ct_last_window *ct_last_window_listen(int pid, uint64_t number);
/* Turns strangers away, who would fill the kernel's queue of connections: to be called from time to
 * time. Doesn't wait. L may be NULL. */
void ct_last_window_turn_away(struct ct_last_window *l);
/* Calls SEE for each window that the process has sent, with its mode or companion. SEE owns the
 * profile. Doesn't wait. L may be NULL. */
void ct_last_window_receive(struct ct_last_window *l,
			    void (*see)(const char *mode, struct ct_profile *p, void *arg),
			    void *arg);
/* Adds P, which it takes over, to *ALL: threads may go on after a first window was sent, and then a
 * second one comes. *ALL may be NULL before. */
void ct_last_window_add(struct ct_profile **all, struct ct_profile *p);
/* L may be NULL. */
void ct_last_window_close(struct ct_last_window *l);

#endif
