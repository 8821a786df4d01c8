/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses the waits and unlocks to record when they come faster than the budget, and the weight of
 * each recorded event.
 *
 * Pure arithmetic on a state that belongs to one thread; called by lock_event.c and lock_holder.c.
 * Invariant: whether an event is recorded depends on the past, on the event's own delay and on
 * chance. Its weight is the inverse of that chance, so the expected sum over the events of any
 * place is the true sum.
 *
 * Waits. Half of the budget is a bucket of tokens: while there are any, each wait is recorded as it
 * is. Without a token, waits are laid end to end on a line of delay, which is divided into strata
 * of one length. In each stratum one point is drawn, and the wait on it represents the whole
 * stratum. So the sum of the delay is right up to one stratum per thread, whatever the waits are
 * like. A thread can't wait more than a second per second, which bounds the samples without reading
 * the clock.
 *
 * Unlocks. The delay that an unlock will have caused isn't known yet, so a stratum is a number of
 * unlocks, one of which is recorded; the number follows the rate. The choice in a stratum is known
 * as soon as the stratum before is over. But if no thread had unlocked the lock for a stratum of
 * time, its unlock is recorded as it is: the lock was held for long, or is wanted seldom. Otherwise
 * a thread that holds a lock for long once in a thousand times would be recorded by chance, and
 * then count a thousandfold.
 */
#ifndef CP_LOCK_SAMPLE_H
#define CP_LOCK_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

/* The limit of saved tokens: for waits, those of CP_LOCK_SAVED_NS; for unlocks, the number of
 * entries of a thread in lock_holder.c. With more, some entries would be gone before their waiters
 * come. */
#define CP_LOCK_SAVED_NS UINT64_C(1000000000)
#define CP_LOCK_SAVED_UNLOCKS 8

struct cp_lock_waits {
	uint64_t credit;   /* monotonic ns: tokens are used up to here */
	uint64_t stratum;  /* ns of delay, when the point was drawn; 0 = no point was drawn */
	uint64_t position; /* in the stratum */
	uint64_t point;	   /* drawn in the stratum */
	uint64_t random;   /* state of the generator; 0 = not seeded */
};

struct cp_lock_unlocks {
	uint64_t credit;
	uint64_t alone;		  /* as credit, for unlocks recorded as they are */
	uint64_t began;		  /* begin of the stratum, monotonic ns; 0 = not begun */
	uint32_t size, at, taken; /* unlocks in the stratum; seen so far; the one to record */
};

/* The number of events and the delay that a recorded event represents. */
struct cp_lock_sample {
	uint64_t count, delay;
};

/* Decide about a wait of DELAY ns that ended at NOW. STRATUM: see cp_lock_stratum; 0 = record all
 * waits. Returns true if the wait must be recorded as OUT. */
bool cp_lock_sample_wait(struct cp_lock_waits *w, uint64_t now, uint64_t delay, uint64_t stratum,
			 struct cp_lock_sample *out);

/* Return the number of ns below which a wait that begins at NOW isn't recorded, if no other wait
 * comes between. */
uint64_t cp_lock_sample_left(const struct cp_lock_waits *w, uint64_t now, uint64_t stratum);

/* Begin a new stratum of unlocks. */
void cp_lock_sample_begin(struct cp_lock_unlocks *u, struct cp_lock_waits *random);
/* Return true if one of several unlocks is recorded. */
static inline bool cp_lock_sample_draws(const struct cp_lock_unlocks *u)
{
	return u->size > 1;
}
/* Return true if the next unlock reads the processor's counter, which is wanted several times per
 * millisecond: every unlock, or some of many. */
static inline bool cp_lock_sample_looks(const struct cp_lock_unlocks *u)
{
	return u->size < 256 || u->at % 8 == 0;
}
/* Return true if an unlock at NOW is recorded as it is, outside the stratum. The lock was unlocked
 * before at BEFORE; 0 if unknown. */
bool cp_lock_sample_alone(struct cp_lock_unlocks *u, uint64_t now, uint64_t before,
			  uint64_t stratum);
/* Count an unlock. Returns how many unlocks it represents; 0 = it is not recorded. Inlined: its
 * lock is held. */
static inline uint32_t cp_lock_sample_unlock(struct cp_lock_unlocks *u,
					     struct cp_lock_waits *random)
{
	if (__builtin_expect(u->at >= u->size, 0))
		cp_lock_sample_begin(u, random);
	return u->at++ == u->taken ? u->size : 0;
}
/* Record the next unlock, if the stratum has one, in place of the one just chosen, which is of no
 * use. */
static inline void cp_lock_sample_pass(struct cp_lock_unlocks *u)
{
	u->taken = u->at;
}

/* Return true if the next unlock is recorded and represents others. */
static inline bool cp_lock_sample_next(const struct cp_lock_unlocks *u)
{
	return u->size > 1 && u->at == u->taken;
}

/* Return true if cp_lock_sample_time must be called. This is seldom, because it costs as much as
 * everything else. */
static inline bool cp_lock_sample_is_time(const struct cp_lock_unlocks *u)
{
	return u->at >= u->size || u->at % 16 == 0;
}

/* Adapt the stratum to the rate of unlocks. Call after the unlock, which was at NOW or shortly
 * before. */
void cp_lock_sample_time(struct cp_lock_unlocks *u, struct cp_lock_waits *random, uint64_t now,
			 uint64_t stratum);

/* Return the ns per sample at half of BUDGET samples per second; 0 for no budget. */
static inline uint64_t cp_lock_stratum(unsigned budget)
{
	return budget ? UINT64_C(2000000000) / budget : 0;
}

#endif
