/* SPDX-License-Identifier: BSD-3-Clause */
/* Where every thread is at this moment, as a profile: one sample for each thread. Works with no
 * mode on. No thread is signalled or stopped: a waiting thread is walked from outside, as the wall
 * clock does; a running one has no stack.
 */
#ifndef CP_THREADS_NOW_H
#define CP_THREADS_NOW_H

#include "output/sink.h"

/* Further threads are counted, in a comment. The collector's lock is held for some 20 us a thread.
 */
#define CP_THREADS_NOW_MAX 4096u

struct cp_threads_now {
	struct cp_sink *sink;
	int result; /* out: 0 or a negative errno */
};

/* For cp_collect_run: writes the profile to SINK, not compressed and without names of functions.
 * ARG is a struct cp_threads_now. The labels of a sample: "thread", "tid", "state" (running,
 * waiting, unknown), "syscall" (its number) and, for a wait on a futex, "lock" (its address). */
void cp_threads_now_write(void *arg);

#endif
