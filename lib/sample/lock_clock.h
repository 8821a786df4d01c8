/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock that measures waits for locks.
 *
 * The end of a wait is read with the lock held, where each nanosecond makes all other threads wait
 * longer. Reading the processor's counter takes a third of the time of reading the clock. So both
 * are read when a wait begins, and the counter alone measures the time since, as long as that is
 * short: then the counter's rate, which the collector determines (lib/collect/collect_loop.c), is
 * right to a nanosecond. Longer waits, and all waits until the rate is known, read the clock.
 */
#ifndef CP_LOCK_CLOCK_H
#define CP_LOCK_CLOCK_H

#include <time.h>

#include "sample/sample.h"

/* Written by the control half: by lock.c, the rate by collect_loop.c. */
struct cp_lock_clock {
	/* The vdso's clock_gettime, or libc's; a system call where the program forbids the counter
	 * (sample.h). Set before the mode starts. */
	int (*read)(clockid_t, struct timespec *);
	uint64_t rate;	  /* ns per tick of the counter, times 2^32 */
	uint64_t longest; /* RATE is exact enough for this many ticks; 0: the rate is unknown */
	uint64_t ms;	  /* ticks in a millisecond, roughly; 0: unknown */
};
extern struct cp_lock_clock cp_lock_clock;

#define CP_LOCK_TICKS_NS UINT64_C(1000000) /* LONGEST as ns */

struct cp_lock_moment {
	uint64_t ns, ticks;
};

static inline uint64_t cp_lock_now_by(clockid_t clock)
{
	struct timespec t = { 0 };

	cp_load_relaxed (&cp_lock_clock.read)(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t cp_lock_now(void)
{
	return cp_lock_now_by(CLOCK_MONOTONIC);
}

static inline struct cp_lock_moment cp_lock_event_begin(void)
{
	uint64_t now = cp_lock_now();

	return (struct cp_lock_moment){ now, cp_ticks() };
}

/* Convert TICKS, fewer than LONGEST, to ns. */
static inline uint64_t cp_lock_ticks_ns(uint64_t ticks)
{
	return ticks * cp_load_relaxed(&cp_lock_clock.rate) >> 32;
}

/* Return the present time in monotonic ns, never before BEGAN. */
static inline uint64_t cp_lock_end(struct cp_lock_moment began)
{
	uint64_t ticks = cp_ticks() - began.ticks, now;

	/* Acquire: the rate is the one that belongs to this limit, or a newer one. */
	if (ticks < cp_load_acquire(&cp_lock_clock.longest))
		return began.ns + cp_lock_ticks_ns(ticks);
	now = cp_lock_now();
	return now > began.ns ? now : began.ns;
}

/* Set the rate; 0: unknown. With 0 the last rate stays, for threads that have already read the
 * limit. */
static inline void cp_lock_clock_set(uint64_t rate)
{
	if (cp_load_seqcst(&cp_ticks_forbidden))
		rate = 0;
	if (rate)
		cp_store_relaxed(&cp_lock_clock.rate, rate);
	/* Release: pairs with the acquire in cp_lock_end. */
	cp_store_release(&cp_lock_clock.longest, rate ? (CP_LOCK_TICKS_NS << 32) / rate : 0);
}

static inline void cp_lock_clock_set_rough(uint64_t rate)
{
	if (cp_load_seqcst(&cp_ticks_forbidden))
		rate = 0;
	cp_store_relaxed(&cp_lock_clock.ms, rate ? (CP_LOCK_TICKS_NS << 32) / rate : 0);
}

#endif
