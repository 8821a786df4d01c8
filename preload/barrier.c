/* Barriers: every thread waits there but the last one, which is told so by the result. */
#include "waits.h"

static bool waited(int result)
{
	return result == 0;
}

INTERPOSE int pthread_barrier_wait(pthread_barrier_t *b)
{
	if (!waits_measured())
		return CP_REAL(pthread_barrier_wait)(b);
	return WAITS_MEASURE(waited, 0, b, CP_REAL(pthread_barrier_wait), b);
}
