/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process sends at its end to a consumer of its windows (base/control.h, "last=1"). For
 * window.c.
 */
#ifndef CT_LAST_WINDOW_H
#define CT_LAST_WINDOW_H

#include <stdint.h>

#include "core/model.h"

/* Listens for the end of process PID as consumer NUMBER. Returns a descriptor, or -1 if that can't
 * be: then the last window is lost. */
int ct_last_window_listen(int pid, uint64_t number);
/* Calls SEE for each window that process PID has sent to FD, with its mode or companion. SEE owns
 * the profile. Doesn't wait. */
void ct_last_window_receive(int fd, int pid,
			    void (*see)(const char *mode, struct ct_profile *p, void *arg),
			    void *arg);

#endif
