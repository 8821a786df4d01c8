/* SPDX-License-Identifier: BSD-3-Clause */
/* The event half of the lock source: the interposed lock functions report here.
 *
 * They call it on the program's threads, in any context in which the program takes locks: before
 * the profiler's constructor, in malloc, in fork handlers, after exit. No function here waits, and
 * errno is preserved.
 */
#ifndef CP_LOCK_EVENT_H
#define CP_LOCK_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "sample/lock_clock.h"
#include "modes/lock/signal/lock_sample.h"
#include "modes/lock/signal/lock_tail.h"
#include "sample/thread.h"

struct cp_holder;

/* cp_lock_on: waits are measured. cp_lock_holders_on: the unlocks that end them are, too. */
extern uint32_t cp_lock_on, cp_lock_holders_on;

/* Knowledge about locks, by their addresses: CP_LOCK_CONTENDED, or a count of how often they were
 * free, from CP_LOCK_UNKNOWN down to 0. It is the only value read before every lock, so it is all 0
 * while the mode is off. All accesses are relaxed: the value only says what to try first. */
#define CP_LOCK_KNOWN 4096u
#define CP_LOCK_UNKNOWN 64u
#define CP_LOCK_CONTENDED 255u
extern uint8_t cp_lock_known[CP_LOCK_KNOWN];

static inline uint8_t *cp_lock_known_at(const void *lock)
{
	return &cp_lock_known[((uintptr_t)lock >> 4) % CP_LOCK_KNOWN];
}

/* Note that LOCK is waited for. All threads that take LOCK read the cache line of this byte, so it
 * is written once. */
static inline void cp_lock_mark(const void *lock)
{
	uint8_t *at = cp_lock_known_at(lock);

	if (cp_load_relaxed(at) != CP_LOCK_CONTENDED)
		cp_store_relaxed(at, CP_LOCK_CONTENDED);
}

/* Note that LOCK was free another time: count its byte down, unless the lock is contended. A mark
 * that comes meanwhile stays, because unlocks of read-write locks go by it. */
static inline void cp_lock_was_free(const void *lock)
{
	uint8_t *at = cp_lock_known_at(lock), known = cp_load_relaxed(at);

	if (known && known != CP_LOCK_CONTENDED)
		cp_cas_acqrel(at, &known, (uint8_t)(known - 1));
}

/* Set the state of all locks. Call at the begin and the end of the mode. */
void cp_lock_event_know(uint8_t state);

/* Written by the control half (lock.c) before cp_lock_on and cp_lock_holders_on are set. */
struct cp_lock_state {
	uint64_t threshold_ns; /* shorter waits are counted without a stack */
	uint64_t stratum_ns;   /* cp_lock_stratum of the budget */
	uint64_t since;	       /* monotonic ns: only waits that end later are reported to holders */
	/* Register the calling thread, which has no record (cp_threads_register_foreign). Returns
	 * NULL if that fails. */
	struct cp_thread *(*register_thread)(void);
};
extern struct cp_lock_state cp_lock_state;

#define CP_LOCK_HAS_HOLDER 1u /* the thread that unlocks it lets a waiter go: mutexes, rwlocks */
#define CP_LOCK_ANY_THREAD 2u /* the thread may have no libc TLS: futex */
/* The lock's unlock will call cp_lock_event_release_begin, as if a thread waited. */
#define CP_LOCK_TOLD_OF 4u

/* Report that the calling thread waited for LOCK since BEGAN (cp_lock_event_begin), in libc's
 * FUNCTION. FUNCTION becomes the leaf of its stack. */
void cp_lock_event_waited(const void *lock, struct cp_lock_moment began, const void *function,
			  unsigned flags);

/* The same for mutexes, with less work while they are held. The thread's TLS is libc's. */
struct cp_lock_moment cp_lock_event_mutex_begin(void);
void cp_lock_event_mutex_waited(const void *lock, struct cp_lock_moment began, const void *function,
				unsigned flags);

/* An unlock that lets a waiter of LOCK go. cp_lock_event_release_begin is called before the unlock,
 * with the lock held. It takes a few ns and reads no clock where such unlocks are many. */
struct cp_lock_release {
	const void *lock;
	uint64_t last;		  /* time of the lock's last unlock that left its time */
	struct cp_holder *holder; /* NULL: there was no room for an entry */
	bool wanted;		  /* the unlock was drawn and its thread can record it */
	bool alone;		  /* recorded by itself, not as one of a stratum */
	/* Set between begin and end, if the unlock may be a tail call. */
	struct cp_lock_unlock_call call;
};
void cp_lock_event_release_begin(struct cp_lock_release *r, const void *lock);
/* Call after the unlock, with the lock free: takes the stack. DONE: the lock was unlocked. */
void cp_lock_event_release_end(struct cp_lock_release *r, const void *function, bool done);

/* Return true if TID, a lock's owner, is the calling thread. */
bool cp_lock_event_is_self(int tid);

/* Call when T, the calling thread, ends: reports its open waits to holders and gives back its
 * entries. */
void cp_lock_event_thread_end(struct cp_thread *t);

/* Waits counted without a stack, over all threads, since the process began. */
enum cp_lock_bulk {
	CP_LOCK_SHORT, /* shorter than the threshold */
	CP_LOCK_LOST,  /* their stacks could not be recorded */
	CP_LOCK_BULKS
};
struct cp_lock_sample cp_lock_event_counted(enum cp_lock_bulk kind);

#endif
