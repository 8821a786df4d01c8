/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of lib/output/, by the file that implements them. */
#ifndef CP_OUTPUT_OUTPUT_H
#define CP_OUTPUT_OUTPUT_H

#include "output/pprof.h"
#include "settings/settings.h"
#include "sample/wakes.h"

/* run.c
 *
 * One mode while it is on: its data since its start, and the name of its file. */

/* Most consumers of a run. */
#define CP_RUN_CONSUMERS 32
/* Number of changed settings that a file lists. */
#define CP_RUN_CHANGES 4

struct cp_mode_ops;

/* A client that takes windows of a run. Each window has what happened since the one before. */
struct cp_consumer {
	uint64_t id;	    /* not 0 */
	uint64_t until;	    /* monotonic ns: time at which the client is forgotten */
	bool last;	    /* the client gets the rest at the process's end: session/window.h */
	bool follows;	    /* its first window began with the mode, and it takes all windows */
	int peer;	    /* process id of the client; 0 = not visible here */
	struct cp_vec base; /* struct cp_aggregate_base: the rows at the begin of the window */
	struct cp_vec
		written; /* the same for the next window, kept until the client has this one */
	struct cp_run_begin {
		uint64_t utc_ns, ns; /* wall clock; monotonic */
		struct cp_tick_rate_pair ticks;
		uint64_t cpu_ns, own_ns;
		uint64_t records, weight; /* numbers of the aggregate */
		uint64_t counted[CP_COUNTS];
		struct cp_vec own;   /* uint64_t: the mode's own counts (mode_ops.c) */
		struct cp_vec spans; /* cp_spans_count */
		uint64_t refused,
			lost_spans; /* number of labels refused and of spans lost, of the process */
	} begin, next;		    /* at the begin of the window, and of the next one */
};

struct cp_run {
	const struct cp_mode_ops *ops;
	enum cprof_mode mode;
	bool running; /* begun, and not yet released: samples are taken */
	/* The run whose aggregate and names are written: this run, or its parent's (mode_ops.c,
	 * VIEW). */
	struct cp_run *rows;
	struct cp_aggregate aggregate;
	struct cp_names names;
	struct cp_times times;
	/* Absolute path of the file at exit; all templates but %n are expanded. Not within the run:
	 * a fork's child writes its runs, which so lie on few pages, and mostly no path. */
	char *path;
	bool nofile;	    /* nothing is ever written to PATH */
	bool owner;	    /* this process was itself started with the path's variable */
	bool unique;	    /* PATH contains the pid (%p) */
	unsigned sequence;  /* number of files that this pid wrote before its last exec */
	const char *reason; /* reason for the current dump, for its comments; NULL = none */
	uint64_t since_ns; /* the current dump has only what was from then on, if there is an index;
			      monotonic, 0 = all */
	bool late;	   /* started from outside, while the program ran */
	bool claimed;	   /* this run wrote the file at PATH, and may replace it */
	uint64_t inode;	   /* inode of that file */
	unsigned dumps; /* numbered dumps so far, including those of earlier runs in this process */
	uint64_t process_utc_ns; /* for an exec'd program: time when its process began; else 0 */
	uint64_t start_utc_ns, start_ns;      /* wall clock; monotonic */
	struct cp_tick_rate_pair start_ticks; /* pair of clocks near start_ns */
	uint64_t start_cpu_ns;		      /* the process's CPU time at the start */
	uint64_t written_records;	      /* aggregate.records at the last write to PATH */
	uint64_t written_ns;		      /* monotonic time of that write; 0 = never */
	bool said_lacks;		      /* a message about missing data was printed */
	uint64_t own_base_ns;		      /* cp_own_time at the start */
	uint64_t base[CP_COUNTS];	      /* counters at the start */
	struct cp_vec consumers;	      /* struct cp_consumer: consumers.c */
	/* Settings that were changed while the mode was on, as "KEY=VALUE, before: VALUE"; of more
	 * changes, the last ones: change N is at N modulo their number. */
	struct cp_run_change {
		uint64_t at_ns; /* monotonic */
		char text[72];
	} changes[CP_RUN_CHANGES];
	unsigned change_count;
	bool gave_up; /* some rows were given up, so the aggregate is incomplete */
	const struct cp_consumer *window; /* of a view of one window: its consumer; else NULL */
};

/* If R is a view of a window (consumers.c), the functions below report from the window's begin to
 * its end. */

/* Make R empty and start its clocks. All runs share MODULES. WITH: a run that has begun just now,
 * and whose times R has; NULL: none. */
void cp_run_begin(struct cp_run *r, struct cp_modules *modules, const struct cp_run *with);
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

/* comments.c
 *
 * A profile's comments: settings, losses and costs. CPROF_VERBOSE prints the same lines.
 */

#define CP_COMMENTS_LINES 56
#define CP_COMMENTS_LINE 320

struct cp_comments {
	char lines[CP_COMMENTS_LINES][CP_COMMENTS_LINE];
	const char *pointers[CP_COMMENTS_LINES];
	unsigned count;
	const struct cp_vec *own, *own_begin; /* the mode's own counters; see cp_comments_own */
};

/* Make the comments of R as it is now. Call with the collector's lock held. */
void cp_comments_make(struct cp_comments *report, const struct cp_run *r,
		      const struct cp_config *c);

/* Add one line; modes call this. A line is cut at CP_COMMENTS_LINE bytes. Lines past
 * CP_COMMENTS_LINES are left out. */
void cp_comments_line(struct cp_comments *report, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Returns number I of those that the mode counts itself (mode_ops.c, COUNT), in the run or in the
 * window that is reported. */
uint64_t cp_comments_own(const struct cp_comments *report, size_t i);
/* Returns number I where it is the longest of some events: that of the run; of a window 0 if none
 * of its events was longer than all before. */
uint64_t cp_comments_own_longest(const struct cp_comments *report, size_t i);
/* Return NS in seconds as "12.345", and PART of WHOLE in per cent as "1.23". The last eight results
 * of each function stay valid. */
const char *cp_comments_seconds(uint64_t ns);
const char *cp_comments_percent(uint64_t part, uint64_t whole);
/* Lines of the modes that record waits: R's losses, and the cost of its stacks, which were taken
 * WHERE. */
void cp_comments_waits_lost(struct cp_comments *report, const struct cp_run *r);
void cp_comments_stacks_cost(struct cp_comments *report, const struct cp_run *r, const char *where);

/* consumers.c
 *
 * Clients that take windows of a run over the control socket. Each has the values of the run's rows
 * at the begin of its window, so several consumers don't disturb each other.
 *
 * Under the collector's lock.
 */

struct cp_consumer *cp_consumers_find(struct cp_run *r, uint64_t id);
/* Adds a consumer whose window begins with the run. Pointers to others are void then. Returns NULL
 * if there are too many, or no memory. */
struct cp_consumer *cp_consumers_add(struct cp_run *r, uint64_t id);
/* Gives a consumer that follows R, and whose process is gone, the new number ID: its window goes
 * on. Returns NULL if there is none. */
struct cp_consumer *cp_consumers_take_over(struct cp_run *r, uint64_t id);
/* Removes a consumer. Pointers to other consumers become invalid. */
void cp_consumers_remove(struct cp_run *r, struct cp_consumer *c);
/* Removes the consumers whose time is over. */
void cp_consumers_expire(struct cp_run *r, uint64_t now);
/* Returns when the last consumer is forgotten; 0: there is none. */
uint64_t cp_consumers_until(const struct cp_run *r);

/* Ends C's window: notes R as it is now as the begin of the next one. R is settled. The window that
 * it ends can be written until cp_consumers_confirm. Returns 0 or -ENOMEM. */
int cp_consumers_end_window(const struct cp_run *r, struct cp_consumer *c);
/* Makes VIEW a copy of R for C's window, which has ended. VIEW can be written and goes into no
 * other function. Times and counters are those of the window; rows and names are to be taken from
 * VIEW's ROWS, because only those are kept up to date, and values with cp_consumers_base. */
void cp_consumers_view(const struct cp_run *r, const struct cp_consumer *c, struct cp_run *view);
/* Returns the values of R's rows at the begin of the window, for cp_aggregate_since; NULL: R is no
 * view of a window. */
const struct cp_vec *cp_consumers_base(const struct cp_run *r);
/* The client has the window that was ended, or (RECEIVED false) it hasn't: then the next window
 * begins where that one began. Without an ended window nothing happens. */
void cp_consumers_confirm(struct cp_consumer *c, bool received);

/* Does anybody need row NUMBER of R for a window? */
bool cp_consumers_need(const struct cp_run *r, uint32_t number);
/* Call when R's rows were renumbered: KEPT tells which of the first COUNT rows have stayed. */
void cp_consumers_rows_moved(struct cp_run *r, bool (*kept)(uint32_t row, const void *arg),
			     const void *arg);

/* dump.c
 *
 * Writes a drained run to a file: finds the name, encodes, and puts the file under that name.
 *
 * Call every function with the collector's lock held, in any context that can hold the lock. A
 * companion is written only if it has something to show.
 */

/* The moment up to which files and windows go: that of the last cp_dump_settle. In run.c, because
 * consumers.c reads it, too. */
struct cp_dump_moment {
	uint64_t utc_ns;
	struct cp_times_counter now;
};
extern struct cp_dump_moment cp_dump_moment;

/* Settles those of RUNS that are running and whose bit is set in MODES, and takes the moment. Call
 * it after a drain, once for all files and windows that are then written: the waits in one are
 * those that the holders in another have caused. */
void cp_dump_settle(struct cp_run *runs, uint32_t modes);

/* Write to the run's own path: at exit, at a checkpoint, before exec. A process that isn't the
 * owner writes only if it has samples. WHEN is for messages ("at exit"). Returns 0, or a negative
 * errno after reporting the error once on stderr. */
int cp_dump_final(struct cp_run *r, const struct cp_config *c, const char *when);
/* Copy the path of the file that cp_dump_final wrote last to TO. Returns 0, or -ENOENT if no file
 * was written. */
int cp_dump_written_path(const struct cp_run *r, char *to, size_t size);
/* Copy the path that cp_dump_final writes next to TO. Returns 0 or -ENAMETOOLONG. Any context; the
 * lock is not needed. */
int cp_dump_path(const struct cp_run *r, char *to, size_t size);
/* This and the next two that write, write only the run's end if R has SINCE_NS. Write to the next
 * numbered file. REASON goes into its comments; NULL: no reason is given. */
int cp_dump_numbered(struct cp_run *r, const struct cp_config *c, const char *reason);
/* Removes the file of R's dump NUMBER. */
void cp_dump_remove(const struct cp_run *r, unsigned number);
/* Write to a path that the caller chose, or to any sink that doesn't wait. Prints no messages. */
int cp_dump_to_path(struct cp_run *r, const struct cp_config *c, const char *path);
int cp_dump_to_sink(struct cp_run *r, const struct cp_config *c, struct cp_sink *sink);
/* Write the window of W, a consumer of R, uncompressed: compressing would take more time than all
 * the rest, and the reader is on this machine. The window is then to be confirmed; see
 * consumers.c. */
int cp_dump_window(struct cp_run *r, struct cp_consumer *w, const struct cp_config *c,
		   struct cp_sink *sink);
/* Begin a window of W now; earlier events are not written. Returns 0 or -ENOMEM. */
int cp_dump_begin_window(struct cp_run *r, struct cp_consumer *w);

/* cut.c
 *
 * The end of a run, from FROM (ns since its start) on, by its time index.
 */

/* Makes E, an event of the run, one of the run's end. Returns which share of it that is; 0: it was
 * over. */
double cp_cut_event(struct cp_time_event *e, uint64_t from);
/* Makes BASE (struct cp_aggregate_base) what the rows of R had before the time of the file, which
 * has TIMES. Values without a time belong to before. Returns 0 or -ENOMEM. */
int cp_cut_rows(const struct cp_run *r, const struct cp_run_times *times, struct cp_vec *base);

/* helper.c
 *
 * The helper runs `cprof symbolize --in-place` on the finished files when a program ends. It adds
 * source lines and inlined calls, and replaces each file by rename.
 *
 * The program must not notice: the helper is not a child of the program (see helper.c). It inherits
 * none of the program's descriptors and nothing of the profiler's environment, and it has a time
 * limit.
 */

/* Find the helper beside the library, and save the part of the environment that the helper may see.
 * Ordinary context, once. */
void cp_helper_prepare(void);

/* Has the process another root directory than at the start? Any context. */
bool cp_helper_root_changed(void);

/* Is there a helper that could be run? Any context. */
bool cp_helper_is_there(void);

/* Returns whether this process's parent belongs to another user. A helper that goes on after this
 * process may then be the last process of this process's user, whom the parent may want to delete.
 */
bool cp_helper_would_outlive_its_user(void);

/* Returns a helper for COUNT files at most, not started yet. Returns NULL if no helper was found or
 * there is no memory. */
struct cp_helper *cp_helper_begin(unsigned count);
/* Returns the buffer for the path of file I: CP_PATH_MAX bytes, all zeros. */
char *cp_helper_file(struct cp_helper *h, unsigned i);
/* Have the files pushed to URL, which must live on: `cprof push`. LINES: also add lines to them.
 * Otherwise the helper only pushes. Call before the start. */
void cp_helper_push_too(struct cp_helper *h, const char *url, bool lines);
/* Start the helper on the first COUNT files, or hand them to one that another process of the tree
 * has started. WAITS: this process waits for it. Call with all signals blocked; any context.
 * Returns 0, or a negative errno after releasing H. */
int cp_helper_start(struct cp_helper *h, unsigned count, bool waits);
/* Wait until the helper is done, for at most SECONDS (capped by an upper limit). With SECONDS = 0,
 * wait only until the helper no longer needs this process. Afterwards the helper continues alone.
 * Returns true if the helper ended in time and has replaced its first file. */
bool cp_helper_wait(struct cp_helper *h, unsigned seconds);
void cp_helper_release(struct cp_helper *h);

/* Start `cprof VERB -helper ARGUMENT` (push URL, serve ADDRESS), which runs alone until no process
 * asks for ARGUMENT any more. Both must live on. Not
 * where this process, or one above it, would become its parent. Call with all signals blocked, in
 * the collector. Takes a millisecond or two. Returns NULL if it can't be started; otherwise call
 * cp_helper_reap until that returns true. */
struct cp_helper *cp_helper_alone(const char *verb, const char *argument);
/* Has the start of H ended? Then H is released. Doesn't wait. */
bool cp_helper_reap(struct cp_helper *h);
/* How long to wait between two looks whether a helper is still there. */
uint64_t cp_helper_watch_ns(void);

/* mode_ops.c
 *
 * The interface of a mode: how the mode is started, how it hears of threads, and what its file
 * holds.
 *
 * Each mode defines one instance in its own folder. modes.c lists the instances. runs.c starts and
 * stops modes, threads.c announces threads, drain.c drains, dump.c and encode.c write. A function
 * that a mode doesn't need is NULL.
 */

struct cp_comments;
struct cp_diary_entry;
struct cp_config_mode;
struct cp_module_diff;

/* Defines the part NAME for thread_label below. */
#define CP_THREAD_LABEL(name)                                                                      \
	extern const uint64_t name CP_THREAD_PART;                                                 \
	const uint64_t name = 0

/* A sum that a mode reports. */
struct cp_mode_number {
	const char *key; /* "in_use_bytes" */
	uint64_t value;
};
#define CP_MODE_NUMBERS 4

struct cp_mode_ops {
	const char *name; /* "cpu"; a companion's name is part of its file's name: NAME.peak.EXT */
	const char *suffix;	/* what a companion's name is in file names; NULL = NAME */
	enum cprof_mode parent; /* parent mode of a companion; for other modes the mode itself */
	bool view;		/* the companion shows its parent's rows with other values */

	/* The variables and options; NULL for a companion, which uses its parent's. */
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
	/* The period that was achieved, in period_type's unit. NULL: 1. */
	uint64_t (*period)(const struct cp_run *r);
	/* Adds the labels of row S, besides those of its thread and of CPROF_LABELS. */
	void (*labels)(const struct cp_run *r, const struct cp_stack *s,
		       struct cp_encode_labels *to);
	/* Adds the mode's comments: settings, losses, costs. Counts are those of R's window, if R
	 * is one: cp_run_counted tells them. */
	void (*report)(struct cp_comments *out, const struct cp_run *r, const struct cp_config *c);

	/* Adds the numbers that REPORT prints besides the counters (thread.h) to TO, a vector of
	 * uint64_t: sums since the start of the run, always in the same places. Called after
	 * SETTLE. */
	void (*count)(const struct cp_run *r, struct cp_vec *to);

	/* Is this companion on with its parent? NULL = always. */
	bool (*wanted)(const struct cp_config *c);

	/* Does every file of the mode and its companions have the pid in its name? NULL = no. */
	bool (*has_pid)(const struct cp_config *c);

	/* The mode is about to start; C has its path. Ordinary context, without the lock. */
	void (*prepare)(const struct cp_config *c);
	/* Called after the session has started with this mode on, not by a signal. Ordinary
	 * context, without the lock; prints what the user should know. */
	void (*started)(void);
	/* The same with CPROF_VERBOSE=1. */
	void (*started_verbose)(void);

	/* The mode samples by SIGPROF. START then calls cp_signals_claim_prof. */
	bool by_sigprof;

	/* Both run under the collector's lock. start returns 0 or a negative errno; R has begun and
	 * is empty. */
	int (*start)(struct cp_run *r, const struct cp_config *c);
	/* Returns true if a stop must run in a thread that libc knows, because it calls functions
	 * of the program. NULL = no. */
	bool (*needs_thread)(void);
	void (*stop)(struct cp_run *r);
	/* Goes on with the settings of C that are marked LIVE (config_rows.h). What was recorded so
	 * far keeps its weight. Runs under the collector's lock, after a drain. Returns 0, or
	 * -EOPNOTSUPP if this change needs a new start. NULL = no setting can be changed. */
	int (*set)(struct cp_run *r, const struct cp_config *c);
	/* Called when a drain begins, which takes the events up to this moment. The list of modules
	 * is read afterwards, so it covers them all. */
	void (*mark)(void);
	/* Reports the exact totals up to now (profile/profile.h). Called right before the rings are
	 * marked, so that totals and samples cover the same events. */
	void (*totals)(struct cp_run *r);
	/* Adds events that aren't in rings to R, in every drain. */
	void (*collect)(struct cp_run *r);
	/* The heap mode's: adds the birth or death of a block in the diary to R's time index.
	 * Called after COLLECT. */
	void (*block)(struct cp_run *r, const struct cp_diary_entry *e, uint32_t thread);
	/* Called at the end of a drain, when there may be new rows whose modules may be about to go
	 * away. */
	void (*drained)(struct cp_run *r);
	/* Calls SEE for each number of a row of R that the mode keeps, which SEE may change: rows
	 * that nobody needs are given up, and the others get new numbers. */
	void (*rows)(struct cp_run *r, void (*see)(uint32_t *row, void *arg), void *arg);
	/* Called by cp_dump_settle, after COLLECT: updates the values that must be exact in files
	 * and windows. */
	void (*settle)(struct cp_run *r);
	/* Called before the rows of R are written: several modes have these rows, with values of
	 * their own. NULL = the values are there. */
	void (*show)(struct cp_run *r);
	/* Writes R's rows as the text that gperftools' functions return. */
	int (*text)(struct cp_run *r, struct cp_sink *to);
	/* Writes sums of R that are known without a drain to TO, which has room for
	 * CP_MODE_NUMBERS. Returns how many. For the control socket. */
	unsigned (*numbers)(const struct cp_run *r, struct cp_mode_number *to);
	/* Sets what differs from other modes in S, the statistics of R. */
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
	/* A record's weight is the time of COUNT waits that ended when it was made. */
	bool waits;
	/* Called in a drain for a record of a ring that is about to be added: changes its count and
	 * weight into those of the rows. NULL = they are the same. */
	void (*convert)(struct cp_record *record);
	/* T has ended and its rings are empty: its record is about to be released. Called in a
	 * drain. */
	void (*thread_released)(struct cp_run *r, struct cp_thread *t);

	/* Are there events that aren't in rings and that a drain would move? Any context. */
	bool (*has_more)(void);

	/* Called on a registered thread, or by the sweep, when the thread begins or ends. */
	void (*thread_begin)(struct cp_thread *t);
	void (*thread_end)(struct cp_thread *t);
	/* Called when the calling thread has ended and has no record any more. */
	void (*thread_left)(void);
	/* T has ended and has no rings. Returns true if the mode needs its record until
	 * THREAD_RELEASED. */
	bool (*keep)(struct cp_thread *t);
	/* Called when the calling thread was paused or got its first label. */
	void (*thread_changed)(void);
	/* Called after a module was unloaded: U has the modules that went away; the gate is still
	 * closed. */
	void (*unloaded)(struct cp_module_diff *u);
	/* Called in the parent before a fork. */
	void (*fork_begin)(void);
	/* Called in a fork child first, whether the mode is on or off: frees the locks that it
	 * takes for any thread, which another thread may have held. */
	void (*fork_locks)(void);
	/* Called in a fork child. KEEP is the only thread left; NULL: the mode is off in this
	 * process from now on. R has been begun anew, because the parent's samples don't belong to
	 * the child. */
	void (*fork_child)(struct cp_run *r, struct cp_thread *keep);
	/* Ends what the kernel would go on counting for this thread: before the last write of the
	 * process, the write before an exec, and, with DUMPS, a dump that the thread makes itself,
	 * unless the mode leaves that out otherwise. RESUME: it begins again, if the process goes
	 * on. */
	void (*suspend)(bool dumps);
	void (*resume)(void);
};

/* The modes by number; NULL where there is no mode. */
extern const struct cp_mode_ops *const cp_modes[CP_MODES];

/* Set the table of modes that the functions below use; no modes until then. The rooms before the
 * modes know them by this table. Call before the first thread is registered. */
void cp_mode_ops_set(const struct cp_mode_ops *const modes[CP_MODES]);
/* Return the first mode of the table, and the mode after M in the order of numbers; CP_MODES after
 * the last. Any context. */
unsigned cp_mode_ops_first(void);
unsigned cp_mode_ops_after(unsigned m);
/* Call this function of every built mode that has it, whether the mode is on or off. */
bool cp_mode_ops_has_more(void);
void cp_mode_ops_thread_left(void);
void cp_mode_ops_thread_changed(void);
void cp_mode_ops_unloaded(struct cp_module_diff *u);
void cp_mode_ops_fork_begin(void);
void cp_mode_ops_fork_locks(void);
/* Returns true if a mode keeps the record. */
bool cp_mode_ops_keep(struct cp_thread *t);
void cp_mode_ops_thread_begin(struct cp_thread *t);
void cp_mode_ops_thread_end(struct cp_thread *t);
void cp_mode_ops_suspend(bool dumps);
void cp_mode_ops_resume(void);

/* process_context.c
 *
 * The resource that an OpenTelemetry SDK publishes for the process (OTEP 4719): a mapping with a
 * header that points to a protobuf message. Everything is copied through the kernel and checked.
 */

typedef void cp_process_context_each(void *arg, const char *key, const char *value);

/* Calls EACH for every attribute of the resource that is a text or a whole number; AT is where the
 * mapping begins, 0: there is none. Calls nothing if the context is not valid, is being changed, or
 * has more than 4 KiB. Under the collector's lock. */
void cp_process_context_read(uint64_t at, cp_process_context_each *each, void *arg);

/* rows.c
 *
 * The order in which a profile's samples are written.
 *
 * The writer calls this under the collector's lock. Stacks that share outer frames are written next
 * to each other. The shared part is then near enough for gzip to find, which makes a file of many
 * stacks a third as big, in a third of the time. Stacks that become one sample, because their
 * threads can't be told apart, are also next to each other.
 */

struct cp_row {
	uint64_t key; /* equal for stacks that may become one sample, rarely equal for others */
	uint32_t stack;
	uint32_t thread; /* canonical number of the thread, or CP_NO_THREAD */
};

struct cp_rows {
	struct cp_row *items; /* sorted by key, then by stack; owned */
	size_t count;
};

/* Make one row per stack of A whose first VALUES values have changed since BASE
 * (cp_aggregate_since; NULL: of all stacks). CANONICAL maps each thread to the thread that
 * represents it. Returns 0 or -ENOMEM. */
int cp_rows_order(struct cp_rows *rows, const struct cp_aggregate *a, const uint32_t *canonical,
		  const struct cp_vec *base, unsigned values);
void cp_rows_release(struct cp_rows *rows);

/* wakers.c
 *
 * The common part of the files of wakers: the control half of sample/wakes.h for the companions of
 * the lock mode and of the I/O mode. OF is one of CP_WAKES_OF_*.
 *
 * Under the collector's lock. */

/* Begin counting anew, and follow waits from now on. Sets SINCE. */
void cp_wakers_start(unsigned of, struct cp_wakes_settings s);
void cp_wakers_stop(unsigned of);
/* KEEP is the record of a fork child's thread if the child has a profile; else NULL. */
void cp_wakers_fork_child(unsigned of, struct cp_thread *keep);

/* Members of a mode's cp_mode_ops. */
void cp_wakers_count(const struct cp_run *r, struct cp_vec *to);

/* Adds the file's comments. WAITS is "waits" or another word, ENDED says how the waits ended that
 * nobody woke, BEHIND where stacks are taken. */
void cp_wakers_report(struct cp_comments *out, const struct cp_run *r, const char *waits,
		      const char *ended, const char *behind);

#endif
