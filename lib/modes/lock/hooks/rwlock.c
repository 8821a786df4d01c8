/* SPDX-License-Identifier: BSD-3-Clause */
/* Read-write locks. */

#include "modes/lock/hooks/waits.h"

static unsigned word_of(const pthread_rwlock_t *l)
{
	cp_write_soon(l);
	/* libc's functions read it first, so a fault of a bad pointer is at the same address. */
	waits_touch(cp_rwlock_first(l));
	return cp_rwlock_word(l);
}

static enum waits_look read_look(pthread_rwlock_t *l)
{
	if (!waits_measured())
		return WAITS_NOT;
	if (cp_rwlock_keeps_reader(l, word_of(l)))
		return WAITS_SURELY;
	if (LIKELY(!waits_expected(l)))
		return WAITS_NOT;
	return waits_tried(l, CP_LOCK_REAL(pthread_rwlock_tryrdlock)(l));
}

static enum waits_look write_look(pthread_rwlock_t *l)
{
	if (!waits_measured())
		return WAITS_NOT;
	if (cp_rwlock_keeps_writer(word_of(l)))
		return WAITS_SURELY;
	if (LIKELY(!waits_expected(l)))
		return WAITS_NOT;
	return waits_tried(l, CP_LOCK_REAL(pthread_rwlock_trywrlock)(l));
}

static bool in_time(clockid_t clock, const struct timespec *until)
{
	return waits_by(clock) && waits_until(until);
}

#define CALL(look, real, ...)                                                                      \
	WAITS_CALL(look, waits_ended, CP_LOCK_RWLOCK, l, CP_LOCK_REAL(real), __VA_ARGS__)

SLOW static int look_and_read(pthread_rwlock_t *l)
{
	return CALL(read_look(l), pthread_rwlock_rdlock, l);
}

SLOW static int look_and_write(pthread_rwlock_t *l)
{
	return CALL(write_look(l), pthread_rwlock_wrlock, l);
}

/* As with mutexes, a lock that is free and of which nothing is known costs two loads, a hash and
 * two jumps. While the mode is off the lock's word isn't read: the read waits for the last change
 * of the word, which is an atomic one and was mostly made a moment ago. */
INTERPOSE int pthread_rwlock_rdlock(pthread_rwlock_t *l)
{
	if (waits_measured() && (cp_rwlock_may_keep_reader(word_of(l)) || waits_expected(l)))
		return look_and_read(l);
	return LIKELY(cp_lock_real.pthread_rwlock_rdlock) ? cp_lock_real.pthread_rwlock_rdlock(l)
							  : look_and_read(l);
}

INTERPOSE int pthread_rwlock_wrlock(pthread_rwlock_t *l)
{
	if (waits_measured() && (cp_rwlock_may_keep_writer(word_of(l)) || waits_expected(l)))
		return look_and_write(l);
	return LIKELY(cp_lock_real.pthread_rwlock_wrlock) ? cp_lock_real.pthread_rwlock_wrlock(l)
							  : look_and_write(l);
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
	if (!CP_LOCK_REAL(pthread_rwlock_clockrdlock)) /* before glibc 2.30 */
		return ENOSYS;
	return CALL(in_time(clock, until) ? read_look(l) : WAITS_NOT, pthread_rwlock_clockrdlock, l,
		    clock, until);
}

INTERPOSE int pthread_rwlock_clockwrlock(pthread_rwlock_t *l, clockid_t clock,
					 const struct timespec *until)
{
	if (!CP_LOCK_REAL(pthread_rwlock_clockwrlock))
		return ENOSYS;
	return CALL(in_time(clock, until) ? write_look(l) : WAITS_NOT, pthread_rwlock_clockwrlock,
		    l, clock, until);
}

OWN_UNLOCK(pthread_rwlock_unlock, pthread_rwlock_t);

SLOW static int release(pthread_rwlock_t *l, struct cp_lock_unlock_call call)
{
	struct cp_lock_release r;
	int result;

	cp_lock_event_release_begin(&r, l);
	r.call = call;
	result = CP_LOCK_REAL(pthread_rwlock_unlock)(l);
	cp_lock_event_release_end(&r, (const void *)CP_LOCK_REAL(pthread_rwlock_unlock),
				  result == 0);
	return result;
}

/* Called when one of several readers unlocks while a writer waits for all of them. If several
 * readers unlocked at once, each would see the others, and none would be taken for the last one. So
 * readers that are about to unlock count as gone for those that come after them. */
SLOW static int release_shared(pthread_rwlock_t *l, struct cp_lock_unlock_call call)
{
	uint32_t *leaving = cp_lock_holder_leaving(l), others = cp_add_seqcst(leaving, 1);
	unsigned r = word_of(l);
	bool last = !cp_rwlock_is_shared(r) || cp_rwlock_has_at_most(r, others + 1);
	int result = last ? release(l, call) : CP_LOCK_REAL(pthread_rwlock_unlock)(l);

	cp_add_seqcst(leaving, -1);
	return result;
}

SLOW static int look_and_unlock(pthread_rwlock_t *l, struct cp_lock_unlock_call call)
{
	unsigned r = word_of(l);

	if (!cp_load_relaxed(&cp_lock_holders_on))
		return CP_LOCK_REAL(pthread_rwlock_unlock)(l);
	if (cp_rwlock_is_shared(r))
		return cp_rwlock_awaits_readers(l, r) ? release_shared(l, call)
						      : CP_LOCK_REAL(pthread_rwlock_unlock)(l);
	return cp_rwlock_is_waited_for(l, r) ? release(l, call)
					     : CP_LOCK_REAL(pthread_rwlock_unlock)(l);
}

/* Only a lock that a thread has waited for is looked at: who waits has marked it before
 * (cp_lock_mark). A look at the lock's own word would wait for the change of that word by the lock
 * call, which a short section has just made. */
INTERPOSE int pthread_rwlock_unlock(pthread_rwlock_t *l)
{
	if (LIKELY(cp_load_relaxed(cp_lock_known_at(l)) != CP_LOCK_CONTENDED &&
		   cp_lock_real.pthread_rwlock_unlock))
		return cp_lock_real.pthread_rwlock_unlock(l);
	return look_and_unlock(l, OWN_CALL_OF(pthread_rwlock_unlock));
}
