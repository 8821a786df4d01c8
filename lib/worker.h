/* A task in which the collector works with descriptors of its own.
 *
 * What a thread of ours opened in the program's table would take, for microseconds, the number that
 * the program's next open was to get; an end of the program's own fcntl locks on a file would come
 * with our closing of it, and a fork would copy it. So the collector is a task that shares all with
 * the program (memory, signal handlers, working directory) but the table of descriptors, which is
 * empty. libc doesn't know it: TLS is its own (task_tls.h), all signals are blocked.
 *
 * In a program of one thread that is all (cp_worker_begin): libc must not take the program for one
 * of several, which locks where nobody else is. What needs the program's table (lines to stderr)
 * gets the descriptor from the kernel; and who changes credentials ends the task first.
 *
 * In a program of several, a thread of libc's stands behind it (cp_worker_run): it waits, and
 * writes the lines. It stays to be the thread that libc knows, and may be the last one. Credentials
 * belong to a task; libc's setuid reaches the threads it knows, the collector's among them, by a
 * signal. That ends the wait, and the task is made anew. A signal that came when the thread was not
 * in its wait is noticed within a second, by what it changed. A task that is there already when the
 * program gets its second thread goes on: nobody waits for what it is doing.
 */
#ifndef CP_WORKER_H
#define CP_WORKER_H

#include <stdbool.h>
#include <stddef.h>

struct cp_worker_work {
	/* In the task. true: all is done; false: it came back because cp_worker_is_stale. */
	bool (*loop)(void);
	/* In the thread: ends the loop's sleep, so that it looks. */
	void (*wake)(void);
	/* Write N bytes, a line, to FD, which is the program's descriptor 2. */
	void (*line)(int fd, const char *text, size_t n);
};

/* Run the loop in a task behind which is no thread, with the caller's credentials. 0 or a negative
 * errno. */
int cp_worker_begin(const struct cp_worker_work *work);
/* The loop was told to end: wait until the task begun so is gone. */
void cp_worker_end(void);
/* Lines that the task could not write. By a thread of the program; any context but the
 * collector's lock. */
void cp_worker_write_rest(void);

/* Run the loop until it is done; where the kernel makes no such task, in the calling thread
 * itself. With ADOPT it runs since cp_worker_begin. All signals but libc's own are blocked. The
 * collector's thread only. */
void cp_worker_run(const struct cp_worker_work *work, bool adopt);
/* The loop is to return as soon as it can. In the loop. */
bool cp_worker_is_stale(void);
/* Id of the task, 0 when there is none. Any context. */
int cp_worker_tid(void);
/* Is the caller that task? Then the line is written, or kept for cp_worker_write_rest, and true
 * comes back. Any context. */
bool cp_worker_line(const char *text, size_t n);
/* What ended may still count for the kernel, and unshare then fails. Until task TID, which is on
 * its way out, no longer does; with a bound, for somebody else may have got that id meanwhile. */
void cp_worker_wait_gone(int tid);
/* After a fork, in the child: there is no such task. */
void cp_worker_fork_child(void);

#endif
