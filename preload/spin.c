/* Spin locks. Their layout differs between architectures, so the real trylock goes first: it takes
 * a free one just as the lock would. */
#include "waits.h"

INTERPOSE int pthread_spin_lock(pthread_spinlock_t *l)
{
	if (!waits_measured())
		return CP_REAL(pthread_spin_lock)(l);
	if (LIKELY(CP_REAL(pthread_spin_trylock)(l) == 0))
		return 0;
	return WAITS_MEASURE(waits_ended, 0, l, CP_REAL(pthread_spin_lock), l);
}
