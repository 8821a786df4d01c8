/* A thread's perf event: the kernel's task clock, which samples at any rate, and where it hits
 * the kernel tells that part of the stack, too.
 *
 * No descriptor is held. A mapping keeps its file open, and with it the event, its owner and its
 * signal: the descriptor is closed as soon as the event is mapped. So the program can
 * neither close ours nor run out of its own because of us, and never sees one.
 *
 * What needs the descriptor, such as another period, needs a new event instead. The period
 * is random: a program that works in turns must not run in step with it. It is drawn anew with
 * every event, and a hit counts for the period of its event, so sums stay true.
 *
 * Made by the control half (cpu_perf.c) or, anew, by the thread's own handler; ended by the control
 * half. BUSY and cp_cpu_state.running are a Dekker pair: a handler that has seen the source running
 * after it set BUSY has the event for itself until it clears BUSY.
 */
#ifndef CP_PERF_EVENT_H
#define CP_PERF_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cp_perf {
	void *pages;	 /* the control page, and one of samples behind it; NULL: no event */
	uint64_t period; /* what a hit counts for, ns */
	uint64_t credit; /* ns that were not given out in whole sampling periods */
	uint64_t due;	 /* when the first hit comes, by the thread's CPU clock, ns; 0: unknown */
	uint64_t random;
	void *past;    /* pages of the first event, which hits no more; NULL: given back */
	uint32_t left; /* hits until the event is made anew */
	bool once;     /* it is the first, which hits once */
	uint32_t busy; /* its handler is at it */
	int32_t fd;    /* the number that its signals carry; not open any more */
};

/* Kernel frames in an event's page of samples, leaf first, the callers' as return addresses. */
struct cp_perf_frames {
	const uint64_t *words; /* a power of two of them; indices wrap around */
	uint64_t mask, at;
	unsigned count;
};

extern size_t cp_perf_page; /* the kernel's page size; before the first event */

/* Give the thread TID, this one or another, an event that hits once, FIRST_NS from now: a random
 * part of about BASE_NS. The hit counts for a whole period, so that threads that live shorter have
 * their share on average. P has none. 0 or a negative errno. */
int cp_perf_open(struct cp_perf *p, int tid, uint64_t first_ns, uint64_t base_ns);
/* LEFT is used up: this thread's event is made anew, with another period of about BASE_NS. 0, or a
 * negative errno: there is no event any more. Should it fail after a first success, the old event
 * goes on. Its handler. */
int cp_perf_renew(struct cp_perf *p, int tid, uint64_t base_ns);
/* Give back PAST: at the second hit, in its handler. Fine if there is none. */
void cp_perf_forget(struct cp_perf *p);
/* End it. Fine if there is none. Not while BUSY. */
void cp_perf_close(struct cp_perf *p);

/* The oldest hit: how many it stands for, with those that the page had no room for, and its kernel
 * frames. 0: there is none. */
unsigned cp_perf_next(const struct cp_perf *p, struct cp_perf_frames *frames, uint64_t *tail);
/* How far the kernel has written: what cp_perf_next has a tail beyond it for came later. */
uint64_t cp_perf_written(const struct cp_perf *p);
/* Up to TAIL, as cp_perf_next had it, the page is the kernel's again. */
void cp_perf_release(const struct cp_perf *p, uint64_t tail);

/* HITS happened: how many sampling periods of BASE_NS they are. */
uint64_t cp_perf_credit(struct cp_perf *p, uint64_t hits, uint64_t base_ns);

/* Whether the program itself made FD send SIGPROF to this thread. */
bool cp_perf_is_programs(int fd);

#endif
