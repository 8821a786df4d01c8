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

struct cp_run {
	struct cp_modules modules;
	struct cp_aggregate aggregate;
	struct cp_names names;
	char path[CP_PATH_MAX]; /* absolute, templates expanded but %n; of the file at exit */
	bool owner;		/* the process that was started with the variable */
	bool unique;		/* PATH holds the pid by itself (%p) */
	unsigned sequence;	/* files that this pid wrote before its last exec */
	bool claimed;		/* our name exists and is ours: it may be replaced */
	unsigned dumps;		/* numbered dumps so far */
	uint64_t start_utc_ns, start_ns; /* wall clock; monotonic */
	uint64_t start_cpu_ns;		 /* the process's CPU time at the start */
	uint64_t written_records;	 /* aggregate.records at the last write to PATH */
	bool written;			 /* PATH was written at all */
	uint64_t own_cpu_ns;		 /* CPU time of drains and dumps that ended */
	uint64_t work_began;		 /* CPU clock of the thread that is at work now; 0 = none */
	uint64_t base[CP_COUNTS];	 /* counters at the start */
};

/* Empty, its clocks started now. */
void cp_run_begin(struct cp_run *r);
void cp_run_release(struct cp_run *r);

/* A clock's time in ns, by system call or vdso; any context. */
uint64_t cp_run_clock(int clock);

/* Around every drain and dump, on the thread that does it: its CPU time is ours. */
void cp_run_work_begin(struct cp_run *r);
void cp_run_work_end(struct cp_run *r);
/* CPU time of drains and dumps up to now. */
uint64_t cp_run_own_cpu(const struct cp_run *r);

/* CPU time spent in handlers, estimated from those that were timed. */
uint64_t cp_run_handler_ns(const struct cp_run *r);

/* How often WHAT was counted since the start of R. */
uint64_t cp_run_counted(const struct cp_run *r, enum cp_count what);

#endif
