/* The time in which samples are taken: one from start to stop, or several where a signal
 * toggles it. What session.c and process.c have done under the collector's lock.
 *
 * Each function is for cp_collect_run: it has the lock, and ARG is a struct cp_window_call.
 */
#ifndef CP_WINDOW_H
#define CP_WINDOW_H

#include "collect.h"
#include "sink.h"

struct cp_window_call {
	const char *when;     /* "at exit", for messages */
	const char *path;     /* of a dump, or NULL */
	struct cp_sink *sink; /* of a dump, or NULL */
	int result;	      /* out: 0 or a negative errno */
};

/* Begin, unless a signal is to do that. */
void cp_window_begin(void *arg);
/* End, write the file, forget what was collected. */
void cp_window_end(void *arg);
/* Write the file at the run's own path. */
void cp_window_write(void *arg);
/* Write to PATH, SINK, or the next number. -ESRCH when no window is open. */
void cp_window_dump(void *arg);
/* Move what the rings hold. ARG is not used. */
void cp_window_drain(void *arg);
/* ARG is a struct cprof_stats: of the open window, or the last one. */
void cp_window_stats(void *arg);

/* In a fork child, without the lock: an empty window under the child's name. 0, or -ENAMETOOLONG.
 */
int cp_window_fork_child(void);

/* What the collector's thread does for us. */
extern const struct cp_collect_work cp_window_work;

#endif
