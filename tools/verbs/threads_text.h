/* SPDX-License-Identifier: BSD-3-Clause */
/* The threads of a process now (control/control_profile.h): equal stacks together, and their text.
 * For `cprof threads` and `cprof live`.
 */
#ifndef CT_THREADS_TEXT_H
#define CT_THREADS_TEXT_H

#include <stdio.h>

#include "control/thread_wait.h"
#include "core/model.h"

/* Threads with the same stack, state and system call: threads[first .. first + count - 1]. */
struct ct_thread_group {
	size_t first, count;
};

struct ct_threads {
	struct ct_profile *p;
	struct ct_thread_wait *threads;
	size_t count;
	struct ct_thread_group *groups;
	size_t group_count, group_room;
};

/* Takes P over, and groups its threads, the largest group first. */
void ct_threads_text_group(struct ct_threads *all, struct ct_profile *p);
void ct_threads_text_release(struct ct_threads *all);

/* A running thread has a frame that says so; it isn't shown. */
bool ct_threads_text_has_stack(const struct ct_thread_wait *t);
/* Calls SEE for each function of T's stack, the innermost first, inlined ones too. */
void ct_threads_text_frames(const struct ct_profile *p, const struct ct_thread_wait *t,
			    void (*see)(const struct ct_profile *p, const struct ct_location *l,
					const struct ct_line *line, void *arg),
			    void *arg);
/* Calls SEE for the threads of deadlock NUMBER, from 1 on, each of which waits for the next.
 * Returns how many; 0: there is no such deadlock. SEE may be NULL. */
size_t ct_threads_text_deadlock(const struct ct_threads *all, int64_t number,
				void (*see)(const struct ct_threads *all,
					    const struct ct_thread_wait *t, void *arg),
				void *arg);
/* Writes the text of deadlocks and of all groups for a screen of COLUMNS (0: names are not
 * shortened). */
void ct_threads_text_print(const struct ct_threads *all, int pid, size_t columns, FILE *to);

#endif
