/* Read-write locks and spin locks. */
#include "waits.h"

/* Of the word of readers: a writer has it, or has as soon as the readers are gone; the lock is in
 * the writers' phase; readers wait; one reader. */
#define WRITERS_PHASE 1u
#define WRITER 2u
#define READERS_WAIT 4u
#define READER 8u
/* Of the words that waiters sleep on. */
#define SLEPT_ON 2u

static unsigned readers(const pthread_rwlock_t *l)
{
	cp_write_soon(l);
	return cp_load_relaxed(&l->__data.__readers);
}

/* A writer that waits for the readers to go keeps new ones out in one kind only. */
static bool reader_waits(const pthread_rwlock_t *l)
{
	unsigned r = readers(l);

	if (!(r & WRITER))
		return false;
	return (r & WRITERS_PHASE) ||
	       (r >= READER && cp_load_relaxed(&l->__data.__flags) ==
				       PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
}

static bool writer_waits(const pthread_rwlock_t *l)
{
	unsigned r = readers(l);

	return (r & WRITER) || (!(r & WRITERS_PHASE) && r >= READER);
}

static enum waits_look read_look(pthread_rwlock_t *l)
{
	if (!waits_measured())
		return WAITS_NOT;
	if (reader_waits(l))
		return WAITS_SURELY;
	if (LIKELY(!waits_expected(l)))
		return WAITS_NOT;
	return waits_tried(l, CP_REAL(pthread_rwlock_tryrdlock)(l));
}

static enum waits_look write_look(pthread_rwlock_t *l)
{
	if (!waits_measured())
		return WAITS_NOT;
	if (writer_waits(l))
		return WAITS_SURELY;
	if (LIKELY(!waits_expected(l)))
		return WAITS_NOT;
	return waits_tried(l, CP_REAL(pthread_rwlock_trywrlock)(l));
}

static bool in_time(clockid_t clock, const struct timespec *until)
{
	return waits_by(clock) && waits_until(until);
}

#define CALL(look, real, ...)                                                                      \
	WAITS_CALL(look, waits_ended, CP_LOCK_HAS_HOLDER, l, CP_REAL(real), __VA_ARGS__)

INTERPOSE int pthread_rwlock_rdlock(pthread_rwlock_t *l)
{
	return CALL(read_look(l), pthread_rwlock_rdlock, l);
}

INTERPOSE int pthread_rwlock_wrlock(pthread_rwlock_t *l)
{
	return CALL(write_look(l), pthread_rwlock_wrlock, l);
}

INTERPOSE int pthread_rwlock_timedrdlock(pthread_rwlock_t *l, const struct timespec *until)
{
	return CALL(waits_until(until) ? read_look(l) : WAITS_NOT, pthread_rwlock_timedrdlock, l,
		    until);
}

INTERPOSE int pthread_rwlock_timedwrlock(pthread_rwlock_t *l, const struct timespec *until)
{
	return CALL(waits_until(until) ? write_look(l) : WAITS_NOT, pthread_rwlock_timedwrlock, l,
		    until);
}

INTERPOSE int pthread_rwlock_clockrdlock(pthread_rwlock_t *l, clockid_t clock,
					 const struct timespec *until)
{
	return CALL(in_time(clock, until) ? read_look(l) : WAITS_NOT, pthread_rwlock_clockrdlock, l,
		    clock, until);
}

INTERPOSE int pthread_rwlock_clockwrlock(pthread_rwlock_t *l, clockid_t clock,
					 const struct timespec *until)
{
	return CALL(in_time(clock, until) ? write_look(l) : WAITS_NOT, pthread_rwlock_clockwrlock,
		    l, clock, until);
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
