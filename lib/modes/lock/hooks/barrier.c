/* SPDX-License-Identifier: BSD-3-Clause */
/* Barriers: every thread waits there except the last one, which learns that from the result. */
#include "modes/lock/hooks/waits.h"

static bool waited(int result)
{
	return result == 0;
}

/* The thread that comes last wakes all others. Nobody knows who that is before the call, so each
 * thread is taken for the last one until another comes. */
static enum cp_wakes_how woken(int result)
{
	(void)result;
	return CP_WAKES_WOKEN_LAST;
}

INTERPOSE int pthread_barrier_wait(pthread_barrier_t *b)
{
	if (!waits_measured())
		return CP_LOCK_REAL(pthread_barrier_wait)(b);
	if (cp_lock_wake_is_awaited(b))
		cp_lock_wake(b, CP_WAKES_ALL, (const void *)CP_LOCK_REAL(pthread_barrier_wait),
			     NULL, 0);
	return WAITS_MEASURE_WOKEN(waited, woken, CP_LOCK_BARRIER, b,
				   CP_LOCK_REAL(pthread_barrier_wait), b);
}
