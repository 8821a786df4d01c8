/* SPDX-License-Identifier: BSD-3-Clause */
/* Read-write locks. */

#include "modes/lock/hooks/waits.h"

/* Bits of the word of readers: the lock is in the writers' phase; a writer has the lock, or gets it
 * as soon as the readers are gone; readers wait; one reader. */
#define WRITERS_PHASE 1u
#define WRITER 2u
#define READERS_WAIT 4u
#define READER 8u
/* Bit of the words that waiters sleep on. */
#define SLEPT_ON 2u

static unsigned readers(const pthread_rwlock_t *l)
{
	cp_write_soon(l);
	/* libc's functions read it first, so a fault of a bad pointer is at the same address. */
	waits_touch(&l->__data.__cur_writer);
	return cp_load_relaxed(&l->__data.__readers);
}

/* Return true if a reader must wait. A writer that waits for the readers to go keeps new ones out
 * in one kind of lock only. */
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
	return waits_tried(l, CP_LOCK_REAL(pthread_rwlock_tryrdlock)(l));
}

static enum waits_look write_look(pthread_rwlock_t *l)
{
	if (!waits_measured())
		return WAITS_NOT;
	if (writer_waits(l))
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
	if (waits_measured() && (readers(l) & WRITER || waits_expected(l)))
		return look_and_read(l);
	return LIKELY(cp_lock_real.pthread_rwlock_rdlock) ? cp_lock_real.pthread_rwlock_rdlock(l)
							  : look_and_read(l);
}

INTERPOSE int pthread_rwlock_wrlock(pthread_rwlock_t *l)
{
	if (waits_measured() && (readers(l) & ~WRITERS_PHASE || waits_expected(l)))
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

/* Return true if the unlock lets a waiter go: it is the writer's, or the last reader's. In the
 * writers' phase the readers that are counted wait. In the readers' phase they have the lock, and a
 * writer that is noted waits for them. */
static bool is_waited_for(const pthread_rwlock_t *l, unsigned r)
{
	if (r & WRITERS_PHASE ? r >= READER : r & WRITER)
		return true;
	return (r & READERS_WAIT) || cp_load_relaxed(&l->__data.__writers) ||
	       (cp_load_relaxed(&l->__data.__wrphase_futex) & SLEPT_ON) ||
	       (cp_load_relaxed(&l->__data.__writers_futex) & SLEPT_ON);
}

/* Return true if other readers have the lock, too. */
static bool is_shared(unsigned r)
{
	return r >= 2 * READER && !(r & WRITERS_PHASE);
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
	unsigned r = readers(l);
	bool last = !is_shared(r) || r < (others + 2) * READER;
	int result = last ? release(l, call) : CP_LOCK_REAL(pthread_rwlock_unlock)(l);

	cp_add_seqcst(leaving, -1);
	return result;
}

SLOW static int look_and_unlock(pthread_rwlock_t *l, struct cp_lock_unlock_call call)
{
	unsigned r = readers(l);

	if (!cp_load_relaxed(&cp_lock_holders_on))
		return CP_LOCK_REAL(pthread_rwlock_unlock)(l);
	if (is_shared(r))
		return r & WRITER ? release_shared(l, call)
				  : CP_LOCK_REAL(pthread_rwlock_unlock)(l);
	return is_waited_for(l, r) ? release(l, call) : CP_LOCK_REAL(pthread_rwlock_unlock)(l);
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
