/* SPDX-License-Identifier: BSD-3-Clause */
/* The processes whose windows are pushed: which there are, and what each did. Called by push.c.
 */
#ifndef CT_PUSH_FOLLOW_H
#define CT_PUSH_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>

#include "base/control.h"
#include "push/push_labels.h"
#include "push/push_queue.h"
#include "push/push_series.h"

struct ct_push_follow_how {
	struct ct_push_series_how series;
	struct ct_push_labels_how labels;
	struct ct_push_queue *queue;
	double every;		  /* seconds between two windows */
	const char *const *roots; /* of debug files, as for symbolize */
	bool verbose;
	bool takes_files; /* files are ours, and removed when they were read */
};

struct ct_push_follow;

struct ct_push_follow *ct_push_follow_new(const struct ct_push_follow_how *how);
void ct_push_follow_free(struct ct_push_follow *f);

/* Follows process PID from now on; FROM_START: also what its modes have seen before. Modes are
 * those that the user chose (mode_options.h), else those that are on, else, if START, CPU time.
 * Returns 0; or -1 with *WHY, a message that the caller frees. A process that is followed already
 * is left alone. */
int ct_push_follow_add(struct ct_push_follow *f, int pid, bool from_start, bool start, char **why);
/* Follows all processes that answer and for which IS_WANTED (NULL: all) says so. */
void ct_push_follow_all(struct ct_push_follow *f, bool from_start,
			bool (*is_wanted)(const struct cp_control_message *status, void *arg),
			void *arg);
/* Takes a window of each process. */
void ct_push_follow_take(struct ct_push_follow *f);
/* Takes the last window of processes that have ended, from their files, and forgets them. Waits for
 * an end, a readable FD (-1: none), or SECONDS. Returns whether FD is readable. */
bool ct_push_follow_wait(struct ct_push_follow *f, int fd, double seconds);
/* How many processes are followed. */
size_t ct_push_follow_count(const struct ct_push_follow *f);
/* How many windows were lost because their process ended without writing a file. */
size_t ct_push_follow_lost(const struct ct_push_follow *f);

/* Pushes all of FILE, the profile of a process that has ended. Returns whether something was in it.
 */
bool ct_push_follow_file(struct ct_push_follow *f, const char *file);

#endif
