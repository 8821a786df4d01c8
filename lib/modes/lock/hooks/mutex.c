/* SPDX-License-Identifier: BSD-3-Clause */
/* pthread mutexes, of all kinds. Locking a free mutex, and unlocking one that no thread waits for,
 * are tail calls of the real function.
 */
#include "modes/lock/hooks/waits.h"

SLOW static int look_and_lock(pthread_mutex_t *m, bool tried)
{
	return WAITS_CALL_MUTEX(tried ? WAITS_SURELY : mutex_look(m), waits_ended, m, m,
				CP_LOCK_REAL(pthread_mutex_lock), m);
}

/* Locking a free mutex costs two loads, a hash and two jumps. No register is pushed, because the
 * code that resolves the real function is elsewhere. A mutex that many threads want and that is
 * free is tried before all the checks of mutex_look. */
INTERPOSE int pthread_mutex_lock(pthread_mutex_t *m)
{
	unsigned word = mutex_word_to_write(m), known = cp_load_relaxed(cp_lock_known_at(m));
	bool tried;

	if (LIKELY(!(word | known) && cp_lock_real.pthread_mutex_lock))
		return cp_lock_real.pthread_mutex_lock(m);
	tried = mutex_is_contended(m, word, known) && cp_lock_real.pthread_mutex_trylock;
	if (LIKELY(tried && cp_lock_real.pthread_mutex_trylock(m) == 0))
		return 0;
	return look_and_lock(m, tried);
}

INTERPOSE int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *until)
{
	return WAITS_CALL_MUTEX(mutex_look(m), waits_ended, m, m,
				CP_LOCK_REAL(pthread_mutex_timedlock), m, until);
}

INTERPOSE int pthread_mutex_clocklock(pthread_mutex_t *m, clockid_t clock,
				      const struct timespec *until)
{
	if (!CP_LOCK_REAL(pthread_mutex_clocklock)) /* before glibc 2.30 */
		return ENOSYS;
	return WAITS_CALL_MUTEX(waits_by(clock) ? mutex_look(m) : WAITS_NOT, waits_ended, m, m,
				CP_LOCK_REAL(pthread_mutex_clocklock), m, clock, until);
}

OWN_UNLOCK(pthread_mutex_unlock, pthread_mutex_t);

SLOW static int release(pthread_mutex_t *m, struct cp_lock_unlock_call call)
{
	struct cp_lock_release r;
	int result;

	if (mutex_unlock_is_plain(m) || !cp_mutex_is_waited_for(m))
		return CP_LOCK_REAL(pthread_mutex_unlock)(m);
	cp_lock_event_release_begin(&r, m);
	r.call = call;
	result = CP_LOCK_REAL(pthread_mutex_unlock)(m);
	cp_lock_event_release_end(&r, (const void *)CP_LOCK_REAL(pthread_mutex_unlock),
				  result == 0);
	return result;
}

INTERPOSE int pthread_mutex_unlock(pthread_mutex_t *m)
{
	if (LIKELY(mutex_unlock_is_plain(m) && cp_lock_real.pthread_mutex_unlock))
		return cp_lock_real.pthread_mutex_unlock(m);
	return release(m, OWN_CALL_OF(pthread_mutex_unlock));
}

/* Spin locks. Their layout differs between architectures, so the real trylock goes first: it takes
 * a free lock just as the real lock function would.
 */

INTERPOSE int pthread_spin_lock(pthread_spinlock_t *l)
{
	if (!waits_measured())
		return CP_LOCK_REAL(pthread_spin_lock)(l);
	if (LIKELY(CP_LOCK_REAL(pthread_spin_trylock)(l) == 0))
		return 0;
	return WAITS_MEASURE(waits_ended, CP_LOCK_SPIN, l, CP_LOCK_REAL(pthread_spin_lock), l);
}

/* C11's mutexes and conditions. In glibc they are pthread's, but glibc calls those internally, not
 * through the interposed functions. */

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

/* Not inlined, as waits_until isn't. */
__attribute__((noinline)) static void leave_mutex(const cnd_t *c, mtx_t *m, const void *function)
{
	struct cp_lock_release r;

	cp_touch_atomic(c);
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
