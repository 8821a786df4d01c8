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

/* Write the profile to SINK, not compressed and without names of functions. Returns 0 or a negative
 * errno. Takes the collector's lock; twice, if a thread waits for the lock of a file, because who
 * has it is asked without the lock. The labels of a sample, those that are known:
 *
 * "thread", "tid", "state" (running; runnable: no processor is free; waiting; unknown), "syscall"
 * (its number) "wait": the cause, as in wall profiles
 *
 * "lock", "lock_kind": name or address; mutex, rwlock, condition, semaphore, barrier, libc (a lock
 * inside libc), futex (any other)
 *
 * "holder", "readers": tid of the mutex's owner or the writer; number of readers
 *
 * "joined": tid of the thread whose end is waited for
 *
 * "deadlock": number of the deadlock that the thread is a part of
 *
 * "child", "child_name": pid and name
 *
 * "fd", "kind", "target": the descriptor; the target as CPROF_IO_TARGET allows
 *
 * "locker", "locker_name": pid and name of the process that has the descriptor's lock
 *
 * "descriptors": how many poll or select waits for
 */
int cp_threads_now_write(struct cp_sink *sink);

#endif
