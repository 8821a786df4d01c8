/* Semaphores. They fail with errno, which stays as the real function left it. */
#include <semaphore.h>

#include "waits.h"

/* Its value is the first word on every little-endian port of 64 bits. */
static bool is_available(const sem_t *s)
{
	return !waits_measured() || cp_load_relaxed((const uint32_t *)(const void *)s) != 0;
}

static bool ended(int result)
{
	return result == 0 || errno == ETIMEDOUT || errno == EINTR;
}

INTERPOSE int sem_wait(sem_t *s)
{
	if (LIKELY(is_available(s)))
		return CP_REAL(sem_wait)(s);
	return WAITS_MEASURE(ended, 0, s, CP_REAL(sem_wait), s);
}

INTERPOSE int sem_timedwait(sem_t *restrict s, const struct timespec *restrict until)
{
	if (LIKELY(is_available(s)))
		return CP_REAL(sem_timedwait)(s, until);
	return WAITS_MEASURE(ended, 0, s, CP_REAL(sem_timedwait), s, until);
}

INTERPOSE int sem_clockwait(sem_t *restrict s, clockid_t clock,
			    const struct timespec *restrict until)
{
	if (LIKELY(is_available(s)))
		return CP_REAL(sem_clockwait)(s, clock, until);
	return WAITS_MEASURE(ended, 0, s, CP_REAL(sem_clockwait), s, clock, until);
}
