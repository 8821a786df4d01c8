/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses the calls whose stacks are recorded, and the weight of each recorded call.
 *
 * Pure arithmetic on the state of one cell: the calls of a thread of one op and kind (io_counts.h);
 * called by io_event.c. All times are ticks of the mode's clock (io_event.h).
 *
 * A cell counts four sums: calls, ticks of delay, bytes and errors. On each of these four lines lie
 * sampling points, and a call is recorded if there is a point on its piece of any line. So the
 * usual call only compares the sums with the next points. Distances are exponential, with a mean of
 * a CP_IO_SHARE-th of the sum so far: a call that makes up much of what its cell has counted, in
 * any unit, is recorded nearly surely. While a sum is below CP_IO_SHARE, each of its events has a
 * point: the first calls and the first errors are recorded for sure.
 *
 * "So far" means in this period and the one before, because otherwise the points of a long run
 * would become ever rarer. A period is so long that a line of steady growth has a sixteenth to an
 * eighth of the budget. Besides, there are so many points on the line of delay that a thread that
 * waits all the time has a quarter of the budget: so calls that are rare but long are seen, too.
 *
 * With the mean distances I, a call of 1, D, B and E has a point with p = 1 - e^-m, where m = 1/I +
 * D/I + B/I + E/I, and counts for w = 1/p calls like it (Horvitz and Thompson). Distances depend on
 * the past alone, so the expected sums of any place are the true ones. The rows are scaled to the
 * exact sums later (io_rows.c).
 *
 * A ring that is full would lose the calls of one time. While it fills up faster than it is
 * emptied, points are left out by chance, and p is that of the others.
 *
 * A new cell begins as if it had already counted a part of what all threads have counted lately,
 * and a cell stays with the number of a thread's record, for later threads. So of many threads that
 * live for a few calls the first call of each is recorded, and few others.
 */
#ifndef CP_IO_SAMPLE_H
#define CP_IO_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

/* The sums of a cell. */
enum cp_io_sum { CP_IO_CALLS, CP_IO_TICKS, CP_IO_BYTES, CP_IO_ERRORS, CP_IO_SUMS };

/* Stacks that a thread has recorded per second, roughly, in a long run. */
#define CP_IO_BUDGET 200u
/* Points on each line while its sum grows e-fold; the events that are recorded for sure. */
#define CP_IO_SHARE 32
/* Weights are stored in 1/65536ths. */
#define CP_IO_WEIGHT_SHIFT 16

/* What the control half sets, also while the mode is on. */
struct cp_io_rates {
	uint64_t second; /* ticks per second, roughly */
	unsigned budget; /* CP_IO_BUDGET; tests try others */
};

/* Where the next call is looked at: when a sum or the time reaches it. All 0: at once. */
struct cp_io_points {
	uint64_t next[CP_IO_SUMS];
	uint64_t time;
};

struct cp_io_sampler {
	uint64_t interval[CP_IO_SUMS]; /* mean distance that the next point was drawn with;
					  0: every event has a point */
	uint64_t before[CP_IO_SUMS];   /* the part of the sums that is forgotten; below 0: what is
					  assumed before the first call */
	uint64_t mark[CP_IO_SUMS];     /* the sums at the begin of the period */
	uint64_t since;		       /* begin of the period; 0 = not begun */
};

/* Return the length of a period in ticks. */
uint64_t cp_io_sample_period(const struct cp_io_rates *r);
/* Begin at NOW. RECENT: the sums of all threads of the recent past, in cells of this op and kind.
 */
void cp_io_sample_begin(struct cp_io_sampler *s, const uint64_t recent[CP_IO_SUMS], uint64_t now);
/* Decide about a call, CALL, that ended at NOW and has brought its cell's sums to SUMS. One of
 * them, or NOW, has reached P. RANDOM: the thread's state, not 0. Returns the call's weight in
 * 1/65536ths; 0: it isn't recorded. */
uint64_t cp_io_sample_take(struct cp_io_sampler *s, struct cp_io_points *p, uint64_t *random,
			   const struct cp_io_rates *r, const uint64_t sums[CP_IO_SUMS],
			   const uint64_t call[CP_IO_SUMS], uint64_t now, double room);

/* Return VALUE times WEIGHT, rounded. */
static inline uint64_t cp_io_sample_weigh(uint64_t value, uint64_t weight)
{
	return (uint64_t)(((unsigned __int128)value * weight + (1u << (CP_IO_WEIGHT_SHIFT - 1))) >>
			  CP_IO_WEIGHT_SHIFT);
}

#endif
