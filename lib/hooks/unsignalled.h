/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that must get no signal for a sample. Their CPU time and their perf events are unsampled,
 * and the wall clock sees only where they wait. Other threads stay sampled, and so does a child
 * that such a thread forks.
 */
#ifndef CP_UNSIGNALLED_H
#define CP_UNSIGNALLED_H

#include <stdbool.h>

/* Why; a thread may have several reasons. */
enum cp_unsignalled_reason {
	CP_UNSIGNALLED_TRACED = 1, /* trace.c */
	CP_UNSIGNALLED_CAUGHT = 2, /* dispatch.c */
};

/* Stops the signals to the calling thread; a pending one is handled before this returns. Returns
 * false, and changes nothing, if the thread isn't sampled or has this reason already. */
bool cp_unsignalled_begin(enum cp_unsignalled_reason reason);
/* Takes the reason back. The signals start again if it was the last one. Does nothing if the
 * calling thread doesn't have it. */
void cp_unsignalled_end(enum cp_unsignalled_reason reason);

#endif
