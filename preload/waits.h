/* What the files of interposed waits share.
 *
 * Whether a lock is free is read from its own memory, in glibc's layout, which is part of its ABI.
 * It decides only whether the wait is measured: the real function is called once in any case, and
 * every result is its own.
 *
 * A lock that looks free may be taken before the real function has it, and then the wait would go
 * unseen: not many, but of locks that many want for a moment it was up to a seventh of the delay.
 * So where somebody has waited before, or not much is known of the lock (waits_expected), the real
 * trylock goes first. If it succeeds, that is all.
 *
 * The look must not cost those who share the lock more than the real function does: it asks for
 * the line as a write would (cp_write_soon).
 */
#ifndef CP_WAITS_H
#define CP_WAITS_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "interpose.h"
#include "real.h"
#include "sigsafe/arch.h"
#include "sigsafe/atomic.h"
#include "sigsafe/lock_event.h"

/* Off the path of locks that are free. */
#define SLOW __attribute__((noinline))
#define LIKELY(x) __builtin_expect(!!(x), 1)

static inline bool waits_measured(void)
{
	return __builtin_expect(cp_load_relaxed(&cp_lock_on) != 0, 0);
}

/* Of those that return their error: did the call wait, whatever came of it? */
static inline bool waits_ended(int result)
{
	return result == 0 || result == EOWNERDEAD || result == ETIMEDOUT ||
	       result == ENOTRECOVERABLE;
}

/* A wait that timed out was ended by no unlock. */
static inline unsigned waits_flags(int result, unsigned flags)
{
	return result == 0 || result == EOWNERDEAD ? flags : flags & CP_LOCK_ANY_THREAD;
}

/* Call REAL and report the wait for LOCK, if it was one by its result_. BY: cp_lock, cp_lock_mutex.
 */
#define WAITS_MEASURE_IF(by, waited, flags, lock, real, ...)                                       \
	({                                                                                         \
		struct cp_lock_moment began_ = (cp_lock_mark((const void *)(lock)), by##_begin()); \
		int result_ = (real)(__VA_ARGS__);                                                 \
		if (waited)                                                                        \
			by##_waited((const void *)(lock), began_, (const void *)(real),            \
				    waits_flags(result_, (flags)));                                \
		result_;                                                                           \
	})

#define WAITS_MEASURE(ended, flags, lock, real, ...)                                               \
	WAITS_MEASURE_IF(cp_lock, ended(result_), flags, lock, real, __VA_ARGS__)

/* Before a real function: it doesn't wait; it isn't needed, for a try has locked already; or it
 * waits. */
enum waits_look { WAITS_NOT, WAITS_LOCKED, WAITS_SURELY };

/* LOCK, though it looks free, is to be tried first. */
static inline bool waits_expected(const void *lock)
{
	return cp_load_relaxed(cp_lock_known_at(lock)) != 0;
}

/* As TRY, the result of a real function that tries LOCK, says. */
static inline enum waits_look waits_tried(const void *lock, int try)
{
	if (try)
		return WAITS_SURELY;
	cp_lock_was_free(lock);
	return WAITS_LOCKED;
}

/* Call REAL as LOOK says. All of these return 0 for success, C11's too. */
#define WAITS_CALL_IF(look, by, waited, flags, lock, real, ...)                                    \
	({                                                                                         \
		enum waits_look look_ = (look);                                                    \
		look_ == WAITS_LOCKED ? 0                                                          \
		: LIKELY(look_ == WAITS_NOT)                                                       \
			? (real)(__VA_ARGS__)                                                      \
			: WAITS_MEASURE_IF(by, waited, flags, lock, real, __VA_ARGS__);            \
	})

#define WAITS_CALL(look, ended, flags, lock, real, ...)                                            \
	WAITS_CALL_IF(look, cp_lock, ended(result_), flags, lock, real, __VA_ARGS__)

/* Of a mutex. */
#define WAITS_CALL_MUTEX(look, ended, m, lock, real, ...)                                          \
	WAITS_CALL_IF(look, cp_lock_mutex, ended(result_) && !mutex_was_got_at_once(m, result_),   \
		      CP_LOCK_HAS_HOLDER | mutex_release_flags(m), lock, real, __VA_ARGS__)

/* What real functions refuse before they look at the lock. */
static inline bool waits_by(clockid_t clock)
{
	return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}

static inline bool waits_until(const struct timespec *t)
{
	return t && (unsigned long)t->tv_nsec < 1000000000;
}

/* kind of a mutex, beyond its type in the low two bits */
#define MUTEX_TYPE 3
#define MUTEX_RECURSIVE 1
#define MUTEX_ADAPTIVE 3
#define MUTEX_ROBUST 16
#define MUTEX_INHERITS 32
#define MUTEX_PROTECTS 64
/* its word with MUTEX_PROTECTS; with MUTEX_ROBUST or MUTEX_INHERITS it is the owner's tid */
#define WORD_CEILING 0xfff80000u
#define WORD_WAITERS 0x80000000u

static inline unsigned mutex_word(const pthread_mutex_t *m)
{
	return (unsigned)cp_load_relaxed(&m->__data.__lock);
}

/* It is about to be locked or unlocked. */
static inline unsigned mutex_word_to_write(const pthread_mutex_t *m)
{
	cp_write_soon(m);
	return mutex_word(m);
}

static inline unsigned mutex_word_of_kind(const pthread_mutex_t *m, int kind)
{
	return mutex_word(m) & (kind & MUTEX_PROTECTS ? ~WORD_CEILING : ~0u);
}

/* Another thread has it: locking it will wait. */
static inline bool mutex_is_held(const pthread_mutex_t *m)
{
	int kind = cp_load_relaxed(&m->__data.__kind);

	return mutex_word_of_kind(m, kind) && !cp_lock_is_self(cp_load_relaxed(&m->__data.__owner));
}

/* Unlocking it, or waiting for a condition with it, lets another thread go. */
static inline bool mutex_is_waited_for(const pthread_mutex_t *m)
{
	int kind = cp_load_relaxed(&m->__data.__kind);
	unsigned word = mutex_word_of_kind(m, kind);

	if ((kind & MUTEX_TYPE) == MUTEX_RECURSIVE && m->__data.__count > 1)
		return false;
	return kind & (MUTEX_ROBUST | MUTEX_INHERITS) ? (word & WORD_WAITERS) != 0 : word > 1;
}

/* Of the kinds that trylock has no results of its own for. */
static inline bool mutex_kind_is_tried(int kind)
{
	return !(kind & (MUTEX_ROBUST | MUTEX_INHERITS | MUTEX_PROTECTS));
}

/* It looks free, and somebody has waited for it. */
static inline bool mutex_is_contended(const pthread_mutex_t *m, unsigned word, unsigned known)
{
	return !word && known == CP_LOCK_CONTENDED &&
	       mutex_kind_is_tried(cp_load_relaxed(&m->__data.__kind));
}

/* The common case, of the kinds whose word is 0, 1 or, when somebody waits, 2. */
static inline bool mutex_unlock_is_plain(const pthread_mutex_t *m)
{
	return mutex_word_to_write(m) <= 1 || !cp_load_relaxed(&cp_lock_holders_on);
}

/* RESULT is that of locking it: it was held when it was looked at, and given up before libc came
 * to it. Who sleeps for it, or can't rule out that others do, leaves 2 in the word. No clock then:
 * to read it would make the critical section longer, twice as long if it is short, and one that is
 * often held and seldom waited for is what costs most. */
static inline bool mutex_was_got_at_once(const pthread_mutex_t *m, int result)
{
	int kind;

	if (result || mutex_word(m) != 1)
		return false;
	kind = cp_load_relaxed(&m->__data.__kind);
	/* This kind waits without sleeping, too. */
	return mutex_kind_is_tried(kind) && (kind & MUTEX_TYPE) != MUTEX_ADAPTIVE;
}

/* After a wait for it: who slept leaves in the word that somebody waits. */
static inline unsigned mutex_release_flags(const pthread_mutex_t *m)
{
	return mutex_word(m) == 2 && cp_load_relaxed(&cp_lock_holders_on) ? CP_LOCK_TOLD_OF : 0;
}

static inline enum waits_look mutex_look(pthread_mutex_t *m)
{
	int kind = cp_load_relaxed(&m->__data.__kind);

	if (!waits_measured())
		return WAITS_NOT;
	if (mutex_word_to_write(m))
		return mutex_is_held(m) ? WAITS_SURELY : WAITS_NOT;
	/* Of the other kinds, which are rare, trylock has results of its own. */
	if (!waits_expected(m) || !mutex_kind_is_tried(kind))
		return WAITS_NOT;
	return waits_tried(m, CP_REAL(pthread_mutex_trylock)(m));
}

#endif
