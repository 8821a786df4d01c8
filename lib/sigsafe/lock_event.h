/* The event half of the lock source: what the interposed lock functions report.
 *
 * They call it on the program's threads, in any context in which the program takes locks: before
 * our constructor, in malloc, in fork handlers, after exit. Nothing here waits, and errno stays.
 */
#ifndef CP_LOCK_EVENT_H
#define CP_LOCK_EVENT_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "sigsafe/atomic.h"
#include "sigsafe/lock_sample.h"
#include "sigsafe/thread.h"

struct cp_holder;

/* Waits are measured; and who let them go is, too. Read before every lock and unlock. */
extern uint32_t cp_lock_on, cp_lock_holders_on;

/* Written by the control half (lock.c) before they are set. */
struct cp_lock_state {
	uint64_t threshold_ns; /* shorter waits are counted only */
	uint64_t stratum_ns;   /* cp_lock_stratum of the budget */
	/* libc's clock_gettime: the vdso's, without a system call. */
	int (*clock)(clockid_t, struct timespec *);
};
extern struct cp_lock_state cp_lock_state;

#define CP_LOCK_HAS_HOLDER 1u /* who unlocks it lets a waiter go: mutexes, rwlocks */
#define CP_LOCK_ANY_THREAD 2u /* the thread may have no TLS of libc's: futex */

static inline uint64_t cp_lock_now(void)
{
	struct timespec t = { 0 };

	cp_lock_state.clock(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The calling thread waited for LOCK since BEGAN, in libc's FUNCTION, which becomes the leaf of
 * its stack. */
void cp_lock_waited(const void *lock, uint64_t began, const void *function, unsigned flags);

/* An unlock that lets a waiter of LOCK go. Before it, with the lock held: a few ns. */
struct cp_lock_release {
	struct cp_holder *holder; /* NULL: there was no room for it */
	uint64_t time;
	bool wanted; /* it was drawn */
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
