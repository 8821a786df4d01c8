/* SPDX-License-Identifier: BSD-3-Clause */
/* CPU time that the profiler, not the program, used outside of handlers and hooks. This is all
 * time of the collector's task, with its sleeps and wake-ups, and the drains and dumps that a
 * thread of the program does in its place. */
#ifndef CP_OWN_TIME_H
#define CP_OWN_TIME_H

#include <stdint.h>

/* Called in the collector's task, around all its work. */
void cp_own_time_task_begin(void);
void cp_own_time_task_end(void);

/* Called around every drain and dump, under the collector's lock, on the thread that does the
 * work. */
void cp_own_time_work_begin(void);
void cp_own_time_work_end(void);

/* Returns the CPU time so far, in ns. Under the collector's lock. */
uint64_t cp_own_time(void);

/* In a fork child, whose clocks begin anew: resets the time to 0. */
void cp_own_time_fork_child(void);

#endif
