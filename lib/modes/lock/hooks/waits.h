/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of interposed waits.
 *
 * Whether a lock is free is read from its own memory, in libc's layout (base/libc.h). The answer
 * decides only whether the wait is measured. The real function is called once in any case, and
 * every result comes from it.
 *
 * A lock that looks free may be taken before the real function gets it, and the wait would then go
 * unseen. Such waits are few, but for locks that many threads want for a moment they made up to a
 * seventh of the delay. So where a thread has waited before, or little is known of the lock
 * (waits_expected), the real trylock goes first. If it succeeds, the lock is taken and no further
 * call is made.
 *
 * The check must not cost the threads that share the lock more than the real function does: it
 * requests the cache line as a write would (cp_write_soon).
 */
#ifndef CP_WAITS_H
#define CP_WAITS_H

#include <errno.h>

#include "base/libc.h"
#include "host/host.h"
#include "modes/lock/lock.h"
#include "modes/lock/signal/lock_signal.h"

/* Not inlined, so that the path of free locks stays short. */
#define SLOW __attribute__((noinline))
#define LIKELY(x) __builtin_expect(!!(x), 1)

static inline bool waits_measured(void)
{
	return __builtin_expect(cp_load_relaxed(&cp_lock_on) != 0, 0);
}

/* For functions that return their error: return true if the call waited, whatever its result. */
static inline bool waits_ended(int result)
{
	return result == 0 || result == EOWNERDEAD || result == ETIMEDOUT ||
	       result == ENOTRECOVERABLE;
}

/* Return true if the lock is acquired. A wait that timed out was ended by no unlock. */
static inline bool waits_got(int result)
{
	return result == 0 || result == EOWNERDEAD;
}

/* Call REAL and report the wait for LOCK if WAITED, an expression of result_, is true. KIND: an
 * enum cp_lock_kind. */
#define WAITS_MEASURE_IF(waited, kind, lock, real, ...)                                            \
	({                                                                                         \
		struct cp_lock_wait wait_;                                                         \
		int result_;                                                                       \
                                                                                                   \
		cp_lock_mark((const void *)(lock));                                                \
		cp_lock_event_begin_wait(&wait_, (const void *)(lock), (kind));                    \
		result_ = (real)(__VA_ARGS__);                                                     \
		if (waited)                                                                        \
			cp_lock_event_waited(&wait_, (const void *)(real), waits_got(result_));    \
		else                                                                               \
			cp_lock_event_no_wait(&wait_);                                             \
		result_;                                                                           \
	})

#define WAITS_MEASURE(ended, kind, lock, real, ...)                                                \
	WAITS_MEASURE_IF(ended(result_), kind, lock, real, __VA_ARGS__)

/* What a look at the lock tells: the real function won't wait; a try has already locked; it will
 * wait. */
enum waits_look { WAITS_NOT, WAITS_LOCKED, WAITS_SURELY };

/* Return true if LOCK must be tried first although it looks free. */
static inline bool waits_expected(const void *lock)
{
	return cp_load_relaxed(cp_lock_known_at(lock)) != 0;
}

/* Convert TRY, the result of a real trylock of LOCK, into a look. */
static inline enum waits_look waits_tried(const void *lock, int try)
{
	if (try)
		return WAITS_SURELY;
	cp_lock_was_free(lock);
	return WAITS_LOCKED;
}

/* Declares own_NAME, which is the interposed function NAME in this library, whatever the dynamic
 * linker takes for NAME. */
#define OWN_UNLOCK(name, type)                                                                     \
	static int own_##name(type *) __attribute__((alias(#name), nothrow, nonnull(1)))
/* Describes the program's call of NAME. For use in the body of NAME only. */
#define OWN_CALL_OF(name)                                                                          \
	((struct cp_lock_unlock_call){ (const void *)own_##name, __builtin_return_address(0) })

/* Call REAL as LOOK says. All of these functions return 0 for success, including C11's. */
#define WAITS_CALL_IF(look, waited, kind, lock, real, ...)                                         \
	({                                                                                         \
		enum waits_look look_ = (look);                                                    \
		look_ == WAITS_LOCKED ? 0                                                          \
		: LIKELY(look_ == WAITS_NOT)                                                       \
			? (real)(__VA_ARGS__)                                                      \
			: WAITS_MEASURE_IF(waited, kind, lock, real, __VA_ARGS__);                 \
	})

#define WAITS_CALL(look, ended, kind, lock, real, ...)                                             \
	WAITS_CALL_IF(look, ended(result_), kind, lock, real, __VA_ARGS__)

/* The same for a mutex. */
#define WAITS_CALL_MUTEX(look, ended, m, lock, real, ...)                                          \
	WAITS_CALL_IF(look, ended(result_) && !mutex_was_got_at_once(m, result_), CP_LOCK_MUTEX,   \
		      lock, real, __VA_ARGS__)

/* The same for a wait for OBJECT that another thread ends by a wake (lock_signal.h). HOW: a
 * function of the result that returns an enum cp_wakes_how. */
#define WAITS_MEASURE_WOKEN(ended, how, kind, object, real, ...)                                   \
	({                                                                                         \
		struct cp_wakes_wait wake_;                                                        \
		struct cp_lock_wait wait_;                                                         \
		int result_;                                                                       \
                                                                                                   \
		cp_lock_mark((const void *)(object));                                              \
		cp_lock_event_begin_wait(&wait_, (const void *)(object), (kind));                  \
		cp_lock_wake_wait(&wake_, (const void *)(object), wait_.began, 0);                 \
		result_ = (real)(__VA_ARGS__);                                                     \
		if (ended(result_)) {                                                              \
			cp_lock_event_waited(&wait_, (const void *)(real), false);                 \
			cp_wakes_end(&wake_, CP_WAKES_OF_LOCK, how(result_), cp_wakes_key(object), \
				     (const void *)(real));                                        \
		} else {                                                                           \
			cp_wakes_cancel(&wake_);                                                   \
		}                                                                                  \
		result_;                                                                           \
	})

#define WAITS_CALL_WOKEN(look, ended, how, kind, object, real, ...)                                \
	({                                                                                         \
		enum waits_look look_ = (look);                                                    \
		look_ == WAITS_LOCKED ? 0                                                          \
		: LIKELY(look_ == WAITS_NOT)                                                       \
			? (real)(__VA_ARGS__)                                                      \
			: WAITS_MEASURE_WOKEN(ended, how, kind, object, real, __VA_ARGS__);        \
	})

static inline enum cp_wakes_how waits_woken(int result)
{
	return result == ETIMEDOUT ? CP_WAKES_TIMED_OUT : CP_WAKES_WOKEN;
}

/* Define the interposed function NAME, which wakes up to MOST of the threads that wait for its
 * argument. If nobody waits, it is a tail call of libc's function. */
#define WAITS_WAKES(name, type, most)                                                              \
	OWN_UNLOCK(name, type);                                                                    \
                                                                                                   \
	SLOW static int wake_by_##name(type *object, struct cp_lock_unlock_call call)              \
	{                                                                                          \
		if (cp_lock_wake_is_awaited(object))                                               \
			cp_lock_wake(object, most, (const void *)CP_LOCK_REAL(name), &call, 0);    \
		return CP_LOCK_REAL(name)(object);                                                 \
	}                                                                                          \
                                                                                                   \
	INTERPOSE int name(type *object)                                                           \
	{                                                                                          \
		if (LIKELY(!cp_lock_wake_is_awaited(object) && cp_lock_real.name))                 \
			return cp_lock_real.name(object);                                          \
		return wake_by_##name(object, OWN_CALL_OF(name));                                  \
	}

/* Return false for arguments that real functions refuse before they look at the lock. Only libc's
 * functions that read T themselves, whatever the lock's state, may have it read here. */
static inline bool waits_by(clockid_t clock)
{
	return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}

/* Not inlined: reading a bad address through the frame's register would be a SIGBUS where libc gets
 * a SIGSEGV. */
__attribute__((noinline, unused)) static bool waits_until(const struct timespec *t)
{
	return t && (unsigned long)t->tv_nsec < 1000000000;
}

/* Read P, so that a bad address faults here. */
static inline void waits_touch(const int *p)
{
	(void)*(const volatile int *)p;
}

/* Return the word of a mutex that is about to be locked or unlocked. libc's functions read the kind
 * first, so a fault of a bad pointer is at the same address. */
static inline unsigned mutex_word_to_write(const pthread_mutex_t *m)
{
	cp_write_soon(m);
	waits_touch(cp_mutex_kind(m));
	return cp_mutex_word(m);
}

/* Return true if another thread holds the mutex, so locking it will wait. */
static inline bool mutex_is_held(const pthread_mutex_t *m)
{
	return cp_mutex_is_locked(m) && !cp_lock_event_is_self(cp_mutex_owner(m));
}

/* Return true if the mutex looks free and a thread has waited for it before. */
static inline bool mutex_is_contended(const pthread_mutex_t *m, unsigned word, unsigned known)
{
	return !word && known == CP_LOCK_CONTENDED &&
	       cp_mutex_is_tried(cp_load_relaxed(cp_mutex_kind(m)));
}

/* Return true if the unlock lets no waiter go, or holders are not measured. This is the common
 * case. */
static inline bool mutex_unlock_is_plain(const pthread_mutex_t *m)
{
	return cp_mutex_is_plain(m, mutex_word_to_write(m)) ||
	       !cp_load_relaxed(&cp_lock_holders_on);
}

/* Return true if another thread held the mutex at the look, but released it before libc locked it,
 * so that this thread did not wait. RESULT is the result of locking. No clock is read here: the
 * mutex is held, and reading the clock would make the critical section longer, a short one twice as
 * long. A mutex that is often held and seldom waited for would pay most. */
static inline bool mutex_was_got_at_once(const pthread_mutex_t *m, int result)
{
	return !result && cp_mutex_was_got_at_once(m);
}

static inline enum waits_look mutex_look(pthread_mutex_t *m)
{
	int kind = cp_load_relaxed(cp_mutex_kind(m));

	if (!waits_measured())
		return WAITS_NOT;
	if (mutex_word_to_write(m))
		return mutex_is_held(m) ? WAITS_SURELY : WAITS_NOT;
	/* For the other kinds, which are rare, trylock has special results. */
	if (!waits_expected(m) || !cp_mutex_is_tried(kind))
		return WAITS_NOT;
	return waits_tried(m, CP_LOCK_REAL(pthread_mutex_trylock)(m));
}

#endif
