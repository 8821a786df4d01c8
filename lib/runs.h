/* Each mode's run while it is on: its name, begin and end. Under the collector's lock, but for what
 * only reads the settings. */
#ifndef CP_RUNS_H
#define CP_RUNS_H

#include <stdbool.h>

#include "sigsafe/mode.h"

/* The mode whose path names M's file: M itself, or what it is a further view of. */
enum cp_mode cp_runs_parent(unsigned m);
/* The settings ask for mode M. */
bool cp_runs_wants(unsigned m);
/* A signal begins and ends it. */
bool cp_runs_toggled(unsigned m);
/* A mode is on. */
bool cp_runs_any(void);

/* 0, or a negative errno: then it is off. */
int cp_runs_begin(unsigned m);
/* Write its file at its own path, and forget what was collected. The write's error. */
int cp_runs_end(unsigned m, const char *when);
/* The same without a file. */
void cp_runs_abandon(unsigned m);
/* In a fork child, without the lock: those that are on begin anew, under the child's name. */
void cp_runs_fork_child(void);

#endif
