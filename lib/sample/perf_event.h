/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread's perf event: the kernel's task clock, which samples at any rate, or a count of
 * something else, such as page faults. Where the event hits the kernel, the sample includes that
 * part of the stack, too.
 *
 * No descriptor is kept. The mapping keeps the event's file open, and with it the event, its owner
 * and its signal, so the descriptor is closed as soon as the event is mapped. The program therefore
 * can't close the profiler's descriptor, does not run out of descriptors because of it, and never
 * sees one.
 *
 * A change that needs the descriptor, such as another period, needs a new event instead. The period
 * is random: a program that works in cycles must not run in step with it. It is drawn anew for
 * every event, and a hit counts for the period of its event, so sums stay true.
 *
 * An event is made by a mode's control half or, anew, by the thread's own handler. The control half
 * ends it. BUSY and the mode's word that says that it runs are a Dekker pair: a handler that sets
 * BUSY and then sees the mode running has the event for itself until it clears BUSY.
 */
#ifndef CP_PERF_EVENT_H
#define CP_PERF_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sample/capture.h"

/* What an event counts: the kernel's numbers for perf_event_open. */
struct cp_perf_what {
	uint32_t type;	 /* PERF_TYPE_* */
	bool user;	 /* only in the program, not in the kernel */
	uint64_t config; /* which event of that type */
};

struct cp_perf {
	/* NULL: the task clock. It stays there while the event exists. */
	const struct cp_perf_what *what;
	void *pages;	 /* the control page and, after it, one page of samples; NULL: no event */
	uint64_t period; /* weight of a hit; ns of the task clock, else events */
	uint64_t first;	 /* the first event's period */
	uint64_t credit; /* ns that were not given out in whole sampling periods */
	uint64_t due;	 /* when the first hit is due, by the thread's CPU clock, ns; 0: unknown */
	uint64_t random;
	void *past;    /* pages of the first event, which hits no more; NULL: returned */
	uint32_t left; /* hits until the event is made anew */
	bool once;     /* this is the first event; the task clock's hits once */
	bool hit;      /* the first event has hit */
	uint32_t busy; /* its handler uses the event */
	int32_t fd;    /* the descriptor number in the event's signals; no longer open */
};

extern size_t cp_perf_page; /* the kernel's page size; set before the first event */

/* Give thread TID, this one or another, an event of P->what that hits first after FIRST: a random
 * part of about BASE, at most 10^9 (ns of the task clock, else events). The first hit counts for a
 * whole period, so that threads that live shorter have their share on average. P must have no
 * event. Returns 0 or a negative errno. */
int cp_perf_event_open(struct cp_perf *p, int tid, uint64_t first, uint64_t base);
/* Make this thread's event anew, with another period of about BASE, when LEFT is used up.
 * Returns 0, or a negative errno: there is no event any more. If a renewal fails after an earlier
 * one succeeded, the old event goes on. Called in the thread's handler. */
int cp_perf_event_renew(struct cp_perf *p, int tid, uint64_t base);
/* Unmap PAST, if any. Called at the second hit, in the thread's handler. */
void cp_perf_event_forget(struct cp_perf *p);
/* End the event, if any. Not while BUSY. */
void cp_perf_event_close(struct cp_perf *p);

/* Return how many hits the oldest record counts for, including those that the page had no room for;
 * 0 if there is no record. Sets *FRAMES to its kernel frames, and *TAIL to the end of the record.
 */
unsigned cp_perf_event_next(const struct cp_perf *p, struct cp_kernel_frames *frames,
			    uint64_t *tail);
/* Return how far the kernel has written. A record whose tail, from cp_perf_event_next, is beyond
 * this value came later. */
uint64_t cp_perf_event_written(const struct cp_perf *p);
/* Return the page to the kernel up to TAIL, as cp_perf_event_next set it. */
void cp_perf_event_release(const struct cp_perf *p, uint64_t tail);

/* Convert HITS into a number of sampling periods of BASE_NS. The remainder is kept in P. */
uint64_t cp_perf_event_credit(struct cp_perf *p, uint64_t hits, uint64_t base_ns);

/* Return how many events HITS of P stand for. Not for the task clock, whose first event hits once.
 */
uint64_t cp_perf_event_weight(struct cp_perf *p, uint64_t hits);

/* Return true if the program itself made FD send SIGPROF to this thread. */
bool cp_perf_event_is_programs(int fd);

#endif
