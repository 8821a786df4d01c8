/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of the same run beside a profile: those of the processes that its process started, and
 * those of its other modes. */
#ifndef CT_SIBLINGS_H
#define CT_SIBLINGS_H

#include <stdbool.h>

#include "core/model.h"

/* Says on stderr which files FILE.PID the processes that P's process started wrote; P was read from
 * FILE. Files of an earlier run are not named. Returns whether anything was said. */
bool ct_siblings_say(const struct ct_profile *p, const char *file);
/* Returns the names of the files FILE.PID of processes that the process of FILE, or one of those,
 * started: their profiles began after FILE's did. Files of an earlier run began before. Files whose
 * begin is not known are among them. Those that can't be read are not: a message names each, and
 * *UNREAD grows by their number. A URL, "-" and a pipe have none. The caller frees the *COUNT names
 * and the list. NULL, after a message, if FILE can't be read. */
char **ct_siblings_children(const char *file, size_t *count, size_t *unread);
/* The caller names such files by itself: ct_siblings_say() says nothing from now on. */
void ct_siblings_are_known(void);
/* Can PATH be read as a profile, and may one run have written it and P? Says nothing if not. */
bool ct_siblings_is_of_run(const char *path, const struct ct_profile *p);
/* Is TEXT what a name of another process's file has after "FILE.": "123", or "123.2" for the second
 * profile of that process? */
bool ct_siblings_is_pid(const char *text);
/* Returns the pattern for glob() of the names FILE.PID; some other names match, too. The caller
 * frees it. */
char *ct_siblings_pattern(const char *file);
/* May one run have written both? */
bool ct_siblings_overlap(const struct ct_profile *a, const struct ct_profile *b);

#endif
