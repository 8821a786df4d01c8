/* Threads coming and going: the main thread, those that pthread_create or thrd_create
 * makes, and those that only /proc/self/task shows.
 */
#ifndef CP_THREADS_H
#define CP_THREADS_H

#include <pthread.h>
#include <stdbool.h>

#include "sigsafe/thread.h"

/* Register the calling thread if it isn't yet (main in the constructor, the caller of
 * cprof_start or cprof_thread_pause); a record that the sweep made for it ends. Ordinary
 * context. */
void cp_threads_adopt(void);
/* A record for a thread about to be created, and the function to start it with; NULL: create
 * it plainly, it is then found by the sweep. */
struct cp_thread *cp_threads_prepare(const pthread_attr_t *attr, void *(*start)(void *),
				     void *argument);
void *cp_threads_entry(void *record);
/* The same for thrd_create, whose START returns int. */
struct cp_thread *cp_threads_prepare_c11(int (*start)(void *), void *argument);
int cp_threads_entry_c11(void *record);
/* main() has ended: through pthread_exit, or by a system call of its own. */
bool cp_threads_main_ended(void);
/* The calling thread is about to end with STATUS by a system call of its own: its record ends. Any
 * context with libc's TLS. */
void cp_threads_end_raw(int status);
/* Some thread has ended so: libc won't see who is the last one. */
bool cp_threads_ended_raw(void);
/* What the thread that ended last said to the kernel. */
int cp_threads_last_status(void);
/* Main has ended so, and nobody told us; then who noticed, the collector, says that it ended. */
bool cp_threads_main_is_lost(void);
void cp_threads_end_main(int status);
/* The same for a thread that the sweep has not found yet, as the sweep would; it begins the thread
 * for the modes. NULL: not now, too many between two sweeps, or it is none of ours. Any context,
 * also one without libc's TLS. */
struct cp_thread *cp_threads_meet(void);
/* A sweep has ended the records of those that are gone: there may be so many again. */
void cp_threads_meet_more(void);
/* While the sweep registers a thread, none registers itself. Signals are blocked. */
void cp_threads_adoption_begin(void);
void cp_threads_adoption_end(void);
/* From here on no system call is made for threads that begin or end. */
void cp_threads_retire(void);
/* The program has no thread but one. */
bool cp_threads_alone(void);
/* After a fork, in the child: only the calling thread is left. */
void cp_threads_fork_child(void);

#endif
