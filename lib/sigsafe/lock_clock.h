/* The clock that waits for locks are measured by.
 *
 * A wait's end is read with the lock held, where each nanosecond makes all others wait longer. The
 * processor's counter takes a third of the time that the clock takes. So a wait begins with both,
 * and what passes since is told by the counter alone, while that is short: then its rate, which
 * the collector finds out (lib/collect_loop.c), is right to a nanosecond. Longer waits, and all of
 * them until the rate is known, read the clock.
 */
#ifndef CP_LOCK_CLOCK_H
#define CP_LOCK_CLOCK_H

#include <stdint.h>
#include <time.h>

#include "sigsafe/arch.h"
#include "sigsafe/atomic.h"

/* Written by the control half: lock.c, and the rate by collect_loop.c. */
struct cp_lock_clock {
	/* The vdso's clock_gettime, or libc's own. Set before the mode. */
	int (*read)(clockid_t, struct timespec *);
	uint64_t rate;	  /* of the counter: ns a tick, times 2^32 */
	uint64_t longest; /* ticks that it is good for; 0: the rate isn't known */
	uint64_t ms;	  /* ticks of a millisecond, about; 0: not known */
};
extern struct cp_lock_clock cp_lock_clock;

#define CP_LOCK_TICKS_NS UINT64_C(1000000) /* LONGEST, in ns */

struct cp_lock_moment {
	uint64_t ns, ticks;
	uint64_t enough; /* ticks: a wait that takes less needs nothing but its length (or 0) */
};

static inline uint64_t cp_lock_now_by(clockid_t clock)
{
	struct timespec t = { 0 };

	cp_lock_clock.read(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t cp_lock_now(void)
{
	return cp_lock_now_by(CLOCK_MONOTONIC);
}

/* Which of the kernel's ticks it is: changes each 1 to 10 ms. */
static inline uint32_t cp_lock_tick(void)
{
	struct timespec t = { 0 };

	cp_lock_clock.read(CLOCK_MONOTONIC_COARSE, &t);
	return (uint32_t)t.tv_nsec;
}

static inline struct cp_lock_moment cp_lock_begin(void)
{
	uint64_t now = cp_lock_now();

	return (struct cp_lock_moment){ now, cp_ticks(), 0 };
}

/* TICKS, of a wait shorter than LONGEST, in ns. */
static inline uint64_t cp_lock_ticks_ns(uint64_t ticks)
{
	return ticks * cp_load_relaxed(&cp_lock_clock.rate) >> 32;
}

/* TICKS, of which a millisecond has MS, in ns, however many. */
static inline uint64_t cp_lock_long_ticks_ns(uint64_t ticks, uint64_t ms)
{
	return ticks / ms * CP_LOCK_TICKS_NS + ticks % ms * CP_LOCK_TICKS_NS / ms;
}

/* NS in ticks, no more than LONGEST; 0 while the rate isn't known. */
static inline uint64_t cp_lock_ns_ticks(uint64_t ns)
{
	uint64_t longest = cp_load_acquire(&cp_lock_clock.longest);

	return ns < CP_LOCK_TICKS_NS ? ns * longest / CP_LOCK_TICKS_NS : longest;
}

/* Now, in monotonic ns; not before BEGAN. */
static inline uint64_t cp_lock_end(struct cp_lock_moment began)
{
	uint64_t ticks = cp_ticks() - began.ticks, now;

	/* Acquire: the rate is that of the limit, or a newer one. */
	if (ticks < cp_load_acquire(&cp_lock_clock.longest))
		return began.ns + cp_lock_ticks_ns(ticks);
	now = cp_lock_now();
	return now > began.ns ? now : began.ns;
}

/* RATE as above; 0: not known. The last one stays then, for those who have seen the limit. */
static inline void cp_lock_clock_set(uint64_t rate)
{
	if (rate)
		cp_store_relaxed(&cp_lock_clock.rate, rate);
	/* Release: pairs with the above. */
	cp_store_release(&cp_lock_clock.longest, rate ? (CP_LOCK_TICKS_NS << 32) / rate : 0);
}

static inline void cp_lock_clock_set_rough(uint64_t rate)
{
	cp_store_relaxed(&cp_lock_clock.ms, rate ? (CP_LOCK_TICKS_NS << 32) / rate : 0);
}

#endif
