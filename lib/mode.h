/* What a mode is to the rest: how it is started and told of threads, what its file holds.
 *
 * One instance a mode, in the mode's own file. modes.c lists them; runs.c starts and stops
 * them, threads.c tells of threads, drain.c drains, dump.c and profile.c write. A function
 * that a mode has no use for is NULL.
 */
#ifndef CP_MODE_H
#define CP_MODE_H

#include <stdint.h>

#include "config.h"
#include "pprof.h"
#include "profile.h"
#include "report.h"
#include "run.h"
#include "sigsafe/mode.h"
#include "sigsafe/thread.h"

struct cp_mode_ops {
	const char *name;    /* "cpu"; a companion's is in its file's name: NAME.peak.EXT */
	enum cp_mode parent; /* of a companion, which is on with it; the mode itself for others */
	bool view;	     /* a companion that shows its parent's rows, with other values */

	/* The file: sample types, count first; the last is the default one. */
	struct cp_pprof_type types[CP_VALUES];
	unsigned type_count;
	struct cp_pprof_type period_type;
	/* What a row's last value counts, in its type's unit; NULL = 1. */
	uint64_t (*unit)(void);
	/* The period that was achieved, in period_type's unit. */
	uint64_t (*period)(const struct cp_run *r);
	/* Labels of row S, besides those of its thread and of CPROF_LABELS. */
	void (*labels)(const struct cp_run *r, const struct cp_stack *s,
		       struct cp_profile_labels *to);
	/* Its comments: settings, losses, costs. */
	void (*report)(struct cp_report *out, const struct cp_run *r, const struct cp_config *c);

	/* Whether a companion is on with its parent; NULL = always. */
	bool (*wanted)(const struct cp_config *c);

	/* Under the collector's lock. start: 0 or a negative errno; R is begun, and empty. */
	int (*start)(struct cp_run *r, const struct cp_config *c);
	void (*stop)(struct cp_run *r);
	/* A drain begins: what is there now is what it takes. The modules are read afterwards, so
	 * that they are known for all of it. */
	void (*mark)(void);
	/* Bring what isn't in rings into R, in every drain. */
	void (*collect)(struct cp_run *r);
	/* After a drain: rows may be new, and what they are of may be about to go. */
	void (*drained)(struct cp_run *r);
	/* A dump to R's file may begin: whatever must be exact in it. After collect. */
	void (*settle)(struct cp_run *r);
	/* On the collector's thread, with the lock: when TICK wants to run next (monotonic ns;
	 * UINT64_MAX = never), and its work. */
	uint64_t (*due)(void);
	void (*tick)(struct cp_run *r);

	/* A record of T's ring, before it is taken; NULL = its count and weight are summed. */
	void (*record)(struct cp_run *r, struct cp_thread *t, const struct cp_record *record);
	/* T has ended and its rings are empty: its record goes. In a drain. */
	void (*gone)(struct cp_run *r, struct cp_thread *t);

	/* A registered thread begins or ends (on that thread, or by the sweep). */
	void (*thread_begin)(struct cp_thread *t);
	void (*thread_end)(struct cp_thread *t);
	/* In a fork child, KEEP is the one thread left (NULL: the mode is off here from now on). R
	 * was begun anew: what the parent had is not the child's. */
	void (*fork_child)(struct cp_run *r, struct cp_thread *keep);
	/* Around exec in this process. */
	void (*exec_begin)(void);
	void (*exec_failed)(void);
};

/* NULL: not built. */
extern const struct cp_mode_ops *const cp_modes[CP_MODES];

extern const struct cp_mode_ops cp_mode_cpu;		       /* cpu_mode.c */
extern const struct cp_mode_ops cp_mode_wall;		       /* wall_mode.c */
extern const struct cp_mode_ops cp_mode_lock, cp_mode_holders; /* lock.c */
extern const struct cp_mode_ops cp_mode_heap;		       /* heap_mode.c */
extern const struct cp_mode_ops cp_mode_mmap;		       /* heap_mode.c */
extern const struct cp_mode_ops cp_mode_peak;		       /* heap_mode.c */

/* All modes that are there; each on may be off by itself. */
void cp_modes_thread_begin(struct cp_thread *t);
void cp_modes_thread_end(struct cp_thread *t);
void cp_modes_exec_begin(void);
void cp_modes_exec_failed(void);

#endif
