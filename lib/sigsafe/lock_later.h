/* A wait that those who let it go are still to be told of, when the lock that was waited for is
 * free again: with the lock held it would make all others wait longer.
 *
 * One wait a thread. The thread's next unlock that lets a waiter go tells of it, or its next wait,
 * or its end. All of it belongs to the thread, and to handlers that interrupt it.
 */
#ifndef CP_LOCK_LATER_H
#define CP_LOCK_LATER_H

#include <stdbool.h>
#include <stdint.h>

#include "sigsafe/atomic.h"

/* A wait, as those who let it go are found by it. */
struct cp_lock_wait {
	const void *lock;
	uint64_t began, ended; /* monotonic ns */
	uint64_t last;	       /* of the unlocks that left their time before it ended; 0 = none */
};

enum { CP_LOCK_LATER_NONE, CP_LOCK_LATER_CHANGES, CP_LOCK_LATER_THERE };

struct cp_lock_later {
	uint32_t state;
	struct cp_lock_wait wait;
};

/* false: one is there, or a handler has come upon a change of it: W is to be done now. */
static inline bool cp_lock_later_leave(struct cp_lock_later *l, const struct cp_lock_wait *w)
{
	if (!cp_cas_owned(&l->state, CP_LOCK_LATER_NONE, CP_LOCK_LATER_CHANGES))
		return false;
	cp_signal_fence();
	l->wait = *w;
	cp_signal_fence();
	l->state = CP_LOCK_LATER_THERE;
	return true;
}

/* Out of there. */
static inline bool cp_lock_later_take(struct cp_lock_later *l, struct cp_lock_wait *w)
{
	if (!cp_cas_owned(&l->state, CP_LOCK_LATER_THERE, CP_LOCK_LATER_CHANGES))
		return false;
	cp_signal_fence();
	*w = l->wait;
	cp_signal_fence();
	l->state = CP_LOCK_LATER_NONE;
	return true;
}

#endif
