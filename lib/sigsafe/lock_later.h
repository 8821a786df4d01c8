/* A wait of which something is still to be done when the lock that was waited for is free again:
 * with the lock held it would make all others wait longer.
 *
 * One wait a thread. The thread's next unlock that lets a waiter go does it, or its next wait, or
 * its end. All of it belongs to the thread, and to handlers that interrupt it.
 */
#ifndef CP_LOCK_LATER_H
#define CP_LOCK_LATER_H

#include <stdbool.h>
#include <stdint.h>

#include "sigsafe/atomic.h"

/* A wait, as those who let it go are found by it. */
struct cp_lock_wait {
	const void *lock;
	uint64_t began, ended; /* monotonic ns; ENDED with CP_LOCK_LATER_ALL: ticks since */
	uint64_t last;	       /* of the unlocks that left their time before it ended; 0 = none */
};

enum {
	CP_LOCK_LATER_NONE,
	CP_LOCK_LATER_CHANGES,
	CP_LOCK_LATER_HOLDERS, /* who let it go is to be told */
	CP_LOCK_LATER_ALL      /* and it is to be counted */
};

struct cp_lock_later {
	uint32_t state;
	struct cp_lock_wait wait;
};

/* W as KIND, one of the last two. false: one is there, or a handler has come upon a change of it: W
 * is to be done now. */
static inline bool cp_lock_later_leave(struct cp_lock_later *l, uint32_t kind,
				       const struct cp_lock_wait *w)
{
	if (!cp_cas_owned(&l->state, CP_LOCK_LATER_NONE, CP_LOCK_LATER_CHANGES))
		return false;
	cp_signal_fence();
	l->wait = *w;
	cp_signal_fence();
	l->state = kind;
	return true;
}

/* Out of there, if it is of KIND. */
static inline bool cp_lock_later_take(struct cp_lock_later *l, uint32_t kind,
				      struct cp_lock_wait *w)
{
	if (!cp_cas_owned(&l->state, kind, CP_LOCK_LATER_CHANGES))
		return false;
	cp_signal_fence();
	*w = l->wait;
	cp_signal_fence();
	l->state = CP_LOCK_LATER_NONE;
	return true;
}

#endif
