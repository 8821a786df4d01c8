/* SPDX-License-Identifier: BSD-3-Clause */
/* Wakes of threads that wait for conditions, semaphores, barriers, futexes and ends of threads; see
 * sample/wakes.h. Called by the interposed functions, in any context. errno is preserved. */
#ifndef CP_LOCK_WAKE_H
#define CP_LOCK_WAKE_H

#include "modes/lock/signal/lock_event.h"
#include "sample/wakes.h"

/* The thread may have no libc TLS: futex. */
#define CP_LOCK_ANY_THREAD 1u

/* Return true if somebody may wait for OBJECT: a wake must be told of by cp_lock_wake. Inlined: it
 * is all that a wake costs that nobody waits for. */
static inline bool cp_lock_wake_is_awaited(const void *object)
{
	return __builtin_expect(cp_wakes_awaited(cp_wakes_key(object)), 0);
}

/* The calling thread is about to wake up to MOST threads that wait for OBJECT, in libc's FUNCTION.
 * CALL: as for an unlock, or NULL if this is no tail call. FLAGS: CP_LOCK_ANY_THREAD or 0. */
void cp_lock_wake(const void *object, uint32_t most, const void *function,
		  const struct cp_lock_unlock_call *call, unsigned flags);
/* T, the calling thread, ends, and may be joined as JOINED. */
void cp_lock_wake_by_end(struct cp_thread *t, const void *joined);

/* The calling thread is about to wait for OBJECT since BEGAN. */
void cp_lock_wake_wait(struct cp_wakes_wait *w, const void *object, struct cp_lock_moment began,
		       unsigned flags);

#endif
