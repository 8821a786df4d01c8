/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of `cprof timeline`, verb_timeline.c and timeline_*.c, by the file that
 * implements them. */
#ifndef CP_VERBS_TIMELINE_H
#define CP_VERBS_TIMELINE_H

#include "core/report.h"
#include "core/times.h"

/* timeline_pieces.c
 *
 * What happened when, and in which functions.
 */

/* Part of an event: AMOUNT of the type, from BEGIN to END on the axis. */
struct ct_timeline_piece {
	double begin, end, amount;
	const struct ct_event *event;
	char state; /* of a wall profile's thread; else 0 */
};

/* A file on the common axis. Times on the axis are nanoseconds since the first file's beginning. */
struct ct_timeline {
	const char *name;
	struct ct_profile *p;
	struct ct_own *own;
	size_t type;
	bool is_time; /* amounts are nanoseconds, so amount / time is a number of threads */
	bool is_wall;
	bool is_shared; /* an event's amount may be the time of several threads: of a holder */
	double start;	/* when its run began, from which -from counts */
	double offset;	/* the zero of its index: later than START with -from */
	double *worth;	/* by sample: what the weight 1 is of the type */
	bool *idle;	/* by sample: it waits for something to do */
	/* The functions of sample I, the innermost first, are functions[first_function[I] ..
	 * first_function[I + 1] - 1], indices into NAMES; none: it is idle. */
	uint32_t *functions;
	size_t *first_function;
	char **names; /* "parse", "parse [lock]" */
	size_t name_count;
	struct ct_timeline_piece *pieces; /* by event */
};

struct ct_timeline_view {
	struct ct_timeline *files;
	size_t count, columns, name_width;
	double from, to; /* on the axis */
	int64_t zero;	 /* of the axis, in ns since 1970 */
	bool utf8, by_state;
};

/* Is SAMPLE of a thread that was ready to run, but had no processor? */
bool ct_timeline_pieces_is_ready(const struct ct_profile *p, size_t sample);
/* Fills in names, functions and idle samples of T. */
void ct_timeline_pieces_functions(struct ct_timeline *t);
/* Fills in the pieces of T. A piece of time is at least as long as its amount, and those of a
 * thread don't overlap, unless more is known of them: so no thread does more than is possible. */
void ct_timeline_pieces_make(struct ct_timeline *t);
/* Takes from P what is in the first of COUNT cells of LENGTH, from FROM on, that it touches. What
 * is outside of all counts for the first or last one. Returns false if nothing is left. */
bool ct_timeline_pieces_part(struct ct_timeline_piece *p, double from, double length, size_t count,
			     size_t *cell, double *amount);
bool ct_timeline_pieces_has(const struct ct_timeline *t, uint32_t sample, uint32_t function);
/* Have threads A and B one name, apart from numbers at its end? *STEM: length of A's without them.
 */
bool ct_timeline_pieces_alike(const struct ct_timeline *t, uint32_t a, uint32_t b, size_t *stem);

/* timeline_moments.c
 *
 * When a run differs from itself: the moments at which a function takes more than in the rest of
 * the run.
 */

struct ct_timeline_moment {
	const struct ct_timeline *file;
	const char *function;
	const char *caller; /* of FUNCTION, if it says more; else NULL */
	uint32_t number;    /* of FUNCTION in FILE's names */
	uint32_t scope;	    /* threads that it is about: ct_timeline_periods_in */
	double from, to;
	/* Amount each second, and that outside of moments like this one. What returns, and is no
	 * time, has the amount each time. */
	double rate, rest;
	double every, first; /* EVERY > 0: it returns at this distance, COUNT times */
	size_t count;
	size_t also;	 /* so many more threads return at the same times */
	double score;	 /* how much it differs; for the order */
	char *threads;	 /* "thread main", "4 threads worker" */
	uint32_t thread; /* if it is only one; else CT_NONE */
	double ready,
		ready_rest; /* threads that were ready to run, if many more than usual; else 0 */
	char *lock;	    /* that it is about, or NULL */
	char *other;	    /* who made the others wait: ct_timeline_locks_other */
};

#define CT_TIMELINE_MOMENTS 3 /* of one file, and so many that return periodically */
/* Returns the part of the LENGTH ns from BEGIN on that is in M. */
double ct_timeline_pieces_within(const struct ct_timeline_moment *m, double begin, double length);
#define CT_TIMELINE_NEARLY 0.9 /* a function with this share of a moment can stand for it */
/* Gives M the name of the innermost function with nearly all of AMOUNT, by sample, that is M's
 * function's, too, and as its caller the outermost one that isn't the thread's own. MAY, by
 * function: it may be the name. */
void ct_timeline_pieces_name(struct ct_timeline_moment *m, const double *amount, const bool *may);
/* Stores the moments of each file that differ most, the most different first, and functions that
 * return periodically; FOUND has room for 2 * CT_TIMELINE_MOMENTS of each file. What several files
 * tell is stored once, from the one that knows most of the cause. Returns how many; *PERIODIC of
 * these come last. */
size_t ct_timeline_moments_find(const struct ct_timeline_view *v, struct ct_timeline_moment *found,
				size_t *periodic);
/* Frees M's texts. */
void ct_timeline_moments_release(struct ct_timeline_moment *m);

/* timeline_periods.c
 *
 * Functions that return at equal distances.
 */

/* Is THREAD one of SCOPE: a thread; after those, the threads of one name, by the first of them;
 * CT_NONE: all? */
bool ct_timeline_periods_in(const struct ct_timeline *t, uint32_t thread, uint32_t scope);
/* Stores functions of T that return periodically in TO, which has room for CT_TIMELINE_MOMENTS,
 * those with the largest amounts first. Returns how many. Adds what returns to WITH, by function.
 */
size_t ct_timeline_periods_find(const struct ct_timeline *t, struct ct_timeline_moment *to,
				double *with);

/* timeline_bursts.c
 *
 * Events that return at equal distances.
 */

#define CT_TIMELINE_BURSTS 4 /* fewer have no period */

/* An event, or several near to each other. */
struct ct_timeline_burst {
	double begin, end, amount;
	uint32_t pieces, event, thread; /* PIECES: events of the first one's THREAD */
	bool lasts;			/* it has an event with a duration */
};

/* Are the COUNT events of LIST, in order, one of TRIES lists, periodic? Then TO, which has the file
 * only, gets what is known without a function; its score is their amount. ROOM is for as many. */
bool ct_timeline_bursts_find(const struct ct_timeline_burst *list, size_t count,
			     struct ct_timeline_burst *room, size_t tries,
			     struct ct_timeline_moment *to);
/* Do A and B return with one period, at the same time? */
bool ct_timeline_bursts_same(const struct ct_timeline_moment *a,
			     const struct ct_timeline_moment *b);

/* timeline_locks.c
 *
 * Moments of waits for locks.
 */

/* Returns the lock that M is mostly about, which the caller frees; NULL: M's file has none. */
char *ct_timeline_locks_name(const struct ct_timeline_moment *m);
/* Returns "held longest in FUNCTION, by thread NAME" or "mostly ended by FUNCTION": who made the
 * others wait for LOCK in M, by the companions beside M's file. The caller frees it. NULL: it isn't
 * known. ZERO: the axis's zero in ns since 1970. */
char *ct_timeline_locks_other(const struct ct_timeline_moment *m, const char *lock, int64_t zero);

/* timeline_draw.c
 *
 * The picture: rows of threads or states, columns of time.
 */

/* Sets COLUMNS, NAME_WIDTH and UTF8 for the terminal. */
void ct_timeline_draw_measure(struct ct_timeline_view *v);
void ct_timeline_draw_text(const struct ct_timeline_view *v);
void ct_timeline_draw_json(const struct ct_timeline_view *v, struct ct_json *j);

/* Each writes a text of CT_NUMBER_ROOM to TO, and returns it. Writes NS so that -from reads it,
 * "2.35s", "1m30s", with DIGITS after the point. */
const char *ct_timeline_draw_time(char *to, double ns, int digits);
/* Returns the digits that tell times NS apart. */
int ct_timeline_draw_digits(double ns);
/* Writes RATE, each second: "3.10" of processors or threads, "1.5 MB/s". */
const char *ct_timeline_draw_rate(const struct ct_timeline *t, char *to, double rate);

/* timeline_memory.c
 *
 * Jumps of resident memory.
 */

struct ct_timeline_jump {
	double from, to, bytes; /* times as in the counters */
};

#define CT_TIMELINE_JUMPS 3
/* Stores the jumps in COUNT counters, which are in order, in TO. Returns how many; none if there
 * are more than CT_TIMELINE_JUMPS. */
size_t ct_timeline_memory_jumps(const struct ct_times_counter *c, size_t count,
				struct ct_timeline_jump *to);
/* Finds the function by which the blocks of heap profile T grew most at the time of J, on the axis,
 * and when. Returns false if that doesn't explain J. M->rate is the growth in bytes. */
bool ct_timeline_memory_cause(const struct ct_timeline *t, const struct ct_timeline_jump *j,
			      struct ct_timeline_moment *m);

#endif
