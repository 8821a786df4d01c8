/* SPDX-License-Identifier: BSD-3-Clause */
/* A futex lock for control operations and the collector. The event half of a source never waits
 * for it.
 *
 * All signals are blocked while the lock is held, so a handler on the holding thread can't meet
 * its own lock, and the program's handlers can't interrupt the profiler's work. The lock word is
 * the holder's tid. After fork, the child resets the lock with cp_futex_lock_reset, because the
 * holder may be a thread that the child doesn't have.
 */
#ifndef CP_FUTEX_LOCK_H
#define CP_FUTEX_LOCK_H

#include "base/start_data.h"
#include "base/sys.h"

struct cp_futex_lock {
	uint32_t holder;  /* tid; 0 = free; bit 31 = a thread waits */
	uint64_t oldmask; /* the holder's mask, restored at release */
};

#define CP_FUTEX_LOCK_WAITED UINT32_C(0x80000000)

static inline void cp_futex_lock_reset(struct cp_futex_lock *l)
{
	CP_FORK_CLEAR(&l->holder);
}

/* Returns false if another thread holds the lock; the signal mask is then unchanged. */
static inline bool cp_futex_lock_try(struct cp_futex_lock *l)
{
	uint64_t all = CP_SIGSET_ALL, old;
	uint32_t expected = 0;

	cp_sys_sigmask(SIG_SETMASK, &all, &old);
	/* Acquire: pairs with the release in cp_futex_lock_release. */
	if (!cp_cas_acqrel(&l->holder, &expected, (uint32_t)cp_sys_gettid())) {
		cp_sys_sigmask(SIG_SETMASK, &old, NULL);
		return false;
	}
	l->oldmask = old;
	return true;
}

static inline void cp_futex_lock_acquire(struct cp_futex_lock *l)
{
	uint64_t all = CP_SIGSET_ALL, old;
	uint32_t me = (uint32_t)cp_sys_gettid(), seen = 0;

	cp_sys_sigmask(SIG_SETMASK, &all, &old);
	while (!cp_cas_acqrel(&l->holder, &seen, me)) {
		/* From here on this thread takes the lock as "waited". One superfluous wake is
		 * cheaper than counting waiters. */
		if (seen && !(seen & CP_FUTEX_LOCK_WAITED) &&
		    !cp_cas_acqrel(&l->holder, &seen, seen | CP_FUTEX_LOCK_WAITED)) {
			seen = 0;
			continue;
		}
		cp_sys_futex_wait(&l->holder, seen | CP_FUTEX_LOCK_WAITED, NULL);
		me |= CP_FUTEX_LOCK_WAITED;
		seen = 0;
	}
	l->oldmask = old;
}

static inline void cp_futex_lock_release(struct cp_futex_lock *l)
{
	uint64_t old = l->oldmask;

	/* Release: the next holder sees the writes that were made under the lock. */
	if (cp_exchange_acqrel(&l->holder, 0) & CP_FUTEX_LOCK_WAITED)
		cp_sys_futex_wake(&l->holder, 1);
	cp_sys_sigmask(SIG_SETMASK, &old, NULL);
}

static inline bool cp_futex_lock_is_mine(const struct cp_futex_lock *l)
{
	return (cp_load_relaxed(&l->holder) & ~CP_FUTEX_LOCK_WAITED) == (uint32_t)cp_sys_gettid();
}

#endif
