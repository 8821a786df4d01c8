/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses the calls whose stacks are recorded, and the weight of each recorded call.
 *
 * Pure arithmetic on a state that belongs to one thread; called by io_event.c. All times are ticks
 * of the mode's clock (io_event.h).
 *
 * The estimator. A call of D ticks that moved B bytes has the measure
 *
 *     m = D / tick_interval + B / byte_interval + 1 / CP_IO_CALLS
 *
 * Sampling points lie on the line of delay and, independently, on the line of bytes: two Poisson
 * processes, with one point per interval in the mean. A call is recorded if there is a point on its
 * piece of either line. A third, thin process gives every call the same chance, so that no call
 * counts for more than CP_IO_CALLS. The processes laid over each other are one Poisson process over
 * m, so one countdown draws for all, and the chance is p = 1 - e^-m. While the thread has tokens,
 * every call is recorded, and p = 1. A recorded call counts for w = 1/p calls, w D ticks, w B bytes
 * and, if it failed, w errors (Horvitz and Thompson). p depends only on the past, on the call's own
 * D and B, and w is its inverse, so the expected sum over the calls of any place is the true sum,
 * in each of the four units. The intervals may change between calls, as long as the change depends
 * on the past alone, because a Poisson process has no memory.
 *
 * Half of the budget goes into tokens, of which a thread begins with some if the process has saved
 * them (cp_io_sample_saved). Of the rest, one half goes into points on the line of delay (a thread
 * has at most a second of delay in a second), and one half into points on the line of bytes. For
 * the last, byte_interval follows the rate of the points.
 */
#ifndef CP_IO_SAMPLE_H
#define CP_IO_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

/* One unit of the measure. */
#define CP_IO_ONE_SHIFT 40
#define CP_IO_ONE (UINT64_C(1) << CP_IO_ONE_SHIFT)
/* Weights are stored in 1/65536ths. */
#define CP_IO_WEIGHT_SHIFT 16

/* Intervals in a row of which one surely has a point: e^-64 is nothing. */
#define CP_IO_SURE 64
/* The most calls that a recorded one counts for. Threads make up to some million calls in a second.
 */
#define CP_IO_CALLS_SHIFT 15
#define CP_IO_CALLS (1u << CP_IO_CALLS_SHIFT)

/* Limits of the byte interval, as powers of two, and where it begins. */
#define CP_IO_BYTES_MIN_SHIFT 12
#define CP_IO_BYTES_FIRST_SHIFT 16
#define CP_IO_BYTES_MAX_SHIFT 36

/* What the control half sets, also while the mode is on. */
struct cp_io_rates {
	uint64_t second; /* ticks per second, roughly */
	unsigned budget; /* stacks per second and thread */
};

struct cp_io_sampler {
	int64_t left;	      /* measure up to the next point; 0 or less: reached */
	uint64_t random;      /* state of the generator; 0 = the thread has not begun */
	uint64_t credit;      /* tokens are used up to this time */
	uint64_t attention;   /* from this time on there is a token */
	uint64_t per_tick;    /* measure of a tick */
	uint64_t sure;	      /* ticks of delay that are CP_IO_SURE intervals */
	uint64_t per_byte;    /* measure of a byte */
	uint64_t sure_bytes;  /* bytes that are CP_IO_SURE intervals */
	uint64_t last;	      /* time of the last point or change of the byte interval */
	uint32_t bytes_shift; /* log2 of the byte interval */
	uint32_t reserved;
};

/* Take the tokens with which a thread begins at NOW. Returns them in ticks, as their price is. USED
 * is the process's, 0 at first: the time up to which tokens are used, on a scale of its own. The
 * process saves the tokens of a few threads, so that a short program's calls are all recorded.
 * Without this bound a program whose threads live for a few calls would have a stack taken at each
 * call. */
uint64_t cp_io_sample_saved(uint64_t *used, const struct cp_io_rates *r, uint64_t now);
/* Begin at NOW with new draws, and SAVED ticks of tokens. SEED makes the thread's draws its own. */
void cp_io_sample_begin(struct cp_io_sampler *s, const struct cp_io_rates *r, uint64_t now,
			uint64_t saved, uint64_t seed);

/* The measure of a call. */
static inline uint64_t cp_io_sample_measure(const struct cp_io_sampler *s, uint64_t ticks,
					    uint64_t bytes)
{
	/* Beyond so many intervals a call is certain to be recorded. The bounds keep the products
	 * within their words. */
	if (__builtin_expect(ticks > s->sure, 0))
		ticks = s->sure;
	if (__builtin_expect(bytes > s->sure_bytes, 0))
		bytes = s->sure_bytes;
	return ticks * s->per_tick + bytes * s->per_byte + (CP_IO_ONE >> CP_IO_CALLS_SHIFT);
}

/* Decide about a call of measure M that ended at NOW, after M was subtracted from LEFT.
 * BYTES_SHARE: most of M comes from bytes. Returns its weight in 1/65536ths; 0: the call isn't
 * recorded. */
uint64_t cp_io_sample_take(struct cp_io_sampler *s, const struct cp_io_rates *r, uint64_t now,
			   uint64_t m, bool bytes_share);

/* Return VALUE times WEIGHT, rounded. */
static inline uint64_t cp_io_sample_weigh(uint64_t value, uint64_t weight)
{
	return (uint64_t)(((unsigned __int128)value * weight + (1u << (CP_IO_WEIGHT_SHIFT - 1))) >>
			  CP_IO_WEIGHT_SHIFT);
}

#endif
