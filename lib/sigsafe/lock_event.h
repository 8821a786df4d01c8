/* The event half of the lock source: what the interposed lock functions report.
 *
 * They call it on the program's threads, in any context in which the program takes locks: before
 * our constructor, in malloc, in fork handlers, after exit. Nothing here waits, and errno stays.
 */
#ifndef CP_LOCK_EVENT_H
#define CP_LOCK_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "sigsafe/atomic.h"
#include "sigsafe/lock_clock.h"
#include "sigsafe/lock_sample.h"
#include "sigsafe/thread.h"

struct cp_holder;

/* Waits are measured; and who let them go is, too. */
extern uint32_t cp_lock_on, cp_lock_holders_on;

/* What is known of locks, by their addresses: CP_LOCK_CONTENDED, or how often they were free until
 * now: from CP_LOCK_UNKNOWN down to 0. Read before every lock, by itself, so it is all 0 while the
 * mode is off. Relaxed everywhere: it says only what to try first. */
#define CP_LOCK_KNOWN 4096u
#define CP_LOCK_UNKNOWN 64u
#define CP_LOCK_CONTENDED 255u
extern uint8_t cp_lock_known[CP_LOCK_KNOWN];

static inline uint8_t *cp_lock_known_at(const void *lock)
{
	return &cp_lock_known[((uintptr_t)lock >> 4) % CP_LOCK_KNOWN];
}

/* LOCK is waited for: all who take it read the line of that byte, so it is written once. */
static inline void cp_lock_mark(const void *lock)
{
	uint8_t *at = cp_lock_known_at(lock);

	if (cp_load_relaxed(at) != CP_LOCK_CONTENDED)
		cp_store_relaxed(at, CP_LOCK_CONTENDED);
}

/* LOCK was free, once more. */
static inline void cp_lock_was_free(const void *lock)
{
	uint8_t *at = cp_lock_known_at(lock), known = cp_load_relaxed(at);

	if (known && known != CP_LOCK_CONTENDED)
		cp_store_relaxed(at, known - 1);
}

/* All of it, at the begin and the end of the mode. */
void cp_lock_know(uint8_t state);

/* Written by the control half (lock.c) before they are set. */
struct cp_lock_state {
	uint64_t threshold_ns; /* shorter waits are counted only */
	uint64_t stratum_ns;   /* cp_lock_stratum of the budget */
	uint64_t since;	       /* monotonic ns: holders are told of waits that end later */
	/* A record for the calling thread, which has none (cp_threads_meet), or NULL. */
	struct cp_thread *(*meet)(void);
};
extern struct cp_lock_state cp_lock_state;

#define CP_LOCK_HAS_HOLDER 1u /* who unlocks it lets a waiter go: mutexes, rwlocks */
#define CP_LOCK_ANY_THREAD 2u /* the thread may have no TLS of libc's: futex */
/* Its unlock will come to cp_lock_release_begin, as if somebody waited. */
#define CP_LOCK_TOLD_OF 4u

/* The calling thread waited for LOCK since BEGAN (cp_lock_begin), in libc's FUNCTION, which becomes
 * the leaf of its stack. */
void cp_lock_waited(const void *lock, struct cp_lock_moment began, const void *function,
		    unsigned flags);

/* The same for mutexes, with less to do while they are held. The thread's TLS is libc's. */
struct cp_lock_moment cp_lock_mutex_begin(void);
void cp_lock_mutex_waited(const void *lock, struct cp_lock_moment began, const void *function,
			  unsigned flags);

/* An unlock that lets a waiter of LOCK go. Before it, with the lock held: a few ns; no clock, where
 * such unlocks are many. */
struct cp_lock_release {
	const void *lock;
	uint64_t last;		  /* unlock of it before, that left its time */
	struct cp_holder *holder; /* NULL: there was no room for it */
	bool wanted;		  /* it was drawn, or is */
	bool alone;		  /* told of by itself */
};
void cp_lock_release_begin(struct cp_lock_release *r, const void *lock);
/* After it, with the lock free: takes the stack. DONE: it was unlocked. */
void cp_lock_release_end(struct cp_lock_release *r, const void *function, bool done);

/* Is TID, a lock's owner, the calling thread? */
bool cp_lock_is_self(int tid);

/* T, the calling thread, ends: who waited for it is told of, its entries are given back. */
void cp_lock_thread_end(struct cp_thread *t);

/* Waits that are counted without a stack, over all threads, since the process began. */
enum cp_lock_bulk {
	CP_LOCK_SHORT, /* below the threshold */
	CP_LOCK_LOST,  /* their stacks could not be recorded */
	CP_LOCK_BULKS
};
struct cp_lock_sample cp_lock_counted(enum cp_lock_bulk kind);

#endif
