/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of lib/session/, by the file that implements them. */
#ifndef CP_SESSION_WINDOW_H
#define CP_SESSION_WINDOW_H

#include "collect/collect.h"

/* last_window.c
 *
 * Gives the last window to clients when a program ends or execs. */

/* Sends each consumer that listens (base/control.h) its last window: what came after the one
 * before. All samples are drained. Doesn't wait: a consumer that can't be reached at once loses its
 * window. If an exec fails afterwards, the next window begins where this one ended. Under the
 * collector's lock. */
void cp_last_window_send(void);

/* window.c
 *
 * The time in which samples are taken: one window from start to stop, or several if a signal
 * toggles. session.c and process.c run these functions under the collector's lock.
 *
 * Each function is for cp_collect_run, which holds the lock. ARG is a struct cp_window_call.
 */

struct cp_helper;

/* Profiles of one moment, one after the other in MEMORY. */
struct cp_window_list {
	struct cp_memory_sink *memory;
	unsigned count;
	uint8_t modes[CP_MODES];
	uint64_t bytes[CP_MODES]; /* out: lengths; 0 = the mode isn't on */
};

/* Returns the modes of L as bits. */
uint32_t cp_window_list_modes(const struct cp_window_list *l);

struct cp_window_call {
	const char *when; /* "at exit", for messages; for a numbered dump: the reason, or NULL */
	enum cprof_mode mode;	     /* for a dump to PATH or SINK */
	const char *path;	     /* for a dump, or NULL */
	struct cp_sink *sink;	     /* for a dump, or NULL */
	struct cp_window_list *list; /* for a dump of several modes, or NULL */
	bool before_exec;
	bool as_text;			/* for a dump of the heap to SINK */
	uint64_t since_ns;		/* for a dump, as in struct cp_run */
	uint32_t modes;			/* for a numbered dump: CP_REQUEST_DUMP_OF */
	const struct cp_config *config; /* the modes to add */
	uint64_t until; /* for the modes to add: when they end; see struct cp_session */
	bool late;	/* the modes to add are started from outside */
	bool discard;	/* the mode that ends leaves no file */
	struct cprof_stats *stats;
	void (*failed)(unsigned mode,
		       int err);  /* called if a mode could not begin; NULL: RESULT tells */
	struct cp_helper *helper; /* result: the helper that was started, or NULL */
	int result;		  /* out: 0 or the first negative errno */
};

/* Begins every mode that is wanted, except the modes that a signal begins. */
void cp_window_begin(void *arg);
/* Begins the modes that CONFIG names, all or none. */
void cp_window_add(void *arg);
/* Ends MODE and its companions, and writes their files. */
void cp_window_end_mode(void *arg);
/* Ends all modes, writes the files, and drops the collected samples. */
void cp_window_end(void *arg);
/* Ends all modes without a file, after a failed start. ARG is not used. */
void cp_window_abandon(void *arg);
/* Writes the files at the runs' own paths, after serving the toggles that were requested of the
 * collector. Before an exec, only files that have samples, and the last windows are handed over
 * (last_window.c). */
void cp_window_write(void *arg);
/* The same at the end of the process; also starts the helper on the files that were written. */
void cp_window_finish(void *arg);
/* At the end of the process: serves the dump requests that the collector no longer serves. ARG is
 * not used. */
void cp_window_asked(void *arg);
/* Writes MODE to PATH or SINK, the modes of LIST, or all modes to the next number. -ESRCH if no
 * mode of them is on. */
void cp_window_dump(void *arg);
/* Drains the rings, and settles MODES, a bit for each: what is written next is of this moment.
 * Under the collector's lock. */
void cp_window_settle(uint32_t modes);
#define CP_WINDOW_EVERY UINT32_MAX
/* Drains the rings. ARG is not used. */
void cp_window_drain(void *arg);
/* Drains the rings and records which modules are loaded. ARG is a uint64_t, from
 * cp_module_diff_loads. */
void cp_window_drain_unloading(void *arg);
/* Copies the statistics of MODE's open window, or of its last one, into STATS. */
void cp_window_stats(void *arg);

/* Note that the toggle signal came. The collector toggles when it is next asked to. Any context. */
void cp_window_note_toggle(void);
/* Call in a fork child: forget the toggle signals that the parent got. */
void cp_window_forget_toggles(void);

/* Plan the next checkpoint: at a start of the session, and in a fork child. */
void cp_window_plan_checkpoint(void);

/* The session's work in the collector; see struct cp_collect_work. */
void cp_window_serve(uint32_t requests);
uint64_t cp_window_due(void);

/* window_take.c
 *
 * Windows that other processes take of a mode: what happened since the same consumer's last window.
 *
 * Each function is for cp_collect_run, which holds the lock. ARG is a struct cp_window_take.
 */

struct cp_window_take {
	/* The mode, and companions of it that are wanted, too: those that aren't on are left out.
	 */
	struct cp_window_list list;
	uint64_t consumer; /* the number that the client drew */
	uint64_t until;	   /* monotonic ns: time at which the consumer is forgotten */
	uint64_t since;	   /* END of the client's last window; 0 = it has none */
	bool write;	   /* write the window; false: begin one */
	uint64_t end;	   /* out: monotonic ns */
	int peer;	   /* process id of the client; 0 = it is in another pid namespace */
	bool all;	   /* begin at the mode's start, if no row was given up since */
	bool last;	   /* the client listens for the rest at the process's end */
	bool received;	   /* argument of cp_window_take_confirm */
	int result;	   /* out: 0 or a negative errno: base/control.h */
};

/* Writes the consumer's windows to LIST, or begins them, at one moment. RESULT is the first
 * one's. */
void cp_window_take(void *arg);
/* The client has the window that cp_window_take wrote, if RECEIVED; else the consumer's next window
 * has its contents, too. Gives up rows that nobody needs. */
void cp_window_take_confirm(void *arg);
/* Forgets the consumer in the mode and all its companions. A mode without a file ends with its last
 * consumer. */
void cp_window_take_end(void *arg);

#endif
