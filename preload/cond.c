/* Conditions: the whole wait is measured, the mutex's coming back included; libc's two parts can't
 * be told apart from outside. Giving up the mutex lets its waiters go, as an unlock does.
 *
 * A cancelled wait unwinds through here, and is not counted.
 */
#include "waits.h"

/* The stack is taken before the wait: afterwards would be too late. */
static void leave(pthread_mutex_t *m, const void *function)
{
	struct cp_lock_release r;

	if (mutex_unlock_is_plain(m) || !mutex_is_waited_for(m))
		return;
	cp_lock_release_begin(&r, m);
	cp_lock_release_end(&r, function, true);
}

INTERPOSE int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
	if (!waits_measured())
		return CP_REAL(pthread_cond_wait)(c, m);
	leave(m, (const void *)CP_REAL(pthread_cond_wait));
	return WAITS_MEASURE(waits_ended, 0, c, CP_REAL(pthread_cond_wait), c, m);
}

INTERPOSE int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
				     const struct timespec *until)
{
	if (!waits_measured())
		return CP_REAL(pthread_cond_timedwait)(c, m, until);
	leave(m, (const void *)CP_REAL(pthread_cond_timedwait));
	return WAITS_MEASURE(waits_ended, 0, c, CP_REAL(pthread_cond_timedwait), c, m, until);
}

INTERPOSE int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock,
				     const struct timespec *until)
{
	if (!waits_measured())
		return CP_REAL(pthread_cond_clockwait)(c, m, clock, until);
	leave(m, (const void *)CP_REAL(pthread_cond_clockwait));
	return WAITS_MEASURE(waits_ended, 0, c, CP_REAL(pthread_cond_clockwait), c, m, clock,
			     until);
}
