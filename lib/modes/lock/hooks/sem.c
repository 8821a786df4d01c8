/* SPDX-License-Identifier: BSD-3-Clause */
/* Semaphores. Their functions set errno on failure; it stays as the real function left it. */

#include "modes/lock/hooks/waits.h"

static bool wait_ended(int result)
{
	return result == 0 || errno == ETIMEDOUT || errno == EINTR;
}

static enum cp_wakes_how how_woken(int result)
{
	return result == 0	    ? CP_WAKES_WOKEN
	       : errno == ETIMEDOUT ? CP_WAKES_TIMED_OUT
				    : CP_WAKES_INTERRUPTED;
}

/* Try the semaphore. Waiting is a cancellation point even if the semaphore is available. */
static int try_wait(sem_t *s)
{
	int err = errno, result;

	pthread_testcancel();
	result = CP_LOCK_REAL(sem_trywait)(s);
	if (result)
		errno = err;
	return result;
}

static enum waits_look look_at_value(sem_t *s)
{
	if (!waits_measured())
		return WAITS_NOT;
	cp_write_soon(s);
	if (!cp_sem_is_available(s))
		return WAITS_SURELY;
	if (LIKELY(!waits_expected(s)))
		return WAITS_NOT;
	return waits_tried(s, try_wait(s));
}

SLOW static int look_and_wait(sem_t *s)
{
	return WAITS_CALL_WOKEN(look_at_value(s), wait_ended, how_woken, CP_LOCK_SEM, s,
				CP_LOCK_REAL(sem_wait), s);
}

INTERPOSE int sem_wait(sem_t *s)
{
	if (waits_measured()) {
		cp_write_soon(s);
		if (!cp_sem_is_available(s) || waits_expected(s))
			return look_and_wait(s);
	}
	return LIKELY(cp_lock_real.sem_wait) ? cp_lock_real.sem_wait(s) : look_and_wait(s);
}

INTERPOSE int sem_timedwait(sem_t *restrict s, const struct timespec *restrict until)
{
	return WAITS_CALL_WOKEN(waits_until(until) ? look_at_value(s) : WAITS_NOT, wait_ended,
				how_woken, CP_LOCK_SEM, s, CP_LOCK_REAL(sem_timedwait), s, until);
}

INTERPOSE int sem_clockwait(sem_t *restrict s, clockid_t clock,
			    const struct timespec *restrict until)
{
	if (!CP_LOCK_REAL(sem_clockwait)) { /* before glibc 2.30 */
		errno = ENOSYS;
		return -1;
	}
	return WAITS_CALL_WOKEN(
		waits_by(clock) && waits_until(until) ? look_at_value(s) : WAITS_NOT, wait_ended,
		how_woken, CP_LOCK_SEM, s, CP_LOCK_REAL(sem_clockwait), s, clock, until);
}

WAITS_WAKES(sem_post, sem_t, 1)
