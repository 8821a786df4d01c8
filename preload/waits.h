/* What the files of interposed waits share.
 *
 * Whether a lock is free is read from its own memory, in glibc's layout, which is part of its ABI.
 * It decides only whether the wait is measured: the real function is called once in any case, and
 * every result is its own.
 */
#ifndef CP_WAITS_H
#define CP_WAITS_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "interpose.h"
#include "real.h"
#include "sigsafe/atomic.h"
#include "sigsafe/lock_event.h"

/* Off the path of locks that are free. */
#define SLOW __attribute__((noinline, cold))
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
	return result == 0 || result == EOWNERDEAD ? flags : flags & ~CP_LOCK_HAS_HOLDER;
}

/* Call REAL and report the wait for LOCK. */
#define WAITS_MEASURE(ended, flags, lock, real, ...)                                               \
	({                                                                                         \
		uint64_t began_ = cp_lock_now();                                                   \
		int result_ = (real)(__VA_ARGS__);                                                 \
		if (ended(result_))                                                                \
			cp_lock_waited((const void *)(lock), began_, (const void *)(real),         \
				       waits_flags(result_, (flags)));                             \
		result_;                                                                           \
	})

/* kind of a mutex, beyond its type in the low two bits */
#define MUTEX_TYPE 3
#define MUTEX_RECURSIVE 1
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

/* The common case, of the kinds whose word is 0, 1 or, when somebody waits, 2. */
static inline bool mutex_unlock_is_plain(const pthread_mutex_t *m)
{
	return LIKELY(!cp_load_relaxed(&cp_lock_holders_on) || mutex_word(m) <= 1);
}

#endif
