/* SPDX-License-Identifier: BSD-3-Clause */
/* The main thread waits ROUNDS times for locks of several kinds that another has. The first time it
 * is held already; every other time it is free when looked at, and taken before it can be had, by
 * way of lock-overtaker.c. errno stays. Waits in wait_KIND.
 *
 * And the other way round: ROUNDS times a mutex is held when looked at, and given back before libc
 * comes to it. In get_back; of the kind that spins, in get_adaptive. */
#include <threads.h>

#include "system.h"

/* No more than the waits of a thread and kind that are recorded for sure. */
#define ROUNDS 5

void lock_overtake_next(void (*by)(void)) __attribute__((weak));

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t reads = PTHREAD_RWLOCK_INITIALIZER, writes = PTHREAD_RWLOCK_INITIALIZER;
static mtx_t mtx;
static sem_t sem;

static const struct kind *kind;
static sem_t wanted, held;
static int last;

#define KIND(name, wait, take, release)                                                            \
	__attribute__((noinline)) static void wait_##name(void)                                    \
	{                                                                                          \
		errno = 77;                                                                        \
		wait;                                                                              \
		if (errno != 77)                                                                   \
			printf("%s: errno %d\n", #name, errno);                                    \
		release;                                                                           \
	}                                                                                          \
	__attribute__((noinline)) static void take_##name(void)                                    \
	{                                                                                          \
		take;                                                                              \
	}                                                                                          \
	static void release_##name(void)                                                           \
	{                                                                                          \
		release;                                                                           \
	}

KIND(mutex, pthread_mutex_lock(&mutex), pthread_mutex_trylock(&mutex), pthread_mutex_unlock(&mutex))
KIND(mtx, mtx_lock(&mtx), mtx_trylock(&mtx), mtx_unlock(&mtx))
KIND(read, pthread_rwlock_rdlock(&reads), pthread_rwlock_trywrlock(&reads),
     pthread_rwlock_unlock(&reads))
KIND(write, pthread_rwlock_wrlock(&writes), pthread_rwlock_tryrdlock(&writes),
     pthread_rwlock_unlock(&writes))
KIND(sem, sem_wait(&sem), sem_trywait(&sem), sem_post(&sem))

static const struct kind {
	void (*wait)(void), (*take)(void), (*release)(void);
	const void *lock;
} kinds[] = {
#define K(name, lock)                                                                              \
	{                                                                                          \
		wait_##name, take_##name, release_##name, &(lock)                                  \
	}
	K(mutex, mutex), K(mtx, mtx), K(read, reads), K(write, writes), K(sem, sem),
};

/* Until the main thread sleeps on a word of the lock. */
static void await_sleeper(void)
{
	const struct timespec nap = { 0, 200000 };
	unsigned long call = 0, word = 0;

	while (call != SYS_futex || word - (unsigned long)kind->lock >= sizeof(reads)) {
		FILE *f;

		nanosleep(&nap, NULL);
		f = fopen("/proc/self/syscall", "r");
		if (!f)
			abort();
		if (fscanf(f, "%lu %lx", &call, &word) != 2)
			call = 0;
		fclose(f);
	}
}

static void *other(void *arg)
{
	while (sem_wait(&wanted) == 0 && !last) {
		kind->take();
		sem_post(&held);
		await_sleeper();
		kind->release();
	}
	return arg;
}

static void overtake(void)
{
	int err = errno;

	sem_post(&wanted);
	sem_wait(&held);
	errno = err;
}

static pthread_mutex_t back = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;

static void *take_it(void *m)
{
	return pthread_mutex_lock(m) ? m : NULL;
}

/* The thread has ended: any thread may unlock these kinds. */
static void take_elsewhere(pthread_mutex_t *m)
{
	pthread_t t;

	pthread_create(&t, NULL, take_it, m);
	pthread_join(t, NULL);
}

static void give_back(void)
{
	pthread_mutex_unlock(&back);
}

static void give_adaptive(void)
{
	pthread_mutex_unlock(&adaptive);
}

__attribute__((noinline)) static void get_back(void)
{
	pthread_mutex_lock(&back);
	pthread_mutex_unlock(&back);
}

__attribute__((noinline)) static void get_adaptive(void)
{
	pthread_mutex_lock(&adaptive);
	pthread_mutex_unlock(&adaptive);
}

static void get_what_is_given_back(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		take_elsewhere(&back);
		lock_overtake_next(give_back);
		get_back();
		take_elsewhere(&adaptive);
		lock_overtake_next(give_adaptive);
		get_adaptive();
	}
}

int main(void)
{
	pthread_t t;

	mtx_init(&mtx, mtx_plain);
	sem_init(&sem, 0, 1);
	sem_init(&wanted, 0, 0);
	sem_init(&held, 0, 0);
	pthread_create(&t, NULL, other, NULL);
	for (unsigned k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		kind = &kinds[k];
		for (int i = 0; i < ROUNDS; i++) {
			if (i && lock_overtake_next)
				lock_overtake_next(overtake);
			else
				overtake();
			kind->wait();
		}
	}
	if (lock_overtake_next)
		get_what_is_given_back();
	last = 1;
	sem_post(&wanted);
	pthread_join(t, NULL);
	return 0;
}
