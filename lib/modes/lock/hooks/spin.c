/* SPDX-License-Identifier: BSD-3-Clause */
/* Spin locks. Their layout differs between architectures, so the real trylock goes first: it takes
 * a free lock just as the real lock function would.
 */
#include "modes/lock/hooks/waits.h"

INTERPOSE int pthread_spin_lock(pthread_spinlock_t *l)
{
	if (!waits_measured())
		return CP_LOCK_REAL(pthread_spin_lock)(l);
	if (LIKELY(CP_LOCK_REAL(pthread_spin_trylock)(l) == 0))
		return 0;
	return WAITS_MEASURE(waits_ended, CP_LOCK_SPIN, l, CP_LOCK_REAL(pthread_spin_lock), l);
}
