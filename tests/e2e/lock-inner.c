/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures the waits in libc's real functions. This library is preloaded after libcprof.so, and so
 * lies between it and libc: lock_inner_ns() is the time that the calling thread has waited in them.
 *
 * Only calls that slept count: a thread that was merely preempted didn't wait for the lock. So,
 * whatever else the machine does, this time is less than the delay that the profile must show, and
 * the time that the program measures around its calls (lock-host.c) is more.
 *
 * Linked without libc (-nostdlib), so that it has no symbol versions and answers all of them.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <threads.h>
#include <time.h>

#ifndef __GLIBC__
#define dlvsym(handle, name, version) dlsym(handle, name)
#endif

static __thread uint64_t waited_ns;

uint64_t lock_inner_ns(void);
uint64_t lock_inner_ns(void)
{
	return waited_ns;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static long sleeps(void)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	return u.ru_nvcsw;
}

static void *next(const char *name)
{
	void *f = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");

	return f ? f : dlsym(RTLD_NEXT, name);
}

/* Busy waits don't sleep; libcprof calls the real one only where it has to wait. */
#define CALL(type, spins, name, types, ...)                                                        \
	({                                                                                         \
		static type(*real) types;                                                          \
		long slept;                                                                        \
		uint64_t began;                                                                    \
		type result;                                                                       \
		if (!real)                                                                         \
			*(void **)&real = next(#name);                                             \
		slept = sleeps();                                                                  \
		began = now_ns();                                                                  \
		result = real(__VA_ARGS__);                                                        \
		began = now_ns() - began;                                                          \
		if ((spins) || sleeps() != slept)                                                  \
			waited_ns += began;                                                        \
		result;                                                                            \
	})

#define ONE(name, t1)                                                                              \
	int name(t1 a)                                                                             \
	{                                                                                          \
		return CALL(int, false, name, (t1), a);                                            \
	}
#define TWO(name, t1, t2)                                                                          \
	int name(t1 a, t2 b)                                                                       \
	{                                                                                          \
		return CALL(int, false, name, (t1, t2), a, b);                                     \
	}
#define THREE(name, t1, t2, t3)                                                                    \
	int name(t1 a, t2 b, t3 c)                                                                 \
	{                                                                                          \
		return CALL(int, false, name, (t1, t2, t3), a, b, c);                              \
	}
#define FOUR(name, t1, t2, t3, t4)                                                                 \
	int name(t1 a, t2 b, t3 c, t4 d)                                                           \
	{                                                                                          \
		return CALL(int, false, name, (t1, t2, t3, t4), a, b, c, d);                       \
	}

typedef const struct timespec *until;

ONE(pthread_mutex_lock, pthread_mutex_t *)
TWO(pthread_mutex_timedlock, pthread_mutex_t *, until)
THREE(pthread_mutex_clocklock, pthread_mutex_t *, clockid_t, until)
ONE(mtx_lock, mtx_t *)
TWO(mtx_timedlock, mtx_t *restrict, const struct timespec *restrict)
ONE(pthread_rwlock_rdlock, pthread_rwlock_t *)
ONE(pthread_rwlock_wrlock, pthread_rwlock_t *)
TWO(pthread_rwlock_timedrdlock, pthread_rwlock_t *, until)
TWO(pthread_rwlock_timedwrlock, pthread_rwlock_t *, until)
THREE(pthread_rwlock_clockrdlock, pthread_rwlock_t *, clockid_t, until)
THREE(pthread_rwlock_clockwrlock, pthread_rwlock_t *, clockid_t, until)
ONE(sem_wait, sem_t *)
TWO(sem_timedwait, sem_t *restrict, const struct timespec *restrict)
THREE(sem_clockwait, sem_t *restrict, clockid_t, const struct timespec *restrict)
TWO(pthread_cond_wait, pthread_cond_t *, pthread_mutex_t *)
THREE(pthread_cond_timedwait, pthread_cond_t *, pthread_mutex_t *, until)
FOUR(pthread_cond_clockwait, pthread_cond_t *, pthread_mutex_t *, clockid_t, until)
TWO(cnd_wait, cnd_t *, mtx_t *)
THREE(cnd_timedwait, cnd_t *restrict, mtx_t *restrict, const struct timespec *restrict)
ONE(pthread_barrier_wait, pthread_barrier_t *)

int pthread_spin_lock(pthread_spinlock_t *l)
{
	return CALL(int, true, pthread_spin_lock, (pthread_spinlock_t *), l);
}

long syscall(long number, ...)
{
	long a[6];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	return CALL(long, false, syscall, (long, ...), number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
