/* Which waits, and which unlocks, are recorded when they come faster than the budget, and what
 * each that is recorded then stands for.
 *
 * Pure arithmetic on a state that belongs to one thread; called by lock_event.c and
 * lock_holder.c. Invariant: whether an event is taken depends on the past, on the event's own delay
 * and on chance, and what it then counts for is the inverse of that chance, so the expected sum
 * over the events of any place is its true sum.
 *
 * Waits. Half of the budget is a bucket of tokens: while there are any, each wait is recorded as it
 * is. Without a token, waits are laid end to end on a line of delay, cut into strata of one
 * length; in each stratum one point is drawn, and the wait on it stands for the whole stratum. So
 * the sum of the delay is right up to one stratum a thread, whatever the waits are like. A thread
 * can't wait more than a second in a second, which bounds the samples without a look at the clock.
 *
 * Unlocks. What one will have caused isn't known yet, so strata are of a number of unlocks, one of
 * which is taken; the number follows the rate. Which one is known as soon as the one before it is
 * over. But of a lock that nobody had let go for a stratum of time, one is taken as it is: it was
 * held for long, or is wanted seldom. Else who holds a lock for long once in a thousand times would
 * be there by chance, and then a thousand times.
 */
#ifndef CP_LOCK_SAMPLE_H
#define CP_LOCK_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

/* Tokens can be saved up: of waits those of so long a time, of unlocks so many as a thread has
 * entries in lock_holder.c, or some would be gone before their waiters come. */
#define CP_LOCK_SAVED_NS UINT64_C(1000000000)
#define CP_LOCK_SAVED_UNLOCKS 8

struct cp_lock_waits {
	uint64_t credit;   /* monotonic ns: tokens are used up to here */
	uint64_t stratum;  /* ns of delay, as the point was drawn for it; 0 = none was */
	uint64_t position; /* in the stratum */
	uint64_t point;	   /* drawn in it */
	uint64_t random;   /* state of the generator; 0 = not seeded */
};

struct cp_lock_unlocks {
	uint64_t credit;
	uint64_t alone;		  /* as credit, of those taken as they are */
	uint64_t began;		  /* of the stratum, monotonic ns; 0 = not yet */
	uint32_t size, at, taken; /* of the stratum; unlocks seen in it; which one is taken */
};

/* What a recorded event stands for. */
struct cp_lock_sample {
	uint64_t count, delay;
};

/* A wait of DELAY ns that ended at NOW. STRATUM: see cp_lock_stratum; 0 = all are recorded. true:
 * record it as OUT. */
bool cp_lock_sample_wait(struct cp_lock_waits *w, uint64_t now, uint64_t delay, uint64_t stratum,
			 struct cp_lock_sample *out);

/* Of a wait that begins at NOW: it isn't recorded if it takes less than so many ns, and no other
 * comes between. */
uint64_t cp_lock_sample_left(const struct cp_lock_waits *w, uint64_t now, uint64_t stratum);

/* A new stratum of unlocks. */
void cp_lock_sample_begin(struct cp_lock_unlocks *u, struct cp_lock_waits *random);
/* Of several unlocks one is taken. */
static inline bool cp_lock_sample_draws(const struct cp_lock_unlocks *u)
{
	return u->size > 1;
}
/* The next one looks at the processor's counter, several times a millisecond: all of them, or of
 * many some. */
static inline bool cp_lock_sample_looks(const struct cp_lock_unlocks *u)
{
	return u->size < 256 || u->at % 8 == 0;
}
/* An unlock at NOW of a lock that was let go before at BEFORE, 0 if that isn't known: it is taken
 * as it is, and isn't one of the stratum. */
bool cp_lock_sample_alone(struct cp_lock_unlocks *u, uint64_t now, uint64_t before,
			  uint64_t stratum);
/* An unlock: how many it stands for, 0 = it is not taken. Inlined: its lock is held. */
static inline uint32_t cp_lock_sample_unlock(struct cp_lock_unlocks *u,
					     struct cp_lock_waits *random)
{
	if (__builtin_expect(u->at >= u->size, 0))
		cp_lock_sample_begin(u, random);
	return u->at++ == u->taken ? u->size : 0;
}
/* The one just taken is of no use: the next one is, if the stratum has one. */
static inline void cp_lock_sample_pass(struct cp_lock_unlocks *u)
{
	u->taken = u->at;
}

/* The next one is taken, and will stand for others. */
static inline bool cp_lock_sample_next(const struct cp_lock_unlocks *u)
{
	return u->size > 1 && u->at == u->taken;
}

/* It is to be told the time: seldom, for that costs as much as all else. */
static inline bool cp_lock_sample_is_time(const struct cp_lock_unlocks *u)
{
	return u->at >= u->size || u->at % 16 == 0;
}

/* After it, which was at NOW, or shortly after: strata follow the rate. */
void cp_lock_sample_time(struct cp_lock_unlocks *u, struct cp_lock_waits *random, uint64_t now,
			 uint64_t stratum);

/* Nanoseconds for one sample at half of BUDGET samples a second. 0 for no budget. */
static inline uint64_t cp_lock_stratum(unsigned budget)
{
	return budget ? UINT64_C(2000000000) / budget : 0;
}

#endif
