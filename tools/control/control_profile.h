/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests that a process answers by a profile (base/control.h). */
#ifndef CT_CONTROL_PROFILE_H
#define CT_CONTROL_PROFILE_H

#include "control/control.h"
#include "core/model.h"

/* Asks process PID with a file in memory, and reads that into *P; M becomes the reply. Returns 0;
 * the error of the reply, with *WHY NULL; or -EIO with the reason in *WHY, which the caller frees.
 */
int ct_control_profile_ask(int pid, struct cp_control_message *m, struct ct_profile **p,
			   char **why);

/* Reads the profile in FD. Returns NULL with the reason in *WHY. */
struct ct_profile *ct_control_profile_read(int fd, char **why);

/* Where every thread of process PID is now: one sample for each, with the labels "thread", "tid",
 * "state" ("running" and "runnable": it has no stack; "waiting"; "unknown"), "syscall" (its number)
 * and what it waits for (thread_wait.h). Names of functions are to be added by
 * ct_verb_symbolize_profile: the paths of modules are such that they can be read from here. Returns
 * NULL with the reason in *WHY, which the caller frees. The process needs no mode that is on. */
struct ct_profile *ct_control_profile_threads(int pid, char **why);

#endif
