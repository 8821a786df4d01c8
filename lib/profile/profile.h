/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of lib/profile/, by the file that implements them. */
#ifndef CP_PROFILE_PROFILE_H
#define CP_PROFILE_PROFILE_H

#include "sample/thread.h"
#include "symbols/symbols.h"

/* aggregate.c
 *
 * Samples of one mode, summed by stack, thread, labels and tag.
 *
 * The drain fills the aggregate, the dump reads it, both under the collector's lock. Addresses
 * become locations (mapping + address) while their module is known, so the module may go away
 * afterwards. The size is bounded: beyond the limit, samples are counted as lost.
 */

/* Locations without an address: the outermost frame of an incomplete stack, and the placeholder
 * for a stack where events were only counted. */
#define CP_LOCATION_TRUNCATED 0u
#define CP_LOCATION_INCOMPLETE 1u
#define CP_LOCATION_SHORT_WAITS 2u
#define CP_LOCATION_LOST_WAITS 3u
#define CP_LOCATION_NOT_SAMPLED 4u
#define CP_LOCATION_FREED 5u
#define CP_LOCATION_WOKEN 6u
#define CP_LOCATION_WAKER_UNKNOWN 7u
#define CP_LOCATION_TIMED_OUT 8u
#define CP_LOCATION_INTERRUPTED 9u
#define CP_LOCATION_HOLDER_UNKNOWN 10u
#define CP_LOCATION_FIRST 11u

struct cp_location {
	uint64_t address;  /* the address that the unwinder stored */
	uint32_t mapping;  /* number in modules, or CP_NO_MAPPING */
	uint32_t function; /* set by the naming step; 0 = not named yet */
};

#define CP_VALUES 4 /* the most values per row; a row has one per sample type of the mode */
/* The value that is no sum but the longest event of the records. A mode that uses it has fewer
 * sample types than CP_VALUES. */
#define CP_VALUE_LONGEST (CP_VALUES - 1)
#define CP_NO_THREAD CP_INDEX_NONE

struct cp_stack {
	const uint32_t *locations; /* leaf first, in the arena */
	uint32_t depth;
	uint32_t thread;	    /* index of a thread label, or CP_NO_THREAD */
	uint32_t labels;	    /* label set, a number of thread.h */
	uint64_t tag;		    /* defined by the mode */
	uint64_t values[CP_VALUES]; /* records set the first two: count and weight */
};

/* The values of a row when a window began. A value that is a momentary state has 0, so that the
 * window shows its present value. */
struct cp_aggregate_base {
	uint64_t values[CP_VALUES];
};

/* A stack as a source has it: pcs leaf first, in the form that cp_unwinder.walk stores. */
struct cp_raw_stack {
	const uint64_t *pcs;
	uint32_t depth;	   /* 1..4096; 0 = only LOCATION */
	uint32_t location; /* CP_LOCATION_SHORT_WAITS or a similar location */
	uint8_t end;	   /* enum cp_unwind_end */
	uint32_t thread, labels;
	uint64_t tag;
};

/* One thread that had samples. Two threads may have the same tid, one after the other. tid 0: all
 * threads of that name, used once there have been so many threads that a number is of no use. */
struct cp_thread_label {
	int32_t tid;
	char name[CP_THREAD_NAME];
};

/* A location that was looked up after the modules had been read READING - 1 times. READING 0 =
 * empty. */
struct cp_recent {
	uint64_t pc;
	uint32_t location, reading;
};

struct cp_aggregate {
	struct cp_modules *modules;
	struct cp_arena arena; /* holds the stacks' locations */
	struct cp_vec locations, stacks, threads;
	struct cp_vec aside; /* owned by the mode: values of rows that are not shown now */
	struct cp_index location_index, stack_index, name_index;
	struct cp_recent *recent; /* indexed by pc; NULL = not allocated yet */
	uint32_t ended;		  /* number of threads that have ended and kept a label */
	uint32_t crowd;		  /* number of threads that have ended without a label */
	uint64_t records; /* records added; a source that sets rows itself adds the number of
			     changes */
	uint64_t weight;  /* weight of these records */
};

void cp_aggregate_init(struct cp_aggregate *a, struct cp_modules *modules);
/* Makes the special locations. The first row and a file need them: a fork's child that has neither
 * maps no memory. Returns 0 or -ENOMEM. */
int cp_aggregate_prepare(struct cp_aggregate *a);
/* Makes a label for a thread with samples. Returns its number, or CP_INDEX_NONE without memory. */
uint32_t cp_aggregate_thread(struct cp_aggregate *a, int32_t tid);
/* Notes that a thread has ended, with a label or without. */
void cp_aggregate_thread_ended(struct cp_aggregate *a, bool labelled);
/* Returns whether a thread without a label should share one now, so that many short-lived threads
 * don't fill the memory with rows. ENDED: the thread has already ended. */
bool cp_aggregate_shares(const struct cp_aggregate *a, bool ended);
/* Returns the number of the label that all threads called NAME share, or CP_INDEX_NONE without
 * memory. */
uint32_t cp_aggregate_shared_thread(struct cp_aggregate *a, const char *name);
/* Adds one record of THREAD. Returns the number of its row; CP_INDEX_NONE: there was no memory, and
 * the record isn't added. */
uint32_t cp_aggregate_add(struct cp_aggregate *a, const struct cp_record *record, uint32_t thread);
/* Returns the number of S's row, or CP_INDEX_NONE without memory. A new row has all values 0. For
 * sources that sum samples themselves and set the values. The modules must be fresh if S may have
 * new addresses. */
uint32_t cp_aggregate_row(struct cp_aggregate *a, const struct cp_raw_stack *s);
/* Returns the row that differs from row NUMBER in labels and tag only. */
uint32_t cp_aggregate_relabel(struct cp_aggregate *a, uint32_t number, uint32_t labels,
			      uint64_t tag);
static inline struct cp_stack *cp_aggregate_row_at(const struct cp_aggregate *a, uint32_t number)
{
	return CP_VEC_AT(&a->stacks, struct cp_stack, number);
}
/* Returns what row NUMBER has more in VALUE than at the begin of a window; BASE has a struct
 * cp_aggregate_base for each row of then, or is NULL. The longest event is no sum: if this returns
 * 0, no event of the window was longer than all earlier ones. */
static inline int64_t cp_aggregate_since(const struct cp_aggregate *a, uint32_t number,
					 unsigned value, const struct cp_vec *base)
{
	uint64_t now = cp_aggregate_row_at(a, number)->values[value];

	if (base && number < base->count)
		now -= CP_VEC_AT(base, struct cp_aggregate_base, number)->values[value];
	return (int64_t)now;
}
/* Gives up all locations of A, which has no rows. */
void cp_aggregate_forget_locations(struct cp_aggregate *a);
/* Releases everything except the modules. */
void cp_aggregate_release(struct cp_aggregate *a);

/* Functions of the profiler that replace one of the program and make the same calls: their frames
 * count as the program's. Ranges [low, high), filled before the first sample. */
#define CP_AGGREGATE_PROGRAMS 2
struct cp_aggregate_range {
	uintptr_t low, high;
};
extern struct cp_aggregate_range cp_aggregate_programs[CP_AGGREGATE_PROGRAMS]
	__attribute__((visibility("hidden")));

/* Gives up rows of an aggregate that nobody asks for any more, and the labels of threads without
 * rows. So a run whose windows are taken needs memory for one window, however long it lasts.
 *
 * Under the collector's lock:
 *
 *     cp_aggregate_compact_begin(&c, a);
 *     cp_aggregate_compact_keep(&c, row);	... for each row that stays
 *     cp_aggregate_compact_apply(&c, a);
 *     cp_aggregate_compact_row(&c, row);	... the new number of each row that is kept
 * elsewhere cp_aggregate_compact_release(&c);
 */

struct cp_compaction {
	struct cp_vec rows, threads; /* uint32_t: the new number + 1; 0 = the row or thread goes */
};

/* Returns 0 or -ENOMEM. */
int cp_aggregate_compact_begin(struct cp_compaction *c, const struct cp_aggregate *a);
/* A row that doesn't exist is passed over. */
void cp_aggregate_compact_keep(struct cp_compaction *c, uint32_t row);
/* Returns 0; or -ENOMEM, and nothing is changed. The rows stay in their order. */
int cp_aggregate_compact_apply(struct cp_compaction *c, struct cp_aggregate *a);
/* Returns the new number, or CP_INDEX_NONE if the row or thread is gone. */
uint32_t cp_aggregate_compact_row(const struct cp_compaction *c, uint32_t row);
uint32_t cp_aggregate_compact_thread(const struct cp_compaction *c, uint32_t thread);
void cp_aggregate_compact_release(struct cp_compaction *c);

/* names.c
 *
 * Finds functions for locations: the naming step between aggregate and encoder.
 *
 * Under the collector's lock. Each location is looked up once; a later dump names only the
 * locations added since.
 */

struct cp_function {
	const char *name;	 /* demangled, or unchanged, or "module+0x12" */
	const char *system_name; /* mangled */
	const char *path;	 /* path of its module; NULL: synthetic, without a module */
	uint64_t start;		 /* file offset in the module */
	bool has_symbol;	 /* false: the name only tells the function's place */
};

/* The result of naming for one mapping. */
struct cp_names_mapping {
	/* The errno that made its symbols or its debug file unreadable, so that names are missing;
	 * or 0. TROUBLE is for all locations, DONE_TROUBLE for those before DONE. */
	int trouble, done_trouble;
};

struct cp_names {
	struct cp_arena arena;
	struct cp_vec functions; /* struct cp_function; number 0 is unused */
	struct cp_index index;
	uint32_t done;		 /* locations before this one are named */
	uint64_t named, unnamed; /* locations with and without a symbol's name */
	/* The same numbers for locations before DONE. */
	uint64_t done_named, done_unnamed;
	bool lacking; /* memory ran out: names are missing, and the next call may find them */
	bool unread;  /* names are missing because a file could not be read */
	unsigned rereadings;	/* calls that tried such a file again */
	struct cp_vec mappings; /* struct cp_names_mapping, one per mapping */
	char *buffer;		/* holds one name during lookup */
};

void cp_names_init(struct cp_names *n);
/* Names the locations of A that have no name yet. If SYMBOLIZE is false, only the synthetic frames
 * get a function. Returns 0 or -ENOMEM. If memory suffices for everything except names, sets
 * LACKING, and the next call tries again. If a file could not be read, sets UNREAD, and some later
 * calls try again. */
int cp_names_update(struct cp_names *n, struct cp_aggregate *a, bool symbolize);
/* Returns the first mapping from FROM on whose names are missing because of its TROUBLE, or
 * CP_NO_MAPPING. */
uint32_t cp_names_unread(const struct cp_names *n, uint32_t from);
void cp_names_release(struct cp_names *n);

/* clang-format off */
/* strata.c
 *
 * Calibration: makes the rows of a stratum sum to its exact total.
 *
 * A mode that samples events, and also counts all of them, divides its events into strata, for
 * example by thread, operation and kind. A stratum is named by a thread's label and a tag. Every row
 * belongs to one stratum. The mode tells what its samples are and what the strata's exact totals are;
 * a settle adds both to the rows of the aggregate, so that for each value
 *
 *     sum over the rows of a stratum = exact total of the stratum
 *
 * at that moment, in whole numbers. Rows only grow, so a window is the difference of two settles.
 *
 * A sample counts for itself (SELF: surely there), and has a SHARE of what was not sampled: a sample
 * that was taken with probability p has v and v (1/p - 1) of each value v. The expected sum of SHARE
 * is what was not sampled; a settle corrects it to what the exact total is above the sum of SELF. The
 * samples that make the sum uncertain bear the correction, in proportion to v^2 (1/p - 1) 1/p, their
 * part in its variance. So a stratum whose events are all sampled is exact in every row, events that
 * were sampled for sure are never scaled, and a small value of one row doesn't follow the chance of
 * a large one of another. If no sample has a share, or the samples sum to more than the total, the
 * total is distributed in proportion to SELF. A sampler that knows no single events (a clock) tells
 * SHARE alone.
 *
 * A settle may come between an event's sample and its count. So who tells of events makes the sample
 * first: samples of more than the total wait for the next settle, and are dropped after a second. An
 * event that is counted first would be [not sampled] for good, and its sample would take the part of
 * others.
 *
 * A correction by few samples is biased. A stratum with fewer than FEW samples and more events than
 * samples is therefore settled together with all such strata of the same tag, whatever their thread:
 * these rows sum to these strata's common total. What no sample stands for goes to a row of the
 * stratum's thread and tag with the location [not sampled].
 *
 * Fractions are rounded as a running sum over the rows, from a random start. So the sum is exact, and
 * each row's expected value is its true share, in however many settles.
 *
 * | call                      | when                                                            |
 * |---------------------------|-----------------------------------------------------------------|
 * | cp_strata_sampled, _exact | in a drain                                                      |
 * | cp_strata_settle          | before anything reads rows: mode_ops.settle                     |
 * | cp_strata_release         | a run begins                                                    |
 * | *st = cp_strata_new(few)  | in a fork child: what the parent had may be half changed        |
 *
 * Strata live from one settle to the next. Rows and threads are renumbered after a
 * settle only (shrink.c). All under the collector's lock.
 */
/* clang-format on */

struct cp_strata {
	struct cp_vec strata; /* struct stratum */
	struct cp_vec rows;   /* struct pending, by row number */
	struct cp_vec kept;   /* struct kept: samples that are not counted yet */
	struct cp_index index;
	uint64_t random; /* state of the random starts */
	unsigned few;	 /* strata with fewer samples are settled together; 0 = none */
	bool estimates;	 /* samples are estimates, not parts of what is counted: none is kept */
	uint32_t rest;	 /* location for events that no sample represents; 0 = [not sampled] */
	/* Since the begin: the sum of the rows' variances, and the exact totals. */
	double variance[CP_VALUES], total[CP_VALUES];
};

/* Called for each row that a settle changes: adds VALUES to it. */
typedef void cp_strata_add(struct cp_stack *row, const uint64_t values[CP_VALUES]);

/* An empty set of strata. */
static inline struct cp_strata cp_strata_new(unsigned few)
{
	return (struct cp_strata){ .few = few };
}
/* Adds a sample of row ROW in the stratum of THREAD (a label of the aggregate) and TAG. Returns
 * false without memory: the sample is lost, and its part goes to others. */
bool cp_strata_sampled(struct cp_strata *st, uint32_t row, uint32_t thread, uint64_t tag,
		       const uint64_t self[CP_VALUES], const double share[CP_VALUES]);
/* Adds VALUES to the exact total of the stratum. VALUES are only the new ones: a mode keeps what it
 * has reported. So a thread that ends hands over the rest, and a later thread in the same place
 * begins with 0. Returns false without memory: nothing was added. */
bool cp_strata_exact(struct cp_strata *st, uint32_t thread, uint64_t tag,
		     const uint64_t values[CP_VALUES]);
/* Takes VALUES, or what there is of them, from the exact total of the stratum, until they are added
 * again: their samples are known to come later. VALUES gets what was taken. */
void cp_strata_withhold(struct cp_strata *st, uint32_t thread, uint64_t tag,
			uint64_t values[CP_VALUES]);
/* Adds all values since the last settle to A's rows. ADD adds to a row; NULL = each value is added.
 * Returns how much of values[1] is lost because no row could be made for it. */
uint64_t cp_strata_settle(struct cp_strata *st, struct cp_aggregate *a, cp_strata_add *add);
/* Part of mode_ops.rows: SEE is called for each row that has samples which are not counted yet. */
void cp_strata_rows(struct cp_strata *st, void (*see)(uint32_t *row, void *arg), void *arg);
/* Returns the uncertainty of rows in VALUE: a row's variance is about this, times its value. 0 =
 * rows are exact. */
static inline double cp_strata_unsure(const struct cp_strata *st, unsigned value)
{
	return st->total[value] > 0 ? st->variance[value] / st->total[value] : 0;
}
/* Forgets everything, and gives the memory back. */
void cp_strata_release(struct cp_strata *st);

/* tick_rate.c
 *
 * Measures how fast the processor's counter (cp_ticks) runs, by comparing it with the clock at two
 * times. The rate is used for the cost of handlers (run.c) and for the length of short waits
 * (sample/lock_clock.h). Any thread, no lock; each cp_tick_watch has one user.
 */

/* A rate is in ns per tick, multiplied by two to this power. */
#define CP_TICK_RATE_SHIFT 32

struct cp_tick_rate_pair {
	uint64_t ns, ticks; /* CLOCK_MONOTONIC and the counter at the same time */
	uint64_t asleep;    /* ns that the machine was suspended until then */
	uint64_t within;    /* number of ticks that include the moment NS */
};

/* Returns a pair for now: of several readings, the one with the least interruption. */
struct cp_tick_rate_pair cp_tick_rate_pair(void);

/* Returns whether the counter neither stops nor changes its rate with the processor's frequency.
 * If false, the counter is good for estimates only. */
bool cp_tick_rate_is_constant(void);

/* Returns whether the machine was suspended between the pairs. The clock then stood still, and the
 * counter may have gone on or restarted. */
bool cp_tick_rate_slept(const struct cp_tick_rate_pair *from, const struct cp_tick_rate_pair *to);

/* Returns the rate, or 0 if the pairs are too close to each other or the counter has restarted. */
uint64_t cp_tick_rate(const struct cp_tick_rate_pair *from, const struct cp_tick_rate_pair *to);

/* The rate as far as it is known, from looks at different times. */
struct cp_tick_watch {
	struct cp_tick_rate_pair
		since;	/* the first look, or the first one after the counter restarted */
	uint64_t rough; /* the rate, accurate to one in a thousand; 0: not known */
	uint64_t rate;	/* accurate to one in a million */
};

/* Adds a look at NOW, and returns the rate. SINCE holds the first look. */
uint64_t cp_tick_rate_watch_look(struct cp_tick_watch *w, const struct cp_tick_rate_pair *now);

/* times.c
 *
 * The time index of a run: when its events happened, on which thread, how long they took.
 *
 * The drain adds events, the dump reads them, both under the collector's lock. An event takes about
 * ten bytes, in blocks that can be read each by itself, in the order in which events were added.
 * When the budget is used up, half of the events are dropped at random, and the rest stands for
 * twice as many (LEVEL). So the index covers the whole run, and a sum over its events is unbiased.
 * From the first drop on, the sum of all events of each row is kept, too. A flight recorder (KEEP)
 * keeps these sums from the start, and uses the oldest block again once all of it is too old.
 * Without memory, events are dropped earlier; without memory for the sums, the index ends. Nothing
 * else fails.
 */

struct cp_time_event {
	uint64_t begin_ns;    /* since the run's start */
	uint64_t duration_ns; /* 0 = it happened at a moment; of a death, the block's age */
	uint64_t weight;      /* amount of what the mode measures: ns, bytes, events */
	uint32_t thread;      /* label of the aggregate */
	uint32_t row;	      /* of the aggregate; a death has the row of its birth */
	uint32_t count; /* number of events; 0 = a wake: its WEIGHT is the waking thread's label */
	bool is_death;	/* a heap block was freed: it and its birth are kept or dropped together */
};

/* When a thread lived. */
struct cp_times_life {
	uint64_t born;		   /* as in the thread's record */
	uint64_t begin_ns, end_ns; /* since the run's start; END 0 = it is alive, or nobody knows */
	bool is_known;		   /* its begin is known, and is not before the run's */
};

struct cp_times_block;

struct cp_times {
	uint64_t budget;		     /* bytes of blocks; 0 = there is no index */
	uint64_t bytes;			     /* mapped */
	uint64_t keep;			     /* ns; 0 = all events are kept */
	uint64_t newest;		     /* the latest end of an event */
	struct cp_times_block *first, *last; /* after the last one used, blocks may be empty */
	unsigned level;			     /* each event stands for 2^LEVEL */
	uint64_t seen;			     /* events ever added */
	uint64_t seed;
	bool sums;		/* RECORDED holds the sums of all events */
	struct cp_vec recorded; /* uint64_t by row: weights of events that are no deaths */
	struct cp_vec lives;	/* struct cp_times_life by label */
};

/* Makes T, which has nothing, an empty index of up to BUDGET bytes; 0: T takes no events. SEED:
 * any number. KEEP: only events of the last so many ns are kept; 0 = all. */
void cp_times_begin(struct cp_times *t, uint64_t budget, uint64_t keep, uint64_t seed);
void cp_times_add(struct cp_times *t, const struct cp_time_event *e);
/* Adds that the thread WAKER, a label, ended the wait E at END. Wait and wake are kept or dropped
 * together. */
void cp_times_wake(struct cp_times *t, const struct cp_time_event *e, uint64_t end, uint32_t waker);
/* Returns whether E was over before the time that T keeps. NOW: since the run's start. */
bool cp_times_is_old(const struct cp_times *t, const struct cp_time_event *e, uint64_t now);
/* Returns the life of a label's thread, to be filled in; NULL without an index or memory. */
struct cp_times_life *cp_times_life(struct cp_times *t, uint32_t thread);
/* Releases everything. T takes no events afterwards. */
void cp_times_release(struct cp_times *t);

struct cp_times_reader {
	const struct cp_times_block *block;
	uint32_t at, end, row;
	uint64_t begin;
};

/* Reads the events that are kept, in their order. T must not change meanwhile. */
struct cp_times_reader cp_times_read(const struct cp_times *t);
bool cp_times_next(struct cp_times_reader *r, struct cp_time_event *e);
/* Writes E as the file has it after an event with BEGIN and ROW; CP_TIMES_EVENT bytes suffice.
 * Returns the number of bytes. */
#define CP_TIMES_EVENT 60
size_t cp_times_encode(uint8_t *to, const struct cp_time_event *e, uint64_t begin, uint32_t row);

/* Brings the clock of moments (cp_ticks_moment in sample.h) up to date. START: an earlier pair. */
void cp_times_clock(const struct cp_tick_rate_pair *start);
/* Returns MOMENT in ns since START_NS, a monotonic time; 0 if it was before. */
uint64_t cp_times_ns(uint64_t moment, uint64_t start_ns);

/* The process's memory and CPU time, about once a second. */
struct cp_times_counter {
	uint64_t ns; /* monotonic */
	uint64_t resident, cpu_ns;
};

/* Takes them unless the last ones are new. */
void cp_times_count(void);
/* Returns the resident memory in bytes; 0: not known. */
uint64_t cp_times_resident(void);
/* Returns those taken so far: struct cp_times_counter. */
const struct cp_vec *cp_times_counters(void);
/* In a fork child: forgets what the parent may have been changing. */
void cp_times_fork_child(void);

/* shared_times.c
 *
 * What the time indexes of all runs share: spans, and the threads of entries in the diary
 * (sample/diary.h). All under the collector's lock.
 */

struct cp_times_thread {
	int32_t tid; /* 0: nobody knows */
	char name[CP_THREAD_NAME];
	uint64_t born;		   /* as in its record */
	uint64_t born_ns, gone_ns; /* monotonic; 0 = not known, it is alive */
};

/* Returns the number of the thread whose record was RECORD when it had the id TID. */
uint32_t cp_shared_times_thread(uint32_t record, int32_t tid);
/* T's record is being given up. */
void cp_shared_times_thread_ended(const struct cp_thread *t);
/* Reads the present names of those that are alive. */
void cp_shared_times_name_threads(void);
/* Returns all by number. */
const struct cp_vec *cp_shared_times_threads(void);

struct cp_times_span {
	uint64_t begin_ns, duration_ns; /* monotonic */
	uint32_t weight;		/* how many spans it stands for */
	uint32_t thread, kind;		/* numbers of the thread, and of labels/spans.h */
};

/* Spans of this length are all recorded. A shorter one is recorded with a probability in proportion
 * to its length, and stands for as many; so short spans cost nothing. When there are too many, the
 * length doubles. 0: none are recorded. Any thread may read it. */
#define CP_TIMES_SPAN_LONG UINT64_C(1000000)
extern uint64_t cp_shared_times_span_long;

/* Forgets all spans. They may take a quarter of BUDGET bytes; 0: none are recorded. KEEP: as in
 * cp_times_begin. */
#define CP_TIMES_SPANS_PART 4
void cp_shared_times_spans_begin(uint64_t budget, uint64_t keep);
/* Returns whether S was over before the time that is kept. NOW: monotonic. */
bool cp_shared_times_span_is_old(const struct cp_times_span *s, uint64_t now);
void cp_shared_times_span_add(const struct cp_times_span *s);
const struct cp_vec *cp_shared_times_spans(void);
void cp_shared_times_fork_child(void);

#endif
