/* A task in which the collector works with descriptors of its own.
 *
 * What the collector's thread opened in the program's table would take, for microseconds, the
 * number that the program's next open was to get; an end of the program's own fcntl locks on a file
 * would come with our closing of it, and a fork would copy it. So the thread makes a task that
 * shares all with it (memory, TLS, signal handlers, working directory) but the table of
 * descriptors, which is empty; meanwhile it waits, and does what needs the program's table: writing
 * lines to stderr. It stays to be the thread that libc knows, and may be the last one.
 *
 * Credentials belong to a task; libc's setuid reaches the threads it knows, the collector's among
 * them, by a signal. That ends the wait, and the task is made anew. A signal that came when the
 * thread was not in its wait is noticed within a second, by what it changed.
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
	/* In the thread: write N bytes, a line, to descriptor 2. */
	void (*line)(const char *text, size_t n);
};

/* Run the loop until it is done; where the kernel makes no such task, in the calling thread
 * itself. All signals but libc's own are blocked. The collector's thread only. */
void cp_worker_run(const struct cp_worker_work *work);
/* The loop is to return as soon as it can. In the loop. */
bool cp_worker_is_stale(void);
/* Id of the task, 0 when there is none. Any context. */
int cp_worker_tid(void);
/* Is the caller that task? Then the thread is given the line, and true comes back
 * when it is written. Any context. */
bool cp_worker_line(const char *text, size_t n);
/* What ended may still count for the kernel, and unshare then fails. Until task TID, which is on
 * its way out, no longer does; with a bound, for somebody else may have got that id meanwhile. */
void cp_worker_wait_gone(int tid);
/* After a fork, in the child: there is no such task. */
void cp_worker_fork_child(void);

#endif
