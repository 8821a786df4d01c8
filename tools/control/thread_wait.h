/* SPDX-License-Identifier: BSD-3-Clause */
/* What each thread of a process waits for, in words: from the labels of the profile that the
 * process makes of its threads (lib/session/threads_now.h). */
#ifndef CT_THREAD_WAIT_H
#define CT_THREAD_WAIT_H

#include "core/model.h"

/* A thread. Texts are "", numbers -1, where there is no such label. */
struct ct_thread_wait {
	const struct ct_sample *sample;
	const char *name, *state, *cause;
	const char *lock, *lock_kind;
	const char *kind, *target, *child_name;
	int64_t tid, call, holder, readers, joined, fd, descriptors, child, deadlock;
};

struct ct_thread_wait ct_thread_wait_of(const struct ct_profile *p, const struct ct_sample *s);
/* Returns "for mutex queue_lock, held by main(12)" or the like, to be freed; NULL if no more is
 * known than the system call. OTHERS, COUNT of them, have the names of threads. The text has names
 * of files: it may contain control characters. */
char *ct_thread_wait_text(const struct ct_thread_wait *w, const struct ct_thread_wait *others,
			  size_t count);
/* Returns the name of a system call in which threads wait, or "system call 12", valid until the
 * next call. */
const char *ct_thread_wait_call(int64_t number);

#endif
