/* pthread mutexes, of all kinds. A free one is locked, and one that nobody waits for unlocked, by a
 * tail call of the real function. */
#include "waits.h"

SLOW static int look_and_lock(pthread_mutex_t *m, bool tried)
{
	return WAITS_CALL_MUTEX(tried ? WAITS_SURELY : mutex_look(m), waits_ended, m, m,
				CP_REAL(pthread_mutex_lock), m);
}

/* A free one costs two loads, a hash and two jumps; nothing is pushed, because what resolves the
 * real function is elsewhere. One that many want, and is free, is tried before all that mutex_look
 * would look at. */
INTERPOSE int pthread_mutex_lock(pthread_mutex_t *m)
{
	unsigned word = mutex_word_to_write(m), known = cp_load_relaxed(cp_lock_known_at(m));
	bool tried;

	if (LIKELY(!(word | known) && cp_real.pthread_mutex_lock))
		return cp_real.pthread_mutex_lock(m);
	tried = mutex_is_contended(m, word, known) && cp_real.pthread_mutex_trylock;
	if (LIKELY(tried && cp_real.pthread_mutex_trylock(m) == 0))
		return 0;
	return look_and_lock(m, tried);
}

INTERPOSE int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *until)
{
	return WAITS_CALL_MUTEX(mutex_look(m), waits_ended, m, m, CP_REAL(pthread_mutex_timedlock),
				m, until);
}

INTERPOSE int pthread_mutex_clocklock(pthread_mutex_t *m, clockid_t clock,
				      const struct timespec *until)
{
	return WAITS_CALL_MUTEX(waits_by(clock) ? mutex_look(m) : WAITS_NOT, waits_ended, m, m,
				CP_REAL(pthread_mutex_clocklock), m, clock, until);
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
	if (LIKELY(mutex_unlock_is_plain(m) && cp_real.pthread_mutex_unlock))
		return cp_real.pthread_mutex_unlock(m);
	return release(m);
}
