/* SPDX-License-Identifier: BSD-3-Clause */
/* clang-format off */
/* Who made others wait: a sampled wait is divided among the unlocks that came while it lasted.
 *
 * A thread that is about to wait notes in the bucket of the lock's address from when on its wait is
 * sampled (lock_sample.h knows that before the wait). A thread that unlocks a lock with waiters reads
 * the bucket. If one of the noted moments has come, or comes soon, it leaves an entry with the time
 * of the unlock, and puts its stack into the entry when the lock is free again. The thread that has
 * waited finds the entries afterwards, and adds its delay, with the weight of the sample, to those of
 * them that caused it. A later unlock of the bucket, or the collector, takes out what was added.
 *
 * An unlock causes the time from the unlock before it, or from the begin of the wait, to itself. The
 * time until the waiter runs belongs to the last unlock. A wait that is sampled surely is divided by
 * these times. Of a wait that is sampled because of a point on the line of delay, only the unlocks
 * from that point on have an entry: the first of them gets all of it, because the chance that the
 * point lies in its part is in proportion to that part. What no entry is found for is the row
 * [holder unknown]. So the parts of a sample sum to the sample.
 *
 * A thread takes a limited number of such stacks. If the limit is reached, only the first unlock after
 * a noted moment is recorded, and the unlocks that have no entry count for the next one.
 *
 * A bucket has a limited number of entries. When few of them are free, the thread that has unlocked
 * frees one: of two unlocks in succession, one stands for both from then on, and has the time of the
 * later one.
 *
 * An entry's state is one word: a generation in the upper half, threads that are adding or reading
 * (pins), and two flags.
 *
 * | from       | to             | by                                                            |
 * |------------|----------------|---------------------------------------------------------------|
 * | any, no pin| HIDDEN, next   | the unlocking thread, if it is free and nothing is left in it |
 * | HIDDEN     | OPEN           | the same: lock and time are set; waiters may add              |
 * | OPEN       | no flag        | the same: the record holds the stack; it may be read and used |
 */
/* clang-format on */
#ifndef CP_LOCK_HOLDER_H
#define CP_LOCK_HOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "sample/lock_clock.h"
#include "sample/capture.h"
#include "sample/ring.h"
#include "sample/thread.h"

/* The innermost frames that an entry keeps. */
#define CP_LOCK_HOLDER_DEPTH 128u

struct cp_holder {
	uint64_t state;
	const void *lock;
	uint64_t time; /* of the unlock, monotonic ns; 0 or before the run: the entry is free */
	uint64_t who;  /* the unlocking thread: see cp_lock_holder_who */
	/* Added and not taken out; waits in units of 1/CP_LOCK_HOLDER_WAIT. OWN is the part of the
	 * delay that was sampled itself, and doesn't stand for other waits. */
	uint64_t waits, delay, own;
	uint64_t record[CP_RECORD_WORDS(CP_LOCK_HOLDER_DEPTH)];
};
#define CP_LOCK_HOLDER_WAIT 65536u

/* A count of an event: waits in units of 1/CP_LOCK_HOLDER_WAIT, and in the upper bits the part, 0
 * to 1, of these waits that was sampled itself, in units of 1/CP_LOCK_HOLDER_OWN. */
#define CP_LOCK_HOLDER_OWN 65535u
#define CP_LOCK_HOLDER_OWN_SHIFT 48
static inline uint64_t cp_lock_holder_count(uint64_t waits, double own)
{
	return (uint64_t)(own * CP_LOCK_HOLDER_OWN + 0.5) << CP_LOCK_HOLDER_OWN_SHIFT |
	       (waits & ((UINT64_C(1) << CP_LOCK_HOLDER_OWN_SHIFT) - 1));
}
static inline double cp_lock_holder_waits(uint64_t count)
{
	return (double)(count & ((UINT64_C(1) << CP_LOCK_HOLDER_OWN_SHIFT) - 1)) /
	       CP_LOCK_HOLDER_WAIT;
}
static inline double cp_lock_holder_own(uint64_t count)
{
	return (double)(count >> CP_LOCK_HOLDER_OWN_SHIFT) / CP_LOCK_HOLDER_OWN;
}

/* Names a thread for as long as its record may be another's. */
static inline uint64_t cp_lock_holder_who(const struct cp_thread *t)
{
	return (uint64_t)(uint32_t)cp_load_relaxed(&t->tid) << 32 | t->index;
}

/* The least mean time between two stacks of unlocks of a thread, in us; set by lock.c. */
extern uint32_t cp_lock_holder_pace;

/* A note that a thread waits. */
struct cp_lock_note {
	uint32_t *slot; /* NULL: not noted */
	uint32_t from;
};

/* Note that T, the calling thread, begins to wait for LOCK at BEGAN, and is sampled if it waits for
 * AFTER ns. */
void cp_lock_holder_note(struct cp_lock_note *n, const struct cp_thread *t, const void *lock,
			 struct cp_lock_moment began, uint64_t after);
/* The wait is over. Inlined: the lock is held. */
static inline void cp_lock_holder_unnote(const struct cp_lock_note *n)
{
	/* Not if the slot is another thread's meanwhile. */
	if (n->slot && cp_load_relaxed(n->slot) == n->from)
		cp_store_relaxed(n->slot, 0);
}

/* T is about to unlock LOCK, which it holds while another thread waits. CREDIT: of T, for the limit
 * of stacks. Returns false if this unlock needs no entry. Sets *TO to the entry, to be closed after
 * the unlock; NULL: none is empty. */
bool cp_lock_holder_open(struct cp_thread *t, uint64_t *credit, const void *lock,
			 struct cp_holder **to);
/* Close H, whose record holds the stack, or no frames. DONE: the lock was unlocked. */
void cp_lock_holder_close(struct cp_holder *h, bool done);
/* Free an entry for later unlocks of LOCK, if few are free, and empty those that are free: what was
 * added to them goes into T's ring. T, the calling thread, has all signals blocked. */
void cp_lock_holder_make_room(struct cp_thread *t, const void *lock);
static inline struct cp_record *cp_lock_holder_record(struct cp_holder *h)
{
	return (void *)h->record;
}

/* A sampled wait. */
struct cp_lock_waited {
	const void *lock;
	uint64_t began, ended;	/* monotonic ns */
	const uint64_t *points; /* NULL: it is divided by time; otherwise, by these moments */
	unsigned count;		/* of the points, one at least */
	bool got;		/* the lock was acquired */
	double weight;		/* number of waits that it stands for */
};
/* Add the parts of W to the entries of the unlocks that caused it. Returns the part, 0 to 1, that
 * no entry was found for. */
double cp_lock_holder_divide(const struct cp_lock_waited *w, uint64_t self);

/* Take out what was added to an entry, from number *NEXT on; *NEXT moves past it. Sets *E. Returns
 * the entry, which the caller must give back; NULL: nothing is left. For the collector. */
struct cp_holder *cp_lock_holder_read(uint32_t *next, struct cp_event *e);
void cp_lock_holder_give_back(struct cp_holder *h);
/* Discard all that was added until now, which belongs to an earlier run. */
void cp_lock_holder_forget(void);
/* In a fork child, on its only thread: nobody waits, and no unlock is remembered. */
void cp_lock_holder_fork_child(void);

/* Return the counter of the readers that are about to unlock LOCK, or a lock of its bucket. */
uint32_t *cp_lock_holder_leaving(const void *lock);

#endif
