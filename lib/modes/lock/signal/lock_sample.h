/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses the waits whose stacks are taken, and says how many waits each of them stands for.
 *
 * Pure arithmetic on a state that belongs to one thread and one kind of lock; called by
 * lock_event.c. All waits are counted, with their delay. So the mode knows these totals exactly,
 * and scales the sampled waits to them (profile/strata.h).
 *
 * Waits are laid end to end on a line. The length of a wait on it is its measure: the wait's share
 * of the waits so far plus its share of the delay so far, times a constant, and at least PER_NS for
 * each ns of delay. There are points on the line, 0.5 to 1.5 apart, 1 in the mean. A wait with a
 * point on it is sampled. So the first waits of a thread, and long ones, are sampled surely; later
 * ones by chance, in proportion to what they add. The waits so far are those of the last second or
 * two, and a thread can't wait more than a second per second, so a long run has a steady rate of
 * samples.
 */
#ifndef CP_LOCK_SAMPLE_H
#define CP_LOCK_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

struct cp_lock_rates {
	float events; /* the constant of the shares */
	float per_ns; /* least measure of a ns of delay */
};

/* Stacks that a thread has recorded per second, roughly, in a long run. */
#define CP_LOCK_BUDGET 100u
/* Waits of this number per thread and kind are sampled surely, whatever the budget. */
#define CP_LOCK_SAMPLE_FIRST 32u

struct cp_lock_stratum {
	uint64_t count, delay; /* all waits, exactly */
	float left;	       /* measure up to the next point */
	uint32_t recent;       /* waits so far, halved each second */
	uint64_t halved;       /* monotonic ns: when RECENT was halved last */
};

/* Return the rates for BUDGET stacks per second and thread: at 0.75 points for each of them a wait
 * of 2 s / BUDGET is sampled surely. */
static inline struct cp_lock_rates cp_lock_sample_rates(unsigned budget)
{
	float events = 1.5f * CP_LOCK_SAMPLE_FIRST;

	return (struct cp_lock_rates){ .events = (float)budget / 2 > events ? (float)budget / 2
									    : events,
				       .per_ns = 0.75e-9f * (float)budget };
}

/* Return the ns of delay after which a wait that begins now is sampled, if S has no other wait
 * meanwhile; 0: it is sampled however short it is. */
uint64_t cp_lock_sample_after(const struct cp_lock_stratum *s, struct cp_lock_rates r);
/* Count a wait of DELAY ns in S, which ended at NOW. Returns how many waits it stands for, 1 or
 * more, if it is sampled; otherwise 0. *RANDOM is the generator's state; 0 = not seeded. */
double cp_lock_sample_wait(struct cp_lock_stratum *s, uint64_t *random, uint64_t now,
			   uint64_t delay, struct cp_lock_rates r);
/* Return the ns of delay to another point. */
uint64_t cp_lock_sample_gap(const struct cp_lock_stratum *s, uint64_t *random,
			    struct cp_lock_rates r);

#endif
