/* SPDX-License-Identifier: BSD-3-Clause */
/* times.c
 *
 * The time index of a profile: when each recorded event of its samples happened, on which thread,
 * and how long it took; spans, the lives of threads, memory in use and CPU time once a second, and
 * who woke whom.
 *
 * It is field 7361 of the profile's message, which other readers skip. read.c reads it, and
 * write.c writes it. What removes or joins samples (filters, ct_combine) keeps it in step.
 *
 * Invariants: all times are nanoseconds since ct_times_start() and at most CT_TIMES_LATEST; indices
 * of threads, samples and strings are in range; events, spans, counters and wakes are in the order
 * of their times.
 */
#ifndef CP_CORE_TIMES_H
#define CP_CORE_TIMES_H

#include <math.h>

#include "core/model.h"

/* Not libm's functions for double: those that a linker finds today are of glibc 2.29, and a release
 * runs with 2.28. */
static inline double ct_exp(double x)
{
	return (double)expl((long double)x);
}

static inline double ct_log(double x)
{
	return (double)logl((long double)x);
}

static inline double ct_pow(double x, double y)
{
	return (double)powl((long double)x, (long double)y);
}

#define CT_TIMES_FIELD 7361
#define CT_TIMES_LATEST (UINT64_C(1) << 61)
/* The most bytes that are read of an index. */
#define CT_TIMES_MAX ((size_t)128 << 20)

struct ct_event {
	uint64_t begin, duration; /* duration 0: it happened at a moment */
	uint64_t weight;	  /* amount of the mode's main type: ns, bytes, ... */
	uint32_t thread, sample;  /* indices */
	uint32_t count;
	bool death; /* of a heap block, which leaves the memory in use */
};

struct ct_times_span {
	uint64_t begin, duration;
	uint64_t weight;       /* stands for so many spans */
	uint32_t thread, name; /* index, string */
};

struct ct_times_thread {
	uint64_t begin, end;  /* end 0: alive at the end */
	int64_t tid, process; /* process 0: the profile's own */
	uint32_t name;	      /* string */
	bool begun_before;
};

struct ct_times_counter {
	uint64_t when, resident, cpu; /* bytes, ns of CPU time since the start */
};

struct ct_times_wake {
	uint64_t when;
	uint32_t woken, waker; /* threads */
	uint32_t sample;       /* of the wait that ended; CT_NONE: not known */
};

struct ct_times {
	int64_t start; /* the zero of its times, in ns since 1970 */
	/* The index has what happened between FROM and END. */
	uint64_t from, end;
	uint64_t budget, keep; /* CPROF_TIMES: bytes, or nanoseconds; 0: not given */
	/* Each event's weight and count are multiplied by THINNING (ct_times_weight). SEEN: events
	 * ever recorded. */
	uint64_t thinning, seen;
	/* By sample: the sum of the weights of all its events that are no deaths, kept here or not.
	 * 0: nothing is known of the sample's times. */
	uint64_t *recorded;
	struct ct_event *events;
	struct ct_times_span *spans;
	struct ct_times_thread *threads;
	struct ct_times_counter *counters;
	struct ct_times_wake *wakes;
	size_t recorded_count, event_count, span_count, thread_count, counter_count, wake_count;

	struct ct_times_own *own; /* allocated sizes; private to times.c */
};

/* Reads SIZE bytes of the field. May be called several times, and before the samples are known. An
 * error is stored in P's times_fault. */
void ct_times_read(struct ct_profile *p, const uint8_t *data, size_t size);
/* Notes that the index of P can't be used because it WHAT. */
void ct_times_refuse(struct ct_profile *p, const char *what);
/* Checks and sorts the index, after everything else is read. A wrong one is dropped, and
 * times_fault says why. */
void ct_times_finish(struct ct_profile *p);

/* Returns an empty index, which is P's. */
struct ct_times *ct_times_new(struct ct_profile *p);
/* Brings events, spans, counters and wakes into the order of their times. */
void ct_times_sort(struct ct_times *t);
/* Returns, by sample, the sum of the weights of the events that are here and no deaths. The caller
 * frees it. */
double *ct_times_kept(const struct ct_times *t);
/* Removes P's index. */
void ct_times_drop(struct ct_profile *p);
/* Visits all references to strings. */
void ct_times_strings(struct ct_times *t, void (*visit)(uint32_t *string, void *arg), void *arg);

/* Sample I of P becomes MAP[I]; CT_NONE: it is removed, and so are its events. COUNT: number of
 * samples before, LEFT after. No two become one. */
void ct_times_map(struct ct_profile *p, const uint32_t *map, size_t count, size_t left);
/* Gives TO, whose samples and header were made of the COUNT sources FROM, the events of all of
 * them, at their universal times: sample I of FROM[K] is sample MAPS[K][I] of TO. TO gets no index
 * if no source has one. */
void ct_times_join(struct ct_profile *to, struct ct_profile *const *from, uint32_t *const *maps,
		   size_t count);

/* Returns the process that wrote P, by the comment "libcprof 1.0, mode cpu, pid 123, Linux ...";
 * 0: unknown. */
int64_t ct_times_join_process(const struct ct_profile *p);

/* Returns the field's bytes for the file, which the caller frees. */
uint8_t *ct_times_pack(const struct ct_times *t, size_t *size);

/* Returns what event E stands for. */
static inline double ct_times_weight(const struct ct_times *t, const struct ct_event *e)
{
	return (double)e->weight * (double)t->thinning;
}

/* Returns the index of the type that the weights are amounts of, or that is in proportion to it. */
size_t ct_times_type(const struct ct_profile *p);
/* Returns the share of the sum of type TYPE that has a time in P's index: 0 to 1. */
double ct_times_share(const struct ct_profile *p, size_t type);

/* Returns when the times of P's index begin, in ns since 1970: the same for all modes that began
 * together. */
int64_t ct_times_start(const struct ct_profile *p);
/* Returns TO - FROM; times in files may be anything. */
int64_t ct_times_between(int64_t from, int64_t to);

/* times_moment.c
 *
 * Moments and durations in options.
 */

/* Each of these prints a message on stderr and returns -1 if TEXT is wrong, and otherwise 0. */
int ct_times_moment_wrong(const char *option, const char *text, const char *what);
/* Reads a duration into *NS. NULL leaves *NS as it is, here and below. */
int ct_times_moment_duration(const char *option, const char *text, double *ns);
/* Reads a moment into *WHEN, in ns since 1970: a duration since START, or a time of day. */
int ct_times_moment_read(const char *option, const char *text, int64_t start, int64_t *when);

/* times_latency.c
 *
 * The threads that run at a moment, by the samples of their CPU time.
 */

/* Counts them for COUNT profiles of one run. Call before the factors are asked for. */
void ct_times_latency_count(struct ct_profile *const *profiles, size_t count);
/* Returns the mean of 1 / running threads while event E, of P, ran; 0: nothing ran in it. */
double ct_times_latency_factor(const struct ct_profile *p, const struct ct_event *e);

/* times_waits.c
 *
 * The waits for locks that times_filter.c has seen, for what their holders have caused: an unlock
 * has caused what was waited for its lock since the unlock before. Times are ns since the start of
 * the run.
 */

/* Is P of waits for locks? */
bool ct_times_waits_are(const struct ct_profile *p);
/* Is P of the holders of locks, and were waits added? */
bool ct_times_waits_have_holders(const struct ct_profile *p);
/* Adds a wait for the lock of P's SAMPLE, or a CHOSEN part of one. */
void ct_times_waits_add(const struct ct_profile *p, size_t sample, double begin, double end,
			double weight, bool chosen);
/* Returns, by event of P, the part of what it caused that was waited before WHEN, or, if that is
 * negative, in the chosen parts; -1: not known. ZERO: when P's index begins. The caller frees it.
 */
double *ct_times_waits_parts(const struct ct_profile *p, double zero, double when);

/* times_ages.c */

/* Moves what is in use from the rows by age, which are of the run's end, to the rows of the same
 * stacks that have the allocations, and so their times. */
void ct_times_ages_join(struct ct_profile *p);

/* times_window.c
 *
 * What -from, -to, -last, -in-span, -span-longer and -latency ask for, and how it is said.
 */

struct ct_times_asked {
	const char *from, *to, *last, *in_span, *span_longer;
	bool latency;
};

#define CT_TIMES_TYPES 64 /* as in read_messages.c */

/* The window, in ns since 1970, and what is in it. */
struct ct_times_window {
	bool known;
	int64_t run_start, run_end, start, end;
	double spans, in_spans; /* that were chosen, and their ns */
	uint64_t thinning;
	struct ct_times_sums {
		double all, timed, in;
	} sums[CT_TIMES_TYPES];
};

const struct ct_times_asked *ct_times_window_asked(void);
/* Was one of the options given? */
bool ct_times_window_active(void);
/* Are only some spans asked for? */
bool ct_times_window_by_spans(void);
/* Sets *NS to the duration if only the end of the run is asked for. Returns 0, or -1 after a
 * message. */
int ct_times_window_last(double *ns);
/* Finds the window of COUNT profiles of one run. Returns 0, or -1 after a message. */
int ct_times_window_find(struct ct_profile *const *profiles, size_t count,
			 struct ct_times_window *to);
/* The first WINDOW that is shown is the one that the rest tells of. */
void ct_times_window_show(const struct ct_times_window *window);
/* Returns how long all spans took that -in-span and -span-longer have chosen, in ns. */
double ct_times_window_in_spans(void);
/* Returns when the window begins, in ns since the start of the run. */
int64_t ct_times_window_begin(void);
/* Writes one line: the window, and its share of type TYPE. Writes nothing without a window. */
void ct_times_window_say(const struct ct_profile *p, size_t type, FILE *to);
void ct_times_window_json(size_t type, struct ct_json *j);
/* Says that none of P's spans is the one that was asked for, and which there are. */
void ct_times_window_no_span(const struct ct_profile *p);
/* Returns how many events each one stands for that the values in the window are made of. */
double ct_times_window_thinning(void);

/* times_filter.c
 *
 * The values of a profile become those of the window, and its index is cut to it. Used by load.c,
 * for all verbs that read.
 */

/* Applies the options to COUNT profiles of one run, which were read from NAMES. The window is found
 * at the first call, and stays until it is forgotten. Returns 0, or -1 after a message. */
int ct_times_filter(struct ct_profile *const *profiles, const char *const *names, size_t count);
/* Did the last call fail because a profile has no index? */
bool ct_times_filter_lacked(void);
/* Returns whether P has an index; without one, says so of NAME. */
bool ct_times_filter_has(const struct ct_profile *p, const char *name);
/* The next profiles are of another run, and have a window of their own. */
void ct_times_filter_forget(void);

#endif
