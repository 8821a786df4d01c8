/* SPDX-License-Identifier: BSD-3-Clause */
/* Which process is profiled, and is it this one? Set by the session. */
#ifndef CP_PROFILED_H
#define CP_PROFILED_H

#include <stdbool.h>

/* Make the calling process the profiled one. */
void cp_profiled_begin(void);
/* Set whether a mode is on. */
void cp_profiled_set_active(bool active);
/* Stop the profiler's own system calls at the begin and end of threads, and for forks and execs,
 * because the program restricts its system calls. Holds until the program itself starts the
 * profiler. */
void cp_profiled_retire(void);
void cp_profiled_return(void);

/* Return the pid of the process that cp_profiled_begin was called in last. */
int cp_profiled_pid(void);
/* Return true if a mode is on (it may be toggled off). Any context. */
bool cp_profiled_active(void);
/* Return true in the process that was started, or a fork child whose fork handlers ran. False in
 * the child of a vfork, which shares memory with its parent, and in a child of a raw clone.
 * Independent of whether a mode is on. Any context. */
bool cp_profiled_is_this(void);
/* Return true if a mode is on and cp_profiled_is_this() is true. Any context. */
bool cp_profiled_is_ours(void);
/* Return true if the profiler is inert: cp_profiled_retire was called. Any context. */
bool cp_profiled_retired(void);

#endif
