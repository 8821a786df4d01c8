/* When a lock was unlocked last: left by unlocks that let a waiter go and are told of, and by those
 * around them, so that a wait sees where the part of it ends that each is to be blamed for.
 *
 * Where such unlocks come so fast that one of many is told of, the others are not looked at, for it
 * would make each critical section longer. But those around it are: the thread whose next unlock
 * it will be has the lock followed until that came, and the one behind it. Threads that write this
 * at once, or locks of one hash, may lose some of it: then an unlock is not followed, and is
 * recorded at its thread's next, or the lock is followed for longer.
 *
 * Of the others an unlock sees by the kernel's tick, which takes half as long as the processor's
 * counter, that none was for a while; and by the counter, which some of them read, since when.
 *
 * Async-signal-safe; any thread, where nothing else is said.
 */
#ifndef CP_LOCK_FOLLOW_H
#define CP_LOCK_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "sigsafe/atomic.h"

#define CP_LOCK_FOLLOW_BITS 10
#define CP_LOCK_FOLLOWS (1u << CP_LOCK_FOLLOW_BITS)

/* Of the locks of one hash: the one unlocked last, */
struct cp_lock_follow {
	const void *lock;
	uint64_t time;	  /* when (monotonic ns), of those that leave it; 0 = none has, */
	uint64_t seen;	  /* and of the others, in ticks of the counter, */
	uint32_t tick;	  /* and by the kernel's, */
	uint32_t left;	  /* and how many unlocks more are to leave their time */
	uint32_t awaited; /* unlocks that it is followed for */
} __attribute__((aligned(64)));
extern struct cp_lock_follow cp_lock_follows[CP_LOCK_FOLLOWS];

static inline unsigned cp_lock_follow_hash(const void *lock)
{
	uint64_t h = (uint64_t)(uintptr_t)lock * UINT64_C(0x9e3779b97f4a7c15);

	return (unsigned)(h >> (64 - CP_LOCK_FOLLOW_BITS));
}

static inline struct cp_lock_follow *cp_lock_follow_of(const void *lock)
{
	return &cp_lock_follows[cp_lock_follow_hash(lock)];
}

/* LOCK is followed: its unlocks are to leave their time. Inlined: it is held. */
static inline bool cp_lock_is_followed(const void *lock)
{
	const struct cp_lock_follow *f = cp_lock_follow_of(lock);

	return cp_load_relaxed(&f->left) && cp_load_relaxed(&f->lock) == lock;
}

/* When the last unlock of LOCK was that has left its time; 0: that isn't known. By who holds it. */
static inline uint64_t cp_lock_follow_last(const void *lock)
{
	const struct cp_lock_follow *f = cp_lock_follow_of(lock);

	return cp_load_relaxed(&f->lock) == lock ? cp_load_relaxed(&f->time) : 0;
}

/* The lock of this hash that was seen before may be gone: LOCK is, at NOW. */
void cp_lock_follow_instead(const void *lock, uint64_t now, uint64_t ms);
/* In this TICK of the kernel's LOCK was already unlocked, and somebody waited. */
static inline bool cp_lock_follow_is_seen(const void *lock, uint32_t tick)
{
	const struct cp_lock_follow *f = cp_lock_follow_of(lock);

	return cp_load_relaxed(&f->tick) == tick && cp_load_relaxed(&f->lock) == lock;
}

/* LOCK is about to be unlocked, and somebody waits, in TICK and at NOW of the counter, of which a
 * millisecond has MS: how many ago that was seen before; 0: that isn't known. By who holds it. */
static inline uint64_t cp_lock_follow_see(const void *lock, uint32_t tick, uint64_t now,
					  uint64_t ms)
{
	struct cp_lock_follow *f = cp_lock_follow_of(lock);
	uint64_t ago = now - cp_load_relaxed(&f->seen);

	if (cp_load_relaxed(&f->lock) != lock) {
		cp_lock_follow_instead(lock, now, ms);
		return 0;
	}
	if (cp_load_relaxed(&f->tick) != tick)
		cp_store_relaxed(&f->tick, tick);
	if (ago > ms / 8)
		cp_store_relaxed(&f->seen, now);
	return (int64_t)ago > 0 ? ago : 0;
}

/* LOCK, unlocked at NOW, is followed until one more unlock that is to be told of came. */
void cp_lock_follow_begin(const void *lock, uint64_t now);
/* It comes; LOCK's time was left for it, and LOCK is held. */
void cp_lock_follow_came(const void *lock);
/* LOCK is about to be unlocked, at NOW, and somebody waits: when that was the case before, or 0. By
 * who holds it. */
uint64_t cp_lock_follow_leave(const void *lock, uint64_t now);
/* LOCK's next unlock leaves its time: who waits on sees that this one wasn't the last. By who holds
 * it. */
void cp_lock_follow_behind(const void *lock);
/* In a fork child, on its only thread. */
void cp_lock_follow_forget(void);

#endif
