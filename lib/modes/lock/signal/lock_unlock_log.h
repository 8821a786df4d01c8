/* SPDX-License-Identifier: BSD-3-Clause */
/* When a lock was unlocked last. Recorded unlocks that let a waiter go leave their time here, and
 * so do the unlocks around them. So a wait can tell which part of it each unlock caused.
 *
 * Where such unlocks come so fast that only one of many is recorded, the others do not leave their
 * time, because that would make each critical section longer. But the unlocks around a recorded one
 * do: the thread that will do the recorded unlock next has the lock followed until that unlock
 * came, and for the unlock after it. Threads that write this data at once, or locks of one hash,
 * may lose some of it. Then an unlock is not followed and its thread's next one is recorded, or the
 * lock is followed for longer.
 *
 * An unlock sees by the kernel's tick whether the other unlocks have paused for a while; reading
 * the tick takes half as long as reading the processor's counter. It sees by the counter, which
 * some of the unlocks read, how long they have paused.
 *
 * Async-signal-safe; any thread, unless stated otherwise.
 */
#ifndef CP_LOCK_UNLOCK_LOG_H
#define CP_LOCK_UNLOCK_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"

#define CP_LOCK_UNLOCK_LOG_BITS 10
#define CP_LOCK_FOLLOWS (1u << CP_LOCK_UNLOCK_LOG_BITS)

/* For the locks of one hash: the lock that was unlocked last. */
struct cp_lock_unlock_log {
	const void *lock;
	uint64_t time;	  /* its last unlock that left its time (monotonic ns); 0 = none has */
	uint64_t seen;	  /* its last other unlock, in ticks of the counter */
	uint32_t tick;	  /* the same by the kernel's tick */
	uint32_t left;	  /* how many more unlocks leave their time */
	uint32_t awaited; /* recorded unlocks that it is followed for */
	uint32_t leaving; /* readers of a read-write lock that are about to unlock */
} __attribute__((aligned(64)));
extern struct cp_lock_unlock_log cp_lock_follows[CP_LOCK_FOLLOWS];

static inline unsigned cp_lock_unlock_log_hash(const void *lock)
{
	uint64_t h = (uint64_t)(uintptr_t)lock * UINT64_C(0x9e3779b97f4a7c15);

	return (unsigned)(h >> (64 - CP_LOCK_UNLOCK_LOG_BITS));
}

static inline struct cp_lock_unlock_log *cp_lock_unlock_log_of(const void *lock)
{
	return &cp_lock_follows[cp_lock_unlock_log_hash(lock)];
}

/* Return the counter of the readers that are about to unlock LOCK, or a lock of its hash. */
static inline uint32_t *cp_lock_unlock_log_leaving(const void *lock)
{
	return &cp_lock_unlock_log_of(lock)->leaving;
}

/* Return true if LOCK is followed, so its unlocks leave their time. Inlined: LOCK is held. */
static inline bool cp_lock_is_followed(const void *lock)
{
	const struct cp_lock_unlock_log *f = cp_lock_unlock_log_of(lock);

	return cp_load_relaxed(&f->left) && cp_load_relaxed(&f->lock) == lock;
}

/* Return when the last unlock of LOCK that has left its time was; 0: unknown. Call with LOCK held.
 */
static inline uint64_t cp_lock_unlock_log_last(const void *lock)
{
	const struct cp_lock_unlock_log *f = cp_lock_unlock_log_of(lock);

	return cp_load_relaxed(&f->lock) == lock ? cp_load_relaxed(&f->time) : 0;
}

/* Replace the lock of this hash by LOCK, at NOW, if the old one was not unlocked for a while. */
void cp_lock_unlock_log_instead(const void *lock, uint64_t now, uint64_t ms);
/* Return true if LOCK was already unlocked in this TICK of the kernel while a thread waited. */
static inline bool cp_lock_unlock_log_is_seen(const void *lock, uint32_t tick)
{
	const struct cp_lock_unlock_log *f = cp_lock_unlock_log_of(lock);

	return cp_load_relaxed(&f->tick) == tick && cp_load_relaxed(&f->lock) == lock;
}

/* Note that LOCK is about to be unlocked while a thread waits, in TICK and at NOW of the counter,
 * which has MS ticks per millisecond. Returns how many ticks ago that was noted before; 0: unknown.
 * Call with LOCK held. */
static inline uint64_t cp_lock_unlock_log_see(const void *lock, uint32_t tick, uint64_t now,
					      uint64_t ms)
{
	struct cp_lock_unlock_log *f = cp_lock_unlock_log_of(lock);
	uint64_t ago = now - cp_load_relaxed(&f->seen);

	if (cp_load_relaxed(&f->lock) != lock) {
		cp_lock_unlock_log_instead(lock, now, ms);
		return 0;
	}
	if (cp_load_relaxed(&f->tick) != tick)
		cp_store_relaxed(&f->tick, tick);
	if (ago > ms / 8)
		cp_store_relaxed(&f->seen, now);
	return (int64_t)ago > 0 ? ago : 0;
}

/* Follow LOCK, which was unlocked at NOW, until one more unlock to be recorded has come. */
void cp_lock_unlock_log_begin(const void *lock, uint64_t now);
/* The unlock to be recorded comes: LOCK has left its time for it, and LOCK is held. */
void cp_lock_unlock_log_came(const void *lock);
/* Leave NOW as the time of LOCK's unlock, which is about to happen while a thread waits. Returns
 * the time that was left before, or 0. Call with LOCK held. */
uint64_t cp_lock_unlock_log_leave(const void *lock, uint64_t now);
/* Make LOCK's next unlock leave its time, so that a thread that goes on waiting sees that this
 * unlock wasn't the last. Call with LOCK held. */
void cp_lock_unlock_log_behind(const void *lock);
/* Clear the log in a fork child, on its only thread. */
void cp_lock_unlock_log_forget(void);

#endif
