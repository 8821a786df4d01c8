/* Read-write locks and spin locks. */
#include "waits.h"

/* Of the word of readers: a writer has it or is about to; readers wait; one reader. */
#define WRITER 2u
#define READERS_WAIT 4u
#define READER 8u
/* Of the words that waiters sleep on. */
#define SLEPT_ON 2u

static unsigned readers(const pthread_rwlock_t *l)
{
	return cp_load_relaxed(&l->__data.__readers);
}

static bool reader_goes_on(const pthread_rwlock_t *l)
{
	return !waits_measured() || !(readers(l) & WRITER);
}

static bool writer_goes_on(const pthread_rwlock_t *l)
{
	return !waits_measured() || (!(readers(l) & WRITER) && readers(l) < READER);
}

INTERPOSE int pthread_rwlock_rdlock(pthread_rwlock_t *l)
{
	if (LIKELY(reader_goes_on(l)))
		return CP_REAL(pthread_rwlock_rdlock)(l);
	return WAITS_MEASURE(waits_ended, CP_LOCK_HAS_HOLDER, l, CP_REAL(pthread_rwlock_rdlock), l);
}

INTERPOSE int pthread_rwlock_wrlock(pthread_rwlock_t *l)
{
	if (LIKELY(writer_goes_on(l)))
		return CP_REAL(pthread_rwlock_wrlock)(l);
	return WAITS_MEASURE(waits_ended, CP_LOCK_HAS_HOLDER, l, CP_REAL(pthread_rwlock_wrlock), l);
}

INTERPOSE int pthread_rwlock_timedrdlock(pthread_rwlock_t *l, const struct timespec *until)
{
	if (LIKELY(reader_goes_on(l)))
		return CP_REAL(pthread_rwlock_timedrdlock)(l, until);
	return WAITS_MEASURE(waits_ended, CP_LOCK_HAS_HOLDER, l,
			     CP_REAL(pthread_rwlock_timedrdlock), l, until);
}

INTERPOSE int pthread_rwlock_timedwrlock(pthread_rwlock_t *l, const struct timespec *until)
{
	if (LIKELY(writer_goes_on(l)))
		return CP_REAL(pthread_rwlock_timedwrlock)(l, until);
	return WAITS_MEASURE(waits_ended, CP_LOCK_HAS_HOLDER, l,
			     CP_REAL(pthread_rwlock_timedwrlock), l, until);
}

INTERPOSE int pthread_rwlock_clockrdlock(pthread_rwlock_t *l, clockid_t clock,
					 const struct timespec *until)
{
	if (LIKELY(reader_goes_on(l)))
		return CP_REAL(pthread_rwlock_clockrdlock)(l, clock, until);
	return WAITS_MEASURE(waits_ended, CP_LOCK_HAS_HOLDER, l,
			     CP_REAL(pthread_rwlock_clockrdlock), l, clock, until);
}

INTERPOSE int pthread_rwlock_clockwrlock(pthread_rwlock_t *l, clockid_t clock,
					 const struct timespec *until)
{
	if (LIKELY(writer_goes_on(l)))
		return CP_REAL(pthread_rwlock_clockwrlock)(l, clock, until);
	return WAITS_MEASURE(waits_ended, CP_LOCK_HAS_HOLDER, l,
			     CP_REAL(pthread_rwlock_clockwrlock), l, clock, until);
}

/* It lets others go: the writer, or the last of the readers. */
static bool is_waited_for(const pthread_rwlock_t *l)
{
	unsigned r = readers(l);

	if (r >= 2 * READER)
		return false;
	return (r & READERS_WAIT) || cp_load_relaxed(&l->__data.__writers) ||
	       (cp_load_relaxed(&l->__data.__wrphase_futex) & SLEPT_ON) ||
	       (cp_load_relaxed(&l->__data.__writers_futex) & SLEPT_ON);
}

INTERPOSE int pthread_rwlock_unlock(pthread_rwlock_t *l)
{
	struct cp_lock_release r;
	int result;

	if (LIKELY(!cp_load_relaxed(&cp_lock_holders_on) || !is_waited_for(l)))
		return CP_REAL(pthread_rwlock_unlock)(l);
	cp_lock_release_begin(&r, l);
	result = CP_REAL(pthread_rwlock_unlock)(l);
	cp_lock_release_end(&r, (const void *)CP_REAL(pthread_rwlock_unlock), result == 0);
	return result;
}
