/* pthread mutexes, of all kinds. A free one is locked, and one that nobody waits for unlocked, by a
 * tail call of the real function. */
#include "waits.h"

SLOW static int look_and_lock(pthread_mutex_t *m, bool tried)
{
	return WAITS_CALL(tried ? WAITS_SURELY : mutex_look(m), waits_ended, CP_LOCK_HAS_HOLDER, m,
			  CP_REAL(pthread_mutex_lock), m);
}

/* One that was waited for and is free now: as in mutex_look, without the rest of it. */
SLOW static int lock(pthread_mutex_t *m)
{
	bool tried = mutex_is_contended(m) && cp_real.pthread_mutex_trylock;

	if (LIKELY(tried && cp_real.pthread_mutex_trylock(m) == 0))
		return 0;
	return look_and_lock(m, tried);
}

/* A free one costs two loads, a hash and two jumps; nothing is pushed, because what resolves the
 * real function is elsewhere. */
INTERPOSE int pthread_mutex_lock(pthread_mutex_t *m)
{
	if (LIKELY(mutex_is_quiet(m) && cp_real.pthread_mutex_lock))
		return cp_real.pthread_mutex_lock(m);
	return lock(m);
}

INTERPOSE int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *until)
{
	return WAITS_CALL(mutex_look(m), waits_ended, CP_LOCK_HAS_HOLDER, m,
			  CP_REAL(pthread_mutex_timedlock), m, until);
}

INTERPOSE int pthread_mutex_clocklock(pthread_mutex_t *m, clockid_t clock,
				      const struct timespec *until)
{
	return WAITS_CALL(waits_by(clock) ? mutex_look(m) : WAITS_NOT, waits_ended,
			  CP_LOCK_HAS_HOLDER, m, CP_REAL(pthread_mutex_clocklock), m, clock, until);
}

SLOW static int release(pthread_mutex_t *m)
{
	struct cp_lock_release r;
	int result;

	if (mutex_unlock_is_plain(m) || !mutex_is_waited_for(m))
		return CP_REAL(pthread_mutex_unlock)(m);
	cp_lock_release_begin(&r, m);
	result = CP_REAL(pthread_mutex_unlock)(m);
	cp_lock_release_end(&r, (const void *)CP_REAL(pthread_mutex_unlock), result == 0);
	return result;
}

INTERPOSE int pthread_mutex_unlock(pthread_mutex_t *m)
{
	if (LIKELY(mutex_word(m) <= 1 && cp_real.pthread_mutex_unlock))
		return cp_real.pthread_mutex_unlock(m);
	return release(m);
}
