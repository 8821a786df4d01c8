/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds threads that were not announced: made by a raw clone, or before the profiler started.
 * Compares /proc/self/task with the thread records. Call under the collector's lock or before there
 * is a collector. Uses only raw system calls and the profiler's own pages.
 */
#ifndef CP_SWEEP_H
#define CP_SWEEP_H

#include <stdbool.h>

/* Tasks that don't count because they are the profiler's; 0 = none. */
struct cp_sweep_ours {
	int tid[3];
};

/* Give a record to each thread that has none and is seen for the second time; end the records of
 * such threads when they are gone. Returns true if a thread was seen that the next sweep will
 * register. Collector only. */
bool cp_sweep_threads(const struct cp_sweep_ours *ours);
/* Call VISIT for each task of the process, the profiler's too, until VISIT returns a nonzero value.
 * Returns that value, 0 or a negative errno. */
int cp_sweep_each(int (*visit)(int tid, void *context), void *context);
/* Return true if every thread of the program that libc knows is gone; a leader that is a zombie
 * counts as gone. Uses the records alone where /proc can't be read. */
bool cp_sweep_all_gone(const struct cp_sweep_ours *ours);
/* Forget the parent's sweep in a fork child. */
void cp_sweep_fork_child(void);

#endif
