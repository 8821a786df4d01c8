/* SPDX-License-Identifier: BSD-3-Clause */
/* The originals of the functions that the lock mode interposes; see host/real.h. */
#ifndef CP_LOCK_REAL_H
#define CP_LOCK_REAL_H

#include <pthread.h>
#include <semaphore.h>
#include <threads.h>
#include <time.h>

struct cp_lock_real {
	int (*pthread_mutex_lock)(pthread_mutex_t *);
	int (*pthread_mutex_unlock)(pthread_mutex_t *);
	int (*pthread_mutex_trylock)(pthread_mutex_t *);
	int (*pthread_mutex_timedlock)(pthread_mutex_t *, const struct timespec *);
	int (*pthread_mutex_clocklock)(pthread_mutex_t *, clockid_t, const struct timespec *);
	int (*pthread_rwlock_rdlock)(pthread_rwlock_t *);
	int (*pthread_rwlock_wrlock)(pthread_rwlock_t *);
	int (*pthread_rwlock_unlock)(pthread_rwlock_t *);
	int (*pthread_rwlock_tryrdlock)(pthread_rwlock_t *);
	int (*pthread_rwlock_trywrlock)(pthread_rwlock_t *);
	int (*pthread_rwlock_timedrdlock)(pthread_rwlock_t *, const struct timespec *);
	int (*pthread_rwlock_timedwrlock)(pthread_rwlock_t *, const struct timespec *);
	int (*pthread_rwlock_clockrdlock)(pthread_rwlock_t *, clockid_t, const struct timespec *);
	int (*pthread_rwlock_clockwrlock)(pthread_rwlock_t *, clockid_t, const struct timespec *);
	int (*pthread_spin_lock)(pthread_spinlock_t *);
	int (*pthread_spin_trylock)(pthread_spinlock_t *);
	int (*pthread_cond_wait)(pthread_cond_t *, pthread_mutex_t *);
	int (*pthread_cond_timedwait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
	int (*pthread_cond_clockwait)(pthread_cond_t *, pthread_mutex_t *, clockid_t,
				      const struct timespec *);
	int (*pthread_cond_signal)(pthread_cond_t *);
	int (*pthread_cond_broadcast)(pthread_cond_t *);
	int (*sem_post)(sem_t *);
	int (*sem_wait)(sem_t *);
	int (*sem_trywait)(sem_t *);
	int (*sem_timedwait)(sem_t *, const struct timespec *);
	int (*sem_clockwait)(sem_t *, clockid_t, const struct timespec *);
	int (*pthread_barrier_wait)(pthread_barrier_t *);
	int (*mtx_lock)(mtx_t *);
	int (*mtx_timedlock)(mtx_t *, const struct timespec *);
	int (*mtx_unlock)(mtx_t *);
	int (*cnd_wait)(cnd_t *, mtx_t *);
	int (*cnd_timedwait)(cnd_t *, mtx_t *, const struct timespec *);
	int (*cnd_signal)(cnd_t *);
	int (*cnd_broadcast)(cnd_t *);
	int (*pthread_join)(pthread_t, void **);
	int (*pthread_tryjoin_np)(pthread_t, void **);
	int (*pthread_timedjoin_np)(pthread_t, void **, const struct timespec *);
	int (*pthread_clockjoin_np)(pthread_t, void **, clockid_t, const struct timespec *);
	int (*thrd_join)(thrd_t, int *);
};

/* Valid after cp_lock_real_resolve; a function that libc lacks is NULL. */
extern struct cp_lock_real cp_lock_real;

/* Resolve all functions. Returns the number of functions not found. Idempotent. Ordinary context,
 * in the constructor at the latest. */
int cp_lock_real_resolve(void);

/* The real NAME, resolved on first use. */
#define CP_LOCK_REAL(name)                                                                         \
	(cp_lock_real.name ? cp_lock_real.name : (cp_lock_real_resolve(), cp_lock_real.name))

#endif
