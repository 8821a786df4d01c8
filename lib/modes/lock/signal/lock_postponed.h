/* SPDX-License-Identifier: BSD-3-Clause */
/* A wait whose processing is postponed until the lock that was waited for is free again. Processing
 * with the lock held would make all other threads wait longer.
 *
 * One wait per thread. The thread processes the wait at its next unlock that lets a waiter go, at
 * its next wait, or at its end. All of this belongs to the thread and to handlers that interrupt
 * it.
 */
#ifndef CP_LOCK_POSTPONED_H
#define CP_LOCK_POSTPONED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"

/* A wait, with the data that finds the unlocks that ended it. */
struct cp_lock_wait {
	const void *lock;
	uint64_t began, ended; /* monotonic ns; ENDED with CP_LOCK_POSTPONED_ALL: ticks since */
	uint64_t last; /* when the last unlock that left its time was, before ENDED; 0 = none */
};

enum {
	CP_LOCK_POSTPONED_NONE,
	CP_LOCK_POSTPONED_CHANGES,
	CP_LOCK_POSTPONED_HOLDERS, /* the wait must be reported to holders */
	CP_LOCK_POSTPONED_ALL	   /* the wait must be counted and reported */
};

struct cp_lock_postponed {
	uint32_t state;
	struct cp_lock_wait wait;
};

/* Queue wait W for later, as KIND, one of the last two kinds. Returns false if a wait is already
 * queued or a handler interrupted the queueing; the caller must then record W now. */
static inline bool cp_lock_postponed_leave(struct cp_lock_postponed *l, uint32_t kind,
					   const struct cp_lock_wait *w)
{
	if (!cp_cas_local(&l->state, CP_LOCK_POSTPONED_NONE, CP_LOCK_POSTPONED_CHANGES))
		return false;
	cp_signal_fence();
	l->wait = *w;
	cp_signal_fence();
	l->state = kind;
	return true;
}

/* Take the queued wait out into *W if it is of KIND. Returns false if there is none. */
static inline bool cp_lock_postponed_take(struct cp_lock_postponed *l, uint32_t kind,
					  struct cp_lock_wait *w)
{
	if (!cp_cas_local(&l->state, kind, CP_LOCK_POSTPONED_CHANGES))
		return false;
	cp_signal_fence();
	*w = l->wait;
	cp_signal_fence();
	l->state = CP_LOCK_POSTPONED_NONE;
	return true;
}

#endif
