/* SPDX-License-Identifier: BSD-3-Clause */
/* Each mode's run while the mode is on: its name, begin and end. Under the collector's lock,
 * except for functions that only read the settings. */
#ifndef CP_RUNS_H
#define CP_RUNS_H

#include <stdbool.h>

#include "sample/mode.h"

struct cp_config;

/* Returns the mode whose path names M's file: M itself, or the mode that M is a companion of. */
enum cprof_mode cp_runs_parent(unsigned m);
/* Returns whether the settings ask for mode M. */
bool cp_runs_wants(unsigned m);
/* Returns whether the names of M's files have the pid, also in the first process. */
bool cp_runs_has_pid(unsigned m);
/* Returns whether a signal begins and ends mode M. */
bool cp_runs_toggled(unsigned m);
/* Returns whether a mode is on. Any context, without the lock. */
bool cp_runs_any(void);

/* Returns 0, or a negative errno; the mode is then off. */
int cp_runs_begin(unsigned m);
/* Writes M's file at its own path and drops the collected samples. Returns the write's error. */
int cp_runs_end(unsigned m, const char *when);
/* The same without writing a file. */
void cp_runs_abandon(unsigned m);
/* In a fork child, without the lock: the modes that are on begin anew, under the child's name. */
void cp_runs_fork_child(void);
/* Lets the modes of C that are on tell what the user should know. Call without the lock, after they
 * have started. */
void cp_runs_tell(const struct cp_config *c);

#endif
