/* SPDX-License-Identifier: BSD-3-Clause */
/* Barriers: every thread waits there except the last one, which learns that from the result. */
#include "modes/lock/hooks/waits.h"

static bool waited(int result)
{
	return result == 0;
}

INTERPOSE int pthread_barrier_wait(pthread_barrier_t *b)
{
	if (!waits_measured())
		return CP_LOCK_REAL(pthread_barrier_wait)(b);
	return WAITS_MEASURE(waited, 0, b, CP_LOCK_REAL(pthread_barrier_wait), b);
}
