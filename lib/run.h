/* One mode while it is on: what was collected since its start, and under which name
 * it is written.
 */
#ifndef CP_RUN_H
#define CP_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregate.h"
#include "config.h"
#include "modules.h"
#include "names.h"
#include "sigsafe/counters.h"
#include "tick_rate.h"

struct cp_gzip_state;
struct cp_mode_ops;

struct cp_run {
	const struct cp_mode_ops *ops;
	enum cp_mode mode;
	bool running; /* begun, and not yet released: samples are taken */
	/* Whose aggregate and names it is written from: its own, or its parent's (mode.h, VIEW). */
	struct cp_run *rows;
	struct cp_aggregate aggregate;
	struct cp_names names;
	char path[CP_PATH_MAX]; /* absolute, templates expanded but %n; of the file at exit */
	bool owner;		/* the process that was started with the variable */
	bool unique;		/* PATH holds the pid by itself (%p) */
	unsigned sequence;	/* files that this pid wrote before its last exec */
	bool claimed;		/* our name exists and is ours: it may be replaced */
	unsigned dumps;		/* numbered dumps so far */
	uint64_t start_utc_ns, start_ns; /* wall clock; monotonic */
	struct cp_tick_pair start_ticks; /* at start_ns */
	uint64_t start_cpu_ns;		 /* the process's CPU time at the start */
	uint64_t written_records;	 /* aggregate.records at the last write to PATH */
	bool written;			 /* PATH was written at all */
	bool said_lacks;		 /* that memory ran out */
	bool has_view;			 /* a companion shows its rows */
	struct cp_gzip_state *beginning; /* of its file, for that one's; or NULL */
	uint64_t own_base_ns;		 /* cp_own_time at the start */
	uint64_t base[CP_COUNTS];	 /* counters at the start */
};

/* Empty, its clocks started now; MODULES are shared by all runs. */
void cp_run_begin(struct cp_run *r, struct cp_modules *modules);
void cp_run_release(struct cp_run *r);

/* cp_own_time since the start of R, for whatever mode. */
uint64_t cp_run_own_cpu(const struct cp_run *r);

/* Time spent in handlers, estimated from those that were timed. */
uint64_t cp_run_handler_ns(const struct cp_run *r);
/* The same of R's mode's hooks, which took ALL samples. */
uint64_t cp_run_hooks_ns(const struct cp_run *r, uint64_t all);

/* How often WHAT was counted for R's mode since its start. */
uint64_t cp_run_counted(const struct cp_run *r, enum cp_count what);

#endif
