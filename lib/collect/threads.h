/* SPDX-License-Identifier: BSD-3-Clause */
/* The begin and end of threads: the main thread, threads made by pthread_create or thrd_create, and
 * threads that only /proc/self/task shows.
 */
#ifndef CP_THREADS_H
#define CP_THREADS_H

#include <pthread.h>
#include <stdbool.h>

#include "sample/thread.h"

/* Register the calling thread if it is not registered: main in the constructor, the caller of
 * cprof_start or cprof_thread_pause. A record that the sweep made for it ends. Ordinary context. */
void cp_threads_register(void);
/* Return a record for a thread about to be created, for use as the argument of cp_threads_entry.
 * Returns NULL if the thread must be created without a record; the sweep then finds it. */
struct cp_thread *cp_threads_prepare(const pthread_attr_t *attr, void *(*start)(void *),
				     void *argument);
void *cp_threads_entry(void *record);
/* The same for thrd_create, where START returns int. */
struct cp_thread *cp_threads_prepare_c11(int (*start)(void *), void *argument);
int cp_threads_entry_c11(void *record);
/* Return true if the main thread has ended, through pthread_exit or by its own system call. */
bool cp_threads_main_ended(void);
/* End the record of the calling thread, which is about to end with STATUS by its own system call.
 * Any context with libc's TLS. */
void cp_threads_end_raw(int status);
/* Return true if some thread has ended by its own system call. libc then can't see which thread is
 * the last one. */
bool cp_threads_ended_raw(void);
/* Return the exit status that the last ended thread gave to the kernel. */
int cp_threads_last_status(void);
/* Return true if main has ended by its own system call, which no function of the profiler sees. The
 * collector asks for this, and then calls cp_threads_end_main. */
bool cp_threads_main_is_lost(void);
void cp_threads_end_main(int status);
/* Register the calling thread, which the sweep has not found yet, as the sweep would, and begin it
 * for the modes. Returns NULL if that is impossible now, if too many threads registered between two
 * sweeps, or if the thread does not belong to the program. Any context, also one without libc's
 * TLS. */
struct cp_thread *cp_threads_register_foreign(void);
/* Reset the limit of cp_threads_register_foreign, after a sweep has ended the records of ended
 * threads. */
void cp_threads_reset_registered(void);
/* Keep threads from registering themselves while the sweep registers one. Signals are blocked. */
void cp_threads_registration_begin(void);
void cp_threads_registration_end(void);
/* Return true if the program has only one thread. */
bool cp_threads_alone(void);
/* Call in a fork child, where only the calling thread is left. */
void cp_threads_fork_child(void);

#endif
