/* SPDX-License-Identifier: BSD-3-Clause */
/* Resolves the originals of the lock mode's hooks; see lock.h. */
#include "modes/lock/lock.h"

#include <stddef.h>

#include "base/start_data.h"
#include "host/real.h"

struct cp_lock_real cp_lock_real CP_START_DATA;

/* clang-format off */
#define FUNCTIONS \
	WANT(pthread_mutex_lock) \
	WANT(pthread_mutex_unlock) \
	WANT(pthread_mutex_trylock) \
	WANT(pthread_mutex_timedlock) \
	SINCE(30, pthread_mutex_clocklock) \
	WANT(pthread_rwlock_rdlock) \
	WANT(pthread_rwlock_wrlock) \
	WANT(pthread_rwlock_unlock) \
	WANT(pthread_rwlock_tryrdlock) \
	WANT(pthread_rwlock_trywrlock) \
	WANT(pthread_rwlock_timedrdlock) \
	WANT(pthread_rwlock_timedwrlock) \
	SINCE(30, pthread_rwlock_clockrdlock) \
	SINCE(30, pthread_rwlock_clockwrlock) \
	WANT(pthread_spin_lock) \
	WANT(pthread_spin_trylock) \
	WANT(pthread_cond_wait) \
	WANT(pthread_cond_timedwait) \
	SINCE(30, pthread_cond_clockwait) \
	WANT(pthread_cond_signal) \
	WANT(pthread_cond_broadcast) \
	WANT(sem_post) \
	WANT(sem_wait) \
	WANT(sem_trywait) \
	WANT(sem_timedwait) \
	SINCE(30, sem_clockwait) \
	WANT(pthread_barrier_wait) \
	WANT(mtx_lock) \
	WANT(mtx_timedlock) \
	WANT(mtx_unlock) \
	WANT(cnd_wait) \
	WANT(cnd_timedwait) \
	WANT(cnd_signal) \
	WANT(cnd_broadcast) \
	WANT(pthread_join) \
	WANT(pthread_tryjoin_np) \
	WANT(pthread_timedjoin_np) \
	SINCE(31, pthread_clockjoin_np) \
	WANT(thrd_join)
/* clang-format on */
#define WANT(function) SINCE(0, function)

#define SINCE(minor, function) { .at = offsetof(struct cp_lock_real, function), .since = minor },
static const struct cp_real_wanted wanted[] = { FUNCTIONS };
#undef SINCE
#define SINCE(minor, function) #function "\0"
static const char wanted_names[] = FUNCTIONS;
#undef SINCE

int cp_lock_real_resolve(void)
{
	return cp_real_find(&cp_lock_real, wanted, sizeof(wanted) / sizeof(*wanted), wanted_names);
}
