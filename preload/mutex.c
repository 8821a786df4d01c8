/* pthread mutexes, of all kinds. A free one is locked, and one that nobody waits for unlocked, by a
 * tail call of the real function. */
#include "waits.h"

SLOW static int wait_lock(pthread_mutex_t *m)
{
	if (!mutex_is_held(m))
		return CP_REAL(pthread_mutex_lock)(m);
	return WAITS_MEASURE(waits_ended, CP_LOCK_HAS_HOLDER, m, CP_REAL(pthread_mutex_lock), m);
}

INTERPOSE int pthread_mutex_lock(pthread_mutex_t *m)
{
	if (LIKELY(!waits_measured() || !mutex_word(m)))
		return CP_REAL(pthread_mutex_lock)(m);
	return wait_lock(m);
}

INTERPOSE int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *until)
{
	if (!waits_measured() || !mutex_word(m) || !mutex_is_held(m))
		return CP_REAL(pthread_mutex_timedlock)(m, until);
	return WAITS_MEASURE(waits_ended, CP_LOCK_HAS_HOLDER, m, CP_REAL(pthread_mutex_timedlock),
			     m, until);
}

INTERPOSE int pthread_mutex_clocklock(pthread_mutex_t *m, clockid_t clock,
				      const struct timespec *until)
{
	if (!waits_measured() || !mutex_word(m) || !mutex_is_held(m))
		return CP_REAL(pthread_mutex_clocklock)(m, clock, until);
	return WAITS_MEASURE(waits_ended, CP_LOCK_HAS_HOLDER, m, CP_REAL(pthread_mutex_clocklock),
			     m, clock, until);
}

SLOW static int release(pthread_mutex_t *m)
{
	struct cp_lock_release r;
	int result;

	if (!mutex_is_waited_for(m))
		return CP_REAL(pthread_mutex_unlock)(m);
	cp_lock_release_begin(&r, m);
	result = CP_REAL(pthread_mutex_unlock)(m);
	cp_lock_release_end(&r, (const void *)CP_REAL(pthread_mutex_unlock), result == 0);
	return result;
}

INTERPOSE int pthread_mutex_unlock(pthread_mutex_t *m)
{
	if (mutex_unlock_is_plain(m))
		return CP_REAL(pthread_mutex_unlock)(m);
	return release(m);
}
