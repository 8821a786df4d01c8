/* A futex lock for control operations and the collector: never waited for by the
 * event half of a source.
 *
 * All signals are blocked while it is held, so a handler on the holding thread
 * can't meet its own lock, and the program can't be interrupted in our work.
 * The holder's tid is the lock word: after fork the child resets it with
 * cp_lock_reset, because the holder may be a thread that the child doesn't have.
 */
#ifndef CP_LOCK_H
#define CP_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "sigsafe/atomic.h"
#include "sigsafe/sys.h"

struct cp_lock {
	uint32_t holder;  /* tid; 0 = free; bit 31 = somebody waits */
	uint64_t oldmask; /* of the holder, put back at release */
};

#define CP_LOCK_WAITED UINT32_C(0x80000000)

static inline void cp_lock_reset(struct cp_lock *l)
{
	cp_store_relaxed(&l->holder, 0);
}

/* false: another thread holds it (signals are as they were). */
static inline bool cp_lock_try(struct cp_lock *l)
{
	uint64_t all = CP_SIGSET_ALL, old;
	uint32_t expected = 0;

	cp_sys_sigmask(SIG_SETMASK, &all, &old);
	/* Acquire: pairs with the release in cp_lock_release. */
	if (!cp_cas_acqrel(&l->holder, &expected, (uint32_t)cp_sys_gettid())) {
		cp_sys_sigmask(SIG_SETMASK, &old, NULL);
		return false;
	}
	l->oldmask = old;
	return true;
}

static inline void cp_lock_acquire(struct cp_lock *l)
{
	uint64_t all = CP_SIGSET_ALL, old;
	uint32_t me = (uint32_t)cp_sys_gettid(), seen = 0;

	cp_sys_sigmask(SIG_SETMASK, &all, &old);
	while (!cp_cas_acqrel(&l->holder, &seen, me)) {
		/* From here on the lock is taken as "waited": one wake too many is
		 * cheaper than counting waiters. */
		if (seen && !(seen & CP_LOCK_WAITED) &&
		    !cp_cas_acqrel(&l->holder, &seen, seen | CP_LOCK_WAITED)) {
			seen = 0;
			continue;
		}
		cp_sys_futex_wait(&l->holder, seen | CP_LOCK_WAITED, NULL);
		me |= CP_LOCK_WAITED;
		seen = 0;
	}
	l->oldmask = old;
}

static inline void cp_lock_release(struct cp_lock *l)
{
	uint64_t old = l->oldmask;

	/* Release: what was written under the lock is seen by the next holder. */
	if (cp_exchange_acqrel(&l->holder, 0) & CP_LOCK_WAITED)
		cp_sys_futex_wake(&l->holder, 1);
	cp_sys_sigmask(SIG_SETMASK, &old, NULL);
}

static inline bool cp_lock_is_mine(const struct cp_lock *l)
{
	return (cp_load_relaxed(&l->holder) & ~CP_LOCK_WAITED) == (uint32_t)cp_sys_gettid();
}

#endif
