/* How fast the processor's counter (cp_ticks) runs: found out by comparing it with the clock, at
 * two times. Used to say what handlers cost (run.c), and for the length of short waits
 * (sigsafe/lock_clock.h). Any thread; no lock. A watch is the one's who looks at it.
 */
#ifndef CP_TICK_RATE_H
#define CP_TICK_RATE_H

#include <stdbool.h>
#include <stdint.h>

/* A rate is in ns a tick, times two to this. */
#define CP_TICK_RATE_SHIFT 32

struct cp_tick_pair {
	uint64_t ns, ticks; /* CLOCK_MONOTONIC and the counter at one time */
	uint64_t asleep;    /* ns that the machine was suspended, until then */
	uint64_t within;    /* of so many ticks it is not known which one was at NS */
};

/* Now: of several readings the one that nothing came into. */
struct cp_tick_pair cp_tick_pair(void);

/* The counter neither stops nor changes its rate with the processor's; else it is good for
 * estimates alone. */
bool cp_tick_is_constant(void);

/* The machine was suspended between them: the clock stood still, and the counter may have gone on,
 * or have begun anew. */
bool cp_tick_slept(const struct cp_tick_pair *from, const struct cp_tick_pair *to);

/* 0: they are too close to each other, or the counter has begun anew. */
uint64_t cp_tick_rate(const struct cp_tick_pair *from, const struct cp_tick_pair *to);

/* The rate as it is known by now, from looks that are some time apart. */
struct cp_tick_watch {
	struct cp_tick_pair since; /* the first look, or the first at what is another counter */
	uint64_t rough;		   /* the rate, right to one in a thousand; 0: not known */
	uint64_t rate;		   /* right to one in a million */
};

/* One more look, at NOW; returns the rate. The first one is in SINCE. */
uint64_t cp_tick_watch_look(struct cp_tick_watch *w, const struct cp_tick_pair *now);

#endif
