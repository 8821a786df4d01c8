/* SPDX-License-Identifier: BSD-3-Clause */
/* How a thread that is ready to run came to have no processor: it was woken from a wait, and still
 * stands where it waited; or it lost the processor, and stands where it ran.
 *
 * The kernel tells a thread's switches of both kinds in /proc. Each is followed by a time without a
 * processor, so the time is divided as the switches are. A thread that never waits, or is never
 * preempted, is exact; of the others it is assumed that both kinds of time are of equal length.
 */
#ifndef CP_WALL_SWITCHES_H
#define CP_WALL_SWITCHES_H

#include "sample/thread.h"

/* Read the switches of T, at most once a second. NOW is in monotonic ns. Under the collector's
 * lock. */
void cp_wall_switches_read(struct cp_thread *t, uint64_t now);

#endif
