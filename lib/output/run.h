/* SPDX-License-Identifier: BSD-3-Clause */
/* One mode while it is on: what was collected since its start, and the name of its file. */
#ifndef CP_RUN_H
#define CP_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/aggregate.h"
#include "settings/config.h"
#include "symbols/modules.h"
#include "profile/names.h"
#include "sample/counters.h"
#include "profile/tick_rate.h"

/* Most consumers of a run. */
#define CP_RUN_CONSUMERS 32
/* The changes of settings that are told. */
#define CP_RUN_CHANGES 4

struct cp_mode_ops;

/* Somebody who takes windows of a run: what has happened since the last window is the next one. */
struct cp_consumer {
	uint64_t id;	       /* not 0 */
	uint64_t until;	       /* monotonic ns: the client is forgotten then */
	bool last;	       /* at the process's end it gets the rest: session/last_window.h */
	bool follows;	       /* its first window began with the mode, and it takes them all */
	int peer;	       /* its process id; 0 = out of sight */
	struct cp_vec base;    /* struct cp_aggregate_base: the rows at the begin of the window */
	struct cp_vec written; /* the same for the next window, until the client has this one */
	struct cp_run_begin {
		uint64_t utc_ns, ns; /* wall clock; monotonic */
		struct cp_tick_rate_pair ticks;
		uint64_t cpu_ns, own_ns;
		uint64_t records, weight; /* of the aggregate */
		uint64_t counted[CP_COUNTS];
		struct cp_vec own;   /* uint64_t: what the mode counts itself (mode_ops.h) */
		struct cp_vec spans; /* cp_spans_count */
		uint64_t refused, lost_spans; /* labels and spans of the process, not kept */
	} begin, next;			      /* of the window, and of the next one */
};

struct cp_run {
	const struct cp_mode_ops *ops;
	enum cprof_mode mode;
	bool running; /* begun, and not yet released: samples are taken */
	/* The run whose aggregate and names are written: this run, or its parent's (mode_ops.h,
	 * VIEW). */
	struct cp_run *rows;
	struct cp_aggregate aggregate;
	struct cp_names names;
	char path[CP_PATH_MAX]; /* absolute path of the file at exit; all templates but %n are
				   expanded */
	bool nofile;		/* nothing is ever written to PATH */
	bool owner;		/* this process was started with the path's variable */
	bool unique;		/* PATH contains the pid (%p) */
	unsigned sequence;	/* number of files that this pid wrote before its last exec */
	const char *reason;	/* says why the current dump is written; NULL = not told */
	bool late;		/* started from outside, while the program ran */
	bool claimed;		/* this run wrote the file at PATH, and may replace it */
	uint64_t inode;		/* of that file */
	unsigned dumps; /* numbered dumps so far, including those of earlier runs in this process */
	uint64_t process_utc_ns;	 /* of an exec'd program: when its process began; else 0 */
	uint64_t start_utc_ns, start_ns; /* wall clock; monotonic */
	struct cp_tick_rate_pair start_ticks; /* near start_ns */
	uint64_t start_cpu_ns;		      /* the process's CPU time at the start */
	uint64_t written_records;	      /* aggregate.records at the last write to PATH */
	uint64_t written_ns;		      /* monotonic: of that; 0 = never */
	bool said_lacks;		      /* a message has told that data is missing */
	uint64_t own_base_ns;		      /* cp_own_time at the start */
	uint64_t base[CP_COUNTS];	      /* counters at the start */
	struct cp_vec consumers;	      /* struct cp_consumer: consumers.h */
	/* Settings that were changed while the mode was on, as "KEY=VALUE, before: VALUE"; of more
	 * changes, the last ones: change N is at N modulo their number. */
	struct cp_run_change {
		uint64_t at_ns; /* monotonic */
		char text[72];
	} changes[CP_RUN_CHANGES];
	unsigned change_count;
	bool gave_up;			  /* some rows: what is in the aggregate is not all */
	const struct cp_consumer *window; /* of a view of one window: whose; NULL otherwise */
};

/* The functions below tell of a window from its begin to its end, if R is a view of one
 * (consumers.h).
 */

/* Make R empty and start its clocks. All runs share MODULES. */
void cp_run_begin(struct cp_run *r, struct cp_modules *modules);
void cp_run_release(struct cp_run *r);

/* Return the CPU time of the process since the start of R, and its wall time, in ns. */
uint64_t cp_run_cpu_ns(const struct cp_run *r);
uint64_t cp_run_length_ns(const struct cp_run *r);
/* Returns cp_own_time since the start of R, for all modes together. */
uint64_t cp_run_own_cpu(const struct cp_run *r);

/* Returns the time spent in signal handlers in ns, estimated from the handlers that were timed. */
uint64_t cp_run_handler_ns(const struct cp_run *r);
/* Returns the same for the hooks of R's mode, which took ALL samples. */
uint64_t cp_run_hooks_ns(const struct cp_run *r, uint64_t all);

/* Returns how often WHAT was counted for R's mode since its start. */
uint64_t cp_run_counted(const struct cp_run *r, enum cp_count what);

void cp_run_release_consumer(struct cp_consumer *c);

#endif
