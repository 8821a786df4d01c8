/* SPDX-License-Identifier: BSD-3-Clause */
/* The interface of a mode: how the mode is started, how it hears of threads, and what its file
 * holds.
 *
 * Each mode defines one instance in its own folder. modes.c lists the instances. runs.c starts and
 * stops modes, threads.c announces threads, drain.c drains, dump.c and encode.c write. A function
 * that a mode doesn't need is NULL.
 */
#ifndef CP_MODE_H
#define CP_MODE_H

#include <stdint.h>

#include "cprof.h"
#include "settings/config.h"
#include "output/encode.h"
#include "output/pprof.h"
#include "output/run.h"
#include "sample/mode.h"
#include "sample/thread.h"

struct cp_comments;
struct cp_config_mode;
struct cp_module_diff;

/* Defines the part NAME for thread_label below. */
#define CP_THREAD_LABEL(name)                                                                      \
	extern const uint64_t name CP_THREAD_PART;                                                 \
	const uint64_t name = 0

/* A sum that a mode tells of. */
struct cp_mode_number {
	const char *key; /* "in_use_bytes" */
	uint64_t value;
};
#define CP_MODE_NUMBERS 4

struct cp_mode_ops {
	const char *name; /* "cpu"; a companion's name is part of its file's name: NAME.peak.EXT */
	const char *suffix;	/* takes its place there; NULL = the name */
	enum cprof_mode parent; /* of a companion, which is on whenever its parent is; other modes:
				the mode itself */
	bool view;		/* the companion shows its parent's rows with other values */

	/* The variables and options; NULL for a companion, which has its parent's. */
	const struct cp_config_mode *settings;

	/* The file: sample types, count first. */
	struct cp_pprof_type types[CP_VALUES];
	unsigned type_count;
	unsigned default_type; /* the number of the default type, from 1; 0 = the last */
	/* The types whose values are of the moment of the dump, as bits. The values of all others
	 * are sums since the start of the run: they never get less while the run lasts, because a
	 * window is their difference. The further types are of the moment, too. */
	unsigned moments;
	/* Further types, which some files have after the others, and how many of them R's file has;
	 * the values of row number ROW. None of them is the default one. */
	const struct cp_pprof_type *more; /* CP_ENCODE_MORE at the most */
	unsigned (*more_types)(const struct cp_run *r);
	void (*more_values)(const struct cp_run *r, uint32_t row, uint64_t *values);
	struct cp_pprof_type period_type;
	/* A regular expression for the leaves that say no more than the file's type does, such as
	 * malloc in a heap profile. pprof leaves the functions out whose whole name matches, and
	 * everything below them, so that its first table begins with the program's functions. NULL
	 * = none. */
	const char *drop_frames;
	/* The period that was achieved, in period_type's unit. */
	uint64_t (*period)(const struct cp_run *r);
	/* Adds the labels of row S, besides those of its thread and of CPROF_LABELS. */
	void (*labels)(const struct cp_run *r, const struct cp_stack *s,
		       struct cp_encode_labels *to);
	/* Adds the mode's comments: settings, losses, costs. Counts are those of R's window, if R
	 * is one: cp_run_counted and cp_run_own tell them. */
	void (*report)(struct cp_comments *out, const struct cp_run *r, const struct cp_config *c);

	/* Adds the numbers that REPORT tells of besides the counters (counters.h) to TO, a vector
	 * of uint64_t: sums since the start of the run, always in the same places. Called after
	 * SETTLE.
	 */
	void (*count)(const struct cp_run *r, struct cp_vec *to);

	/* Is this companion on with its parent? NULL = always. */
	bool (*wanted)(const struct cp_config *c);

	/* Does every file of the mode and its companions have the pid in its name? NULL = no. */
	bool (*has_pid)(const struct cp_config *c);

	/* The mode is about to start; C has its path. Ordinary context, without the lock. */
	void (*prepare)(const struct cp_config *c);
	/* The session has started with this mode on, and not for a signal to toggle. Ordinary
	 * context, without the lock; prints what the user should know. */
	void (*started)(void);
	/* The same with CPROF_VERBOSE=1. */
	void (*started_verbose)(void);

	/* Does the mode sample by SIGPROF? START then calls cp_signals_claim_prof. */
	bool by_sigprof;

	/* Both run under the collector's lock. start returns 0 or a negative errno; R has begun and
	 * is empty. */
	int (*start)(struct cp_run *r, const struct cp_config *c);
	/* Must stop run in a thread that libc knows, because it calls functions of the program?
	 * NULL = no. */
	bool (*needs_thread)(void);
	void (*stop)(struct cp_run *r);
	/* Goes on with the settings of C that are marked LIVE (config_rows.h). What was recorded so
	 * far keeps its weight. Runs under the collector's lock, after a drain. Returns 0, or
	 * -EOPNOTSUPP if this change needs a new start. NULL = no setting can be changed. */
	int (*set)(struct cp_run *r, const struct cp_config *c);
	/* A drain begins: it takes the events that exist at this moment. The list of modules is
	 * read afterwards, so that it covers all of these events. */
	void (*mark)(void);
	/* Tells the exact totals of this moment (profile/strata.h). Called right before the rings
	 * are marked, so that totals and samples are of the same events. */
	void (*totals)(struct cp_run *r);
	/* Adds events that aren't in rings to R, in every drain. */
	void (*collect)(struct cp_run *r);
	/* A drain has ended: there may be new rows, and the modules that they lead through may be
	 * about to go away. */
	void (*drained)(struct cp_run *r);
	/* Calls SEE for each number of a row of R that the mode keeps, which SEE may change: rows
	 * that nobody needs are given up, and the others get new numbers. */
	void (*rows)(struct cp_run *r, void (*see)(uint32_t *row, void *arg), void *arg);
	/* A dump to R's file or a window is about to begin: bring values up to date that must be
	 * exact there. Called after collect. */
	void (*settle)(struct cp_run *r);
	/* Writes R's rows as the text that gperftools' functions return. */
	int (*text)(struct cp_run *r, struct cp_sink *to);
	/* Numbered dump NUMBER of R was written, or failed with ERR. */
	void (*dumped)(struct cp_run *r, unsigned number, int err);
	/* Writes sums of R that are known without a drain to TO, which has room for
	 * CP_MODE_NUMBERS. Returns how many. For the control socket. */
	unsigned (*numbers)(const struct cp_run *r, struct cp_mode_number *to);
	/* Changes what differs from the other modes in S, the statistics of R. */
	void (*stats)(const struct cp_run *r, struct cprof_stats *s);
	/* Both run on the collector's thread, with the lock held. due returns when TICK wants to
	 * run next (monotonic ns; UINT64_MAX = never). tick does the work. */
	uint64_t (*due)(void);
	void (*tick)(struct cp_run *r);

	/* The part of a thread's record (CP_THREAD_LABEL) that keeps the thread's number in the
	 * run's aggregate, plus 1. NULL = the mode's samples carry no thread and never come in
	 * rings. */
	const uint64_t *thread_label;
	/* Called for a record of T's ring before the record is taken; NULL = only count and weight
	 * are summed. */
	void (*record)(struct cp_run *r, struct cp_thread *t, const struct cp_record *record);
	/* Called in a drain for a record of a ring that is about to be added: changes its count and
	 * weight into those of the rows. NULL = they are the same. */
	void (*convert)(struct cp_record *record);
	/* T has ended and its rings are empty: its record is about to be released. Called in a
	 * drain. */
	void (*thread_released)(struct cp_run *r, struct cp_thread *t);

	/* Are there events that aren't in rings and that a drain would move? Any context. */
	bool (*has_more)(void);

	/* A registered thread begins or ends. Called on that thread, or by the sweep. */
	void (*thread_begin)(struct cp_thread *t);
	void (*thread_end)(struct cp_thread *t);
	/* The calling thread has ended, and has no record any more. */
	void (*thread_left)(void);
	/* T has ended and has no rings. If the mode needs its record until GONE, this sets T's
	 * state to CP_THREAD_ENDED and returns true. */
	bool (*keep)(struct cp_thread *t);
	/* The calling thread has been paused, or has its first label. */
	void (*thread_changed)(void);
	/* A module was unloaded: modules went away, U; the gate is still closed. */
	void (*unloaded)(struct cp_module_diff *u);
	/* Called in the parent before a fork. */
	void (*fork_begin)(void);
	/* Called in a fork child. KEEP is the only thread left; NULL: the mode is off in this
	 * process from now on. R has been begun anew, because the parent's samples don't belong to
	 * the child. */
	void (*fork_child)(struct cp_run *r, struct cp_thread *keep);
	/* Called around exec in this process. */
	void (*exec_begin)(void);
	void (*exec_failed)(void);
};

/* The modes by number; NULL where there is no mode. */
extern const struct cp_mode_ops *const cp_modes[CP_MODES];

/* Set the table of modes that the functions below use; no modes until then. The rooms before the
 * modes know them by this table. Call before the first thread is registered. */
void cp_mode_ops_set(const struct cp_mode_ops *const modes[CP_MODES]);
/* Return the first mode of the table, and the mode that follows M in the order of their numbers;
 * CP_MODES: no more. Any context. */
unsigned cp_mode_ops_first(void);
unsigned cp_mode_ops_after(unsigned m);
/* Call this function of every mode that was built and has one, whether the mode is on or off. */
bool cp_mode_ops_has_more(void);
void cp_mode_ops_thread_left(void);
void cp_mode_ops_thread_changed(void);
void cp_mode_ops_unloaded(struct cp_module_diff *u);
void cp_mode_ops_fork_begin(void);
/* Returns true if a mode keeps the record. */
bool cp_mode_ops_keep(struct cp_thread *t);
void cp_mode_ops_thread_begin(struct cp_thread *t);
void cp_mode_ops_thread_end(struct cp_thread *t);
void cp_mode_ops_exec_begin(void);
void cp_mode_ops_exec_failed(void);

#endif
