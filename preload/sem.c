/* Semaphores. They fail with errno, which stays as the real function left it. */
#include <semaphore.h>

#include "waits.h"

/* Its value is the first word on every little-endian port of 64 bits. */
static bool is_available(const sem_t *s)
{
	return cp_load_relaxed((const uint32_t *)(const void *)s) != 0;
}

static bool ended(int result)
{
	return result == 0 || errno == ETIMEDOUT || errno == EINTR;
}

/* Waiting is a cancellation point, also where there is nothing to wait for. */
static int try_wait(sem_t *s)
{
	int err = errno, result;

	pthread_testcancel();
	result = CP_REAL(sem_trywait)(s);
	if (result)
		errno = err;
	return result;
}

static enum waits_look look(sem_t *s)
{
	if (!waits_measured())
		return WAITS_NOT;
	cp_write_soon(s);
	if (!is_available(s))
		return WAITS_SURELY;
	if (LIKELY(!waits_expected(s)))
		return WAITS_NOT;
	return waits_tried(s, try_wait(s));
}

INTERPOSE int sem_wait(sem_t *s)
{
	return WAITS_CALL(look(s), ended, 0, s, CP_REAL(sem_wait), s);
}

INTERPOSE int sem_timedwait(sem_t *restrict s, const struct timespec *restrict until)
{
	return WAITS_CALL(waits_until(until) ? look(s) : WAITS_NOT, ended, 0, s,
			  CP_REAL(sem_timedwait), s, until);
}

INTERPOSE int sem_clockwait(sem_t *restrict s, clockid_t clock,
			    const struct timespec *restrict until)
{
	return WAITS_CALL(waits_by(clock) && waits_until(until) ? look(s) : WAITS_NOT, ended, 0, s,
			  CP_REAL(sem_clockwait), s, clock, until);
}
