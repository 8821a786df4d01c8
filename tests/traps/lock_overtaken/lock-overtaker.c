/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded after libcprof.so: whoever is about to lock is overtaken by another thread, after
 * libcprof has looked whether the lock is free and before libc has it. Where the program set
 * lock_overtake, it is called once, in place of that race. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>

void (*lock_overtake)(void);
static pthread_t overtaken;

void lock_overtake_next(void (*by)(void));
void lock_overtake_next(void (*by)(void))
{
	overtaken = pthread_self();
	lock_overtake = by;
}

/* Resolved ahead, because dlsym may sleep for the loader's lock. */
#define FORWARD(name, type)                                                                        \
	static int (*real_##name)(type *);                                                         \
	__attribute__((constructor)) static void resolve_##name(void)                              \
	{                                                                                          \
		*(void **)&real_##name = dlsym(RTLD_NEXT, #name);                                  \
	}                                                                                          \
	int name(type *l)                                                                          \
	{                                                                                          \
		void (*by)(void) = lock_overtake;                                                  \
		if (!real_##name)                                                                  \
			resolve_##name();                                                          \
		if (by && pthread_equal(overtaken, pthread_self())) {                              \
			lock_overtake = NULL;                                                      \
			by();                                                                      \
		}                                                                                  \
		return real_##name(l);                                                             \
	}
FORWARD(pthread_mutex_lock, pthread_mutex_t)
FORWARD(pthread_mutex_trylock, pthread_mutex_t)
FORWARD(mtx_lock, mtx_t)
FORWARD(pthread_rwlock_rdlock, pthread_rwlock_t)
FORWARD(pthread_rwlock_tryrdlock, pthread_rwlock_t)
FORWARD(pthread_rwlock_wrlock, pthread_rwlock_t)
FORWARD(pthread_rwlock_trywrlock, pthread_rwlock_t)
FORWARD(sem_wait, sem_t)
FORWARD(sem_trywait, sem_t)
