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
#include "modes/lock/signal/lock_holder.h"
#include "modes/lock/signal/lock_sample.h"
#include "modes/lock/signal/lock_tail.h"
#include "sample/thread.h"

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
	struct cp_lock_rates rates;
	/* Register the calling thread, which has no record (cp_threads_register_foreign). Returns
	 * NULL if that fails. */
	struct cp_thread *(*register_thread)(void);
};
extern struct cp_lock_state cp_lock_state;

/* The kinds of locks, which are sampled and calibrated each by itself. */
enum cp_lock_kind {
	CP_LOCK_MUTEX, /* from here on: the thread that unlocks it lets a waiter go */
	CP_LOCK_RWLOCK,
	CP_LOCK_SPIN, /* from here on: no thread is known to hold it */
	CP_LOCK_COND,
	CP_LOCK_SEM,
	CP_LOCK_BARRIER,
	CP_LOCK_FUTEX, /* its thread may have no libc TLS */
	CP_LOCK_KINDS
};
static inline bool cp_lock_has_holder(enum cp_lock_kind kind)
{
	return kind < CP_LOCK_SPIN;
}

/* A row's tag, and a record's: the lock, and its kind above the bits of an address. */
#define CP_LOCK_KIND_SHIFT 60
static inline uint64_t cp_lock_tag(const void *lock, enum cp_lock_kind kind)
{
	return (uint64_t)(uintptr_t)lock | (uint64_t)kind << CP_LOCK_KIND_SHIFT;
}
static inline uint64_t cp_lock_of_tag(uint64_t tag)
{
	return tag & ((UINT64_C(1) << CP_LOCK_KIND_SHIFT) - 1);
}
static inline enum cp_lock_kind cp_lock_kind_of_tag(uint64_t tag)
{
	return (enum cp_lock_kind)(tag >> CP_LOCK_KIND_SHIFT);
}

/* Waits counted without a stack, for locks with a holder and for others. */
enum cp_lock_bulk {
	CP_LOCK_SHORT, /* shorter than the threshold */
	CP_LOCK_SHORT_HELD,
	CP_LOCK_LOST, /* their thread could not be registered */
	CP_LOCK_LOST_HELD,
	CP_LOCK_BULKS
};
struct cp_lock_sum {
	uint64_t count, delay;
};

/* The part of a thread's record. Written by the thread, except for what is told. */
struct cp_lock_part {
	uint64_t random;
	uint64_t credit; /* for stacks of unlocks */
	struct cp_lock_note note;
	uint64_t holds; /* not 0: a stack of its unlocks was taken */
	struct cp_lock_sum short_waits[2];
	struct cp_lock_stratum kinds[CP_LOCK_KINDS];
	struct cp_lock_sum told_short[2], told[CP_LOCK_KINDS]; /* what lock.c has taken from it */
};
extern const struct cp_lock_part cp_lock_part CP_THREAD_PART;
static inline struct cp_lock_part *cp_lock_part_of(const struct cp_thread *t)
{
	return cp_thread_part(t, &cp_lock_part);
}

/* A wait, in the frame of the function that waits. */
struct cp_lock_wait {
	const void *lock;
	struct cp_lock_moment began;
	uint64_t after; /* ns: it is sampled if it is as long; for locks with a holder */
	struct cp_lock_note note;
	enum cp_lock_kind kind;
};

/* The calling thread is about to wait for LOCK. */
void cp_lock_event_begin_wait(struct cp_lock_wait *w, const void *lock, enum cp_lock_kind kind);
/* It has waited, in libc's FUNCTION, which becomes the leaf of its stack. GOT: it has the lock. */
void cp_lock_event_waited(const struct cp_lock_wait *w, const void *function, bool got);
/* There was no wait after all. */
static inline void cp_lock_event_no_wait(const struct cp_lock_wait *w)
{
	cp_lock_holder_unnote(&w->note);
}

/* An unlock that lets a waiter go. cp_lock_event_release_begin is called before the unlock, with
 * the lock held. It reads a cache line, and a clock only for an unlock that is recorded. */
struct cp_lock_release {
	const void *lock;
	bool wanted;		  /* it needs an entry */
	struct cp_holder *holder; /* the entry; NULL: none was empty */
	/* Set between begin and end, if the unlock may be a tail call. */
	struct cp_lock_unlock_call call;
};
void cp_lock_event_release_begin(struct cp_lock_release *r, const void *lock);
/* Call after the unlock, with the lock free: takes the stack. DONE: the lock was unlocked. */
void cp_lock_event_release_end(struct cp_lock_release *r, const void *function, bool done);

/* Return true if TID, a lock's owner, is the calling thread. */
bool cp_lock_event_is_self(int tid);

/* Call when T, the calling thread, ends. */
void cp_lock_event_thread_end(struct cp_thread *t);

/* Waits of threads without a record since the process began. */
struct cp_lock_sum cp_lock_event_counted(enum cp_lock_bulk kind);

#endif
