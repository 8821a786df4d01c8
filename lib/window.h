/* The time in which samples are taken: one from start to stop, or several where a signal
 * toggles it. What session.c and process.c have done under the collector's lock.
 *
 * Each function is for cp_collect_run: it has the lock, and ARG is a struct cp_window_call.
 */
#ifndef CP_WINDOW_H
#define CP_WINDOW_H

#include <stdbool.h>

#include "collect.h"
#include "sigsafe/mode.h"
#include "sink.h"

struct cp_helper;

struct cp_window_call {
	const char *when;     /* "at exit", for messages */
	enum cp_mode mode;    /* of a dump to PATH or SINK */
	const char *path;     /* of a dump, or NULL */
	struct cp_sink *sink; /* of a dump, or NULL */
	bool only_with_samples;
	bool as_text;			/* of a dump of the heap to SINK */
	uint32_t modes;			/* of a dump to the next number: CP_REQUEST_DUMP_OF */
	const struct cp_config *config; /* of modes to add */
	struct cprof_stats *stats;
	void (*failed)(unsigned mode, int err); /* a mode could not begin; NULL: RESULT tells */
	struct cp_helper *helper;		/* out: the one that was started, or NULL */
	int result;				/* out: 0 or the first negative errno */
};

/* Begin every mode that is wanted, but for what a signal is to begin. */
void cp_window_begin(void *arg);
/* Begin the modes that CONFIG names, all or none. */
void cp_window_add(void *arg);
/* End MODE and its companions, and write their files. */
void cp_window_end_mode(void *arg);
/* End, write the files, forget what was collected. */
void cp_window_end(void *arg);
/* End without a file: a start that failed half-way. ARG is not used. */
void cp_window_abandon(void *arg);
/* Write the files at the runs' own paths, behind the toggles that the collector was asked for. */
void cp_window_write(void *arg);
/* The same at the end of the process, and start the helper on what was written. */
void cp_window_finish(void *arg);
/* At an end: dumps that the collector was asked for, and does no more. ARG: nothing. */
void cp_window_asked(void *arg);
/* Write MODE to PATH or SINK, or all modes to the next number. -ESRCH when none is on. */
void cp_window_dump(void *arg);
/* Move what the rings hold. ARG is not used. */
void cp_window_drain(void *arg);
/* The same, and what modules there are is known then. ARG: uint64_t, of cp_unloaded_loads. */
void cp_window_drain_unloading(void *arg);
/* Of MODE's open window, or its last one, into STATS. */
void cp_window_stats(void *arg);

/* In a fork child, without the lock: empty runs under the child's name. */
void cp_window_fork_child(void);

/* What the collector does for us; see struct cp_collect_work. */
void cp_window_serve(uint32_t requests);
uint64_t cp_window_due(void);

#endif
