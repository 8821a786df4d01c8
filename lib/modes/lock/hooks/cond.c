/* SPDX-License-Identifier: BSD-3-Clause */
/* Conditions: the whole wait is measured, including the locking of the mutex at its end; the two
 * parts in libc can't be told apart from outside. Releasing the mutex lets its waiters go, as an
 * unlock does.
 *
 * A signal that nobody waits for is a tail call of libc's function.
 *
 * A cancelled wait unwinds through these functions and is not counted.
 */
#include "modes/lock/hooks/waits.h"

/* Report the release of the mutex. The stack is taken before the wait; afterwards would be too
 * late. Not inlined, as waits_until isn't. */
__attribute__((noinline)) static void leave_mutex(const pthread_cond_t *c, pthread_mutex_t *m,
						  const void *function)
{
	struct cp_lock_release r;

	cp_touch_atomic(c);
	if (mutex_unlock_is_plain(m) || !cp_mutex_is_waited_for(m))
		return;
	cp_lock_event_release_begin(&r, m);
	cp_lock_event_release_end(&r, function, true);
}

INTERPOSE int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
	if (!waits_measured())
		return CP_LOCK_REAL(pthread_cond_wait)(c, m);
	leave_mutex(c, m, (const void *)CP_LOCK_REAL(pthread_cond_wait));
	return WAITS_MEASURE_WOKEN(waits_ended, waits_woken, CP_LOCK_COND, c,
				   CP_LOCK_REAL(pthread_cond_wait), c, m);
}

INTERPOSE int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
				     const struct timespec *until)
{
	if (!waits_measured())
		return CP_LOCK_REAL(pthread_cond_timedwait)(c, m, until);
	leave_mutex(c, m, (const void *)CP_LOCK_REAL(pthread_cond_timedwait));
	return WAITS_MEASURE_WOKEN(waits_ended, waits_woken, CP_LOCK_COND, c,
				   CP_LOCK_REAL(pthread_cond_timedwait), c, m, until);
}

INTERPOSE int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock,
				     const struct timespec *until)
{
	if (!CP_LOCK_REAL(pthread_cond_clockwait)) /* before glibc 2.30 */
		return ENOSYS;
	if (!waits_measured())
		return CP_LOCK_REAL(pthread_cond_clockwait)(c, m, clock, until);
	leave_mutex(c, m, (const void *)CP_LOCK_REAL(pthread_cond_clockwait));
	return WAITS_MEASURE_WOKEN(waits_ended, waits_woken, CP_LOCK_COND, c,
				   CP_LOCK_REAL(pthread_cond_clockwait), c, m, clock, until);
}

WAITS_WAKES(pthread_cond_signal, pthread_cond_t, 1)
WAITS_WAKES(pthread_cond_broadcast, pthread_cond_t, CP_WAKES_ALL)

/* Barriers: every thread waits except the last one. */

/* The last thread wakes the others. Before the call nobody knows which one is last, so each thread
 * counts as the last until another comes. */
static enum cp_wakes_how how_woken(int result)
{
	return CP_WAKES_WOKEN_LAST;
}

INTERPOSE int pthread_barrier_wait(pthread_barrier_t *b)
{
	if (!waits_measured())
		return CP_LOCK_REAL(pthread_barrier_wait)(b);
	if (cp_lock_wake_is_awaited(b))
		cp_lock_wake(b, CP_WAKES_ALL, (const void *)CP_LOCK_REAL(pthread_barrier_wait),
			     NULL, 0);
	return WAITS_MEASURE_WOKEN(cp_barrier_has_waited, how_woken, CP_LOCK_BARRIER, b,
				   CP_LOCK_REAL(pthread_barrier_wait), b);
}

/* Semaphores. Their functions set errno on failure; it stays as the real function left it. */

static bool sem_ended(int result)
{
	return result == 0 || errno == ETIMEDOUT || errno == EINTR;
}

static enum cp_wakes_how how_sem_woken(int result)
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
	return WAITS_CALL_WOKEN(look_at_value(s), sem_ended, how_sem_woken, CP_LOCK_SEM, s,
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
	return WAITS_CALL_WOKEN(waits_until(until) ? look_at_value(s) : WAITS_NOT, sem_ended,
				how_sem_woken, CP_LOCK_SEM, s, CP_LOCK_REAL(sem_timedwait), s,
				until);
}

INTERPOSE int sem_clockwait(sem_t *restrict s, clockid_t clock,
			    const struct timespec *restrict until)
{
	if (!CP_LOCK_REAL(sem_clockwait)) { /* before glibc 2.30 */
		errno = ENOSYS;
		return -1;
	}
	return WAITS_CALL_WOKEN(
		waits_by(clock) && waits_until(until) ? look_at_value(s) : WAITS_NOT, sem_ended,
		how_sem_woken, CP_LOCK_SEM, s, CP_LOCK_REAL(sem_clockwait), s, clock, until);
}

WAITS_WAKES(sem_post, sem_t, 1)
