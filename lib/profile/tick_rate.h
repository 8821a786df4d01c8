/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures how fast the processor's counter (cp_ticks) runs, by comparing it with the clock at two
 * times. The rate is used for the cost of handlers (run.c) and for the length of short waits
 * (modes/lock/signal/lock_clock.h). Any thread, no lock; each cp_tick_watch has one user. */
#ifndef CP_TICK_RATE_H
#define CP_TICK_RATE_H

#include <stdbool.h>
#include <stdint.h>

/* A rate is in ns per tick, multiplied by two to this power. */
#define CP_TICK_RATE_SHIFT 32

struct cp_tick_rate_pair {
	uint64_t ns, ticks; /* CLOCK_MONOTONIC and the counter at the same time */
	uint64_t asleep;    /* until then the machine was suspended for so many ns */
	uint64_t within;    /* number of ticks among which the one at NS lies */
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

/* The rate as known so far, from looks at different times. */
struct cp_tick_watch {
	struct cp_tick_rate_pair
		since;	/* the first look, or the first one after the counter restarted */
	uint64_t rough; /* the rate, accurate to one in a thousand; 0: not known */
	uint64_t rate;	/* accurate to one in a million */
};

/* Adds a look at NOW, and returns the rate. SINCE holds the first look. */
uint64_t cp_tick_rate_watch_look(struct cp_tick_watch *w, const struct cp_tick_rate_pair *now);

#endif
