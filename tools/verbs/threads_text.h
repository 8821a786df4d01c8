/* SPDX-License-Identifier: BSD-3-Clause */
/* The threads of a process now (control/control_profile.h): equal stacks together, and their text.
 * For `cprof threads` and `cprof live`.
 */
#ifndef CT_THREADS_TEXT_H
#define CT_THREADS_TEXT_H

#include <stdio.h>

#include "core/model.h"

struct ct_thread {
	const struct ct_sample *sample;
	const char *name, *state, *lock;
	int64_t tid, call; /* CALL: -1 = none */
};

/* Threads with the same stack, state and system call: threads[first .. first + count - 1]. */
struct ct_thread_group {
	size_t first, count;
};

struct ct_threads {
	struct ct_profile *p;
	struct ct_thread *threads;
	size_t count;
	struct ct_thread_group *groups;
	size_t group_count, group_room;
};

/* Takes P over, and groups its threads, the largest group first. */
void ct_threads_text_group(struct ct_threads *all, struct ct_profile *p);
void ct_threads_text_release(struct ct_threads *all);

/* The name of a system call in which threads wait. Valid until the next call. */
const char *ct_threads_text_call(int64_t number);
/* A running thread has a frame that says so; it isn't shown. */
bool ct_threads_text_has_stack(const struct ct_thread *t);
/* Calls SEE for each function of T's stack, the innermost first, inlined ones too. */
void ct_threads_text_frames(const struct ct_profile *p, const struct ct_thread *t,
			    void (*see)(const struct ct_profile *p, const struct ct_location *l,
					const struct ct_line *line, void *arg),
			    void *arg);
/* Writes the text of all groups for a screen of COLUMNS (0: names are not shortened). */
void ct_threads_text_print(const struct ct_threads *all, int pid, size_t columns, FILE *to);

#endif
