/* SPDX-License-Identifier: BSD-3-Clause */
/* C11's mutexes and conditions. In glibc they are pthread's, but glibc calls those internally, not
 * through the interposed functions.
 */

#include "modes/lock/hooks/waits.h"

static pthread_mutex_t *mutex_of(mtx_t *m)
{
	return (pthread_mutex_t *)(void *)m;
}

static bool wait_ended(int result)
{
	return result == thrd_success || result == thrd_timedout;
}

static enum cp_wakes_how how_woken(int result)
{
	return result == thrd_timedout ? CP_WAKES_TIMED_OUT : CP_WAKES_WOKEN;
}

INTERPOSE int mtx_lock(mtx_t *m)
{
	return WAITS_CALL_MUTEX(mutex_look(mutex_of(m)), wait_ended, mutex_of(m), m,
				CP_LOCK_REAL(mtx_lock), m);
}

INTERPOSE int mtx_timedlock(mtx_t *restrict m, const struct timespec *restrict until)
{
	return WAITS_CALL_MUTEX(mutex_look(mutex_of(m)), wait_ended, mutex_of(m), m,
				CP_LOCK_REAL(mtx_timedlock), m, until);
}

OWN_UNLOCK(mtx_unlock, mtx_t);

INTERPOSE int mtx_unlock(mtx_t *m)
{
	struct cp_lock_release r;
	int result;

	if (mutex_unlock_is_plain(mutex_of(m)) || !cp_mutex_is_waited_for(mutex_of(m)))
		return CP_LOCK_REAL(mtx_unlock)(m);
	cp_lock_event_release_begin(&r, m);
	r.call = OWN_CALL_OF(mtx_unlock);
	result = CP_LOCK_REAL(mtx_unlock)(m);
	cp_lock_event_release_end(&r, (const void *)CP_LOCK_REAL(mtx_unlock),
				  result == thrd_success);
	return result;
}

static void leave_mutex(const cnd_t *c, mtx_t *m, const void *function)
{
	struct cp_lock_release r;

	waits_touch_object(c);
	if (mutex_unlock_is_plain(mutex_of(m)) || !cp_mutex_is_waited_for(mutex_of(m)))
		return;
	cp_lock_event_release_begin(&r, m);
	cp_lock_event_release_end(&r, function, true);
}

INTERPOSE int cnd_wait(cnd_t *c, mtx_t *m)
{
	if (!waits_measured())
		return CP_LOCK_REAL(cnd_wait)(c, m);
	leave_mutex(c, m, (const void *)CP_LOCK_REAL(cnd_wait));
	return WAITS_MEASURE_WOKEN(wait_ended, how_woken, CP_LOCK_COND, c, CP_LOCK_REAL(cnd_wait),
				   c, m);
}

INTERPOSE int cnd_timedwait(cnd_t *restrict c, mtx_t *restrict m,
			    const struct timespec *restrict until)
{
	if (!waits_measured())
		return CP_LOCK_REAL(cnd_timedwait)(c, m, until);
	leave_mutex(c, m, (const void *)CP_LOCK_REAL(cnd_timedwait));
	return WAITS_MEASURE_WOKEN(wait_ended, how_woken, CP_LOCK_COND, c,
				   CP_LOCK_REAL(cnd_timedwait), c, m, until);
}

WAITS_WAKES(cnd_signal, cnd_t, 1)
WAITS_WAKES(cnd_broadcast, cnd_t, CP_WAKES_ALL)
