/* SPDX-License-Identifier: BSD-3-Clause */
/* A task in which the collector works with its own table of descriptors.
 *
 * If a profiler thread opened a file in the program's table, it would take, for microseconds, the
 * number that the program's next open must get. Closing the file would release the program's own
 * fcntl locks on it, and a fork would copy the descriptor. So the collector is a task that shares
 * everything with the program (memory, signal handlers, working directory) except the table of
 * descriptors, which is empty. (Exception: a program that has asked for a message queue's
 * notification; see cp_worker_stay_in_table.) libc does not know the task: it has its own TLS
 * (worker.c), and all signals are blocked.
 *
 * Nearly always there is only the task, a raw task (cp_worker_begin): libc would call the program's
 * malloc to make a thread, and would take a program of one thread for a multi-threaded one, which
 * would lock where no other thread exists. Work that needs the program's table (lines to stderr)
 * gets the descriptor from the kernel. Code that changes credentials ends the task first.
 *
 * Where the program's changes of credentials don't pass through the profiler, because libcprof was
 * loaded late or privately, a libc thread is attached to the task (cp_worker_run): it waits for the
 * task and writes the lines. It is the thread that libc knows, and it may be the last one.
 * Credentials belong to a task; libc's setuid reaches the threads it knows, including the
 * collector's, by a signal. The signal ends the wait, and the task is made anew. A signal that
 * arrived while the thread was not waiting is noticed within a second, by the changed credentials.
 */
#ifndef CP_WORKER_H
#define CP_WORKER_H

#include <stdbool.h>
#include <stddef.h>

struct cp_worker_work {
	/* The loop; runs in the task. Returns true if all is done, false if it returned because of
	 * cp_worker_is_stale. */
	bool (*loop)(void);
	/* Wake the loop, so that it looks for requests; runs in the thread. */
	void (*wake)(void);
	/* Write N bytes, a line, to FD, which is the program's descriptor 2. */
	void (*line)(int fd, const char *text, size_t n);
};

/* Run the loop in a task without a libc thread, with the caller's credentials. Returns 0 or a
 * negative errno. */
int cp_worker_begin(const struct cp_worker_work *work);
/* Wait until the task of cp_worker_begin is gone. The loop was already told to end. */
void cp_worker_end(void);
/* Write the lines that the task could not write. Call in a thread of the program, in any
 * context, with the collector's lock held. */
void cp_worker_write_rest(void);

/* Run the loop until it is done: in a task or, where the kernel makes no such task, in the calling
 * thread. All signals but libc's own are blocked. The collector's thread only. */
void cp_worker_run(const struct cp_worker_work *work);
/* Return true if the loop must return as soon as possible. Call in the loop. */
bool cp_worker_is_stale(void);
/* Make sure that no task leaves the program's table from now on. Call before the program asks for a
 * message queue's notification: the kernel drops the notification when any task of the process
 * closes a copy of the queue's descriptor, as a task does that leaves the program's table. Ordinary
 * context. */
void cp_worker_stay_in_table(void);
/* Return true if the loop runs in a task whose table of descriptors is its own. Call in the loop.
 */
bool cp_worker_has_own_table(void);
/* Return the task's id; 0 if there is none. Any context. */
int cp_worker_tid(void);
/* If the caller is the task, write the line, or keep it for cp_worker_write_rest, and return true.
 * Otherwise return false. Any context. */
bool cp_worker_line(const char *text, size_t n);
/* Wait until task TID, which is ending, no longer counts for the kernel; while it counts, unshare
 * fails. The wait is bounded, because another task may have got that id meanwhile. */
void cp_worker_wait_gone(int tid);
/* Forget the task in a fork child, where it does not exist. */
void cp_worker_fork_child(void);

#endif
