/* SPDX-License-Identifier: BSD-3-Clause */
/* How long threads run at a time. The kernel's tick takes the samples of running threads, so of
 * work that is shorter than a tick they tell less than of other work; a profile says how much there
 * is.
 *
 * Called by the modes that sample by the tick, in ordinary context.
 */
#ifndef CP_BURSTS_H
#define CP_BURSTS_H

#include <stdint.h>

#include "output/comments.h"
#include "output/run.h"
#include "sample/counters.h"
#include "sample/thread.h"

/* Tells of thread T in MODE, whose CPU clock is at CPU, if there is something new. Reads a file
 * then.
 */
void cp_bursts_look(unsigned mode, struct cp_bursts *b, const struct cp_thread *t, uint64_t cpu);
/* The same for the calling thread, without the file: it ends. */
void cp_bursts_end(unsigned mode, struct cp_bursts *b, uint64_t cpu);
/* Adds a note to R's comments, ending with ADVICE, if a good part of the CPU time is of threads
 * that run for less than a tick at a time. */
void cp_bursts_note(struct cp_comments *out, const struct cp_run *r, const char *advice);

#endif
