/* SPDX-License-Identifier: BSD-3-Clause */
/* lock-codes' table for all that is not a mutex of pthread's.
 */
#include <threads.h>
#include <linux/futex.h>

#include "system.h"
#include "lock-codes.h"

/* Another thread has the lock; it may give it back. */
static pthread_barrier_t taken, done;

static void *read_lock(void *arg)
{
	pthread_rwlock_rdlock(arg);
	pthread_barrier_wait(&taken);
	pthread_barrier_wait(&done);
	pthread_rwlock_unlock(arg);
	return NULL;
}

static void *write_lock(void *arg)
{
	pthread_rwlock_wrlock(arg);
	pthread_barrier_wait(&taken);
	pthread_barrier_wait(&done);
	pthread_rwlock_unlock(arg);
	return NULL;
}

static void rwlock(int prefer)
{
	struct timespec t, bad = { 1, -1 };
	pthread_rwlockattr_t attr;
	pthread_rwlock_t l;
	pthread_t thread;

	printf("rwlock preferring %d:", prefer);
	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, prefer);
	SAY("init", pthread_rwlock_init(&l, &attr));
	SAY("rd", pthread_rwlock_rdlock(&l));
	SAY("rd", pthread_rwlock_rdlock(&l));
	SAY("trywr", pthread_rwlock_trywrlock(&l));
	t = at(CLOCK_REALTIME, 1000000);
	SAY("timedwr", pthread_rwlock_timedwrlock(&l, &t));
	SAY("unlock", pthread_rwlock_unlock(&l));
	SAY("unlock", pthread_rwlock_unlock(&l));
	SAY("wr", pthread_rwlock_wrlock(&l));
	SAY("wr-mine", pthread_rwlock_wrlock(&l));
	SAY("rd-mine", pthread_rwlock_rdlock(&l));
	SAY("tryrd", pthread_rwlock_tryrdlock(&l));
	SAY("unlock", pthread_rwlock_unlock(&l));
	pthread_create(&thread, NULL, read_lock, &l);
	pthread_barrier_wait(&taken);
	SAY("rd-read", pthread_rwlock_rdlock(&l));
	SAY("unlock", pthread_rwlock_unlock(&l));
	t = at(CLOCK_MONOTONIC, 1000000);
	SAY("clockwr-read", pthread_rwlock_clockwrlock(&l, CLOCK_MONOTONIC, &t));
	SAY("bad-time", pthread_rwlock_timedwrlock(&l, &bad));
	pthread_barrier_wait(&done);
	pthread_join(thread, NULL);
	pthread_create(&thread, NULL, write_lock, &l);
	pthread_barrier_wait(&taken);
	t = at(CLOCK_REALTIME, 1000000);
	SAY("timedrd-written", pthread_rwlock_timedrdlock(&l, &t));
	t = at(CLOCK_MONOTONIC, 1000000);
	SAY("clockrd-written", pthread_rwlock_clockrdlock(&l, CLOCK_MONOTONIC, &t));
	pthread_barrier_wait(&done);
	SAY("wr-held", pthread_rwlock_wrlock(&l));
	SAY("unlock", pthread_rwlock_unlock(&l));
	pthread_join(thread, NULL);
	printf("\n");
}

static void *post(void *arg)
{
	nap(HELD_NS);
	sem_post(arg);
	return NULL;
}

static void nothing(int sig)
{
	(void)sig;
}

static int interrupted;

/* Until the call has returned: a signal may come before it. */
static void *interrupt(void *arg)
{
	while (!__atomic_load_n(&interrupted, __ATOMIC_ACQUIRE)) {
		nap(HELD_NS);
		pthread_kill(*(pthread_t *)arg, SIGUSR1);
	}
	return NULL;
}

/* With a handler that interrupts: not restarted. */
#define INTERRUPTED(what, call)                                                                    \
	do {                                                                                       \
		pthread_t self_ = pthread_self(), thread_;                                         \
		interrupted = 0;                                                                   \
		pthread_create(&thread_, NULL, interrupt, &self_);                                 \
		SAY_ERRNO(what, ({                                                                 \
				  int is_ = (call);                                                \
				  __atomic_store_n(&interrupted, 1, __ATOMIC_RELEASE);             \
				  is_;                                                             \
			  }));                                                                     \
		pthread_join(thread_, NULL);                                                       \
	} while (0)

static void semaphores(void)
{
	struct sigaction act = { .sa_handler = nothing };
	struct timespec t, bad = { 1, -1 };
	pthread_t thread;
	sem_t s;

	sigaction(SIGUSR1, &act, NULL);
	printf("sem:");
	sem_init(&s, 0, 1);
	SAY("wait", sem_wait(&s));
	SAY_ERRNO("try", sem_trywait(&s));
	t = at(CLOCK_REALTIME, 1000000);
	SAY_ERRNO("timed", sem_timedwait(&s, &t));
	t = at(CLOCK_MONOTONIC, 1000000);
	SAY_ERRNO("clock", sem_clockwait(&s, CLOCK_MONOTONIC, &t));
	SAY_ERRNO("bad-time", sem_timedwait(&s, &bad));
	pthread_create(&thread, NULL, post, &s);
	SAY("wait-held", sem_wait(&s));
	pthread_join(thread, NULL);
	INTERRUPTED("wait-signal", sem_wait(&s));
	t = at(CLOCK_REALTIME, LONG_NS);
	INTERRUPTED("timed-signal", sem_timedwait(&s, &t));
	printf("\n");
}

static void conditions(void)
{
	pthread_mutex_t m = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
	struct timespec t = at(CLOCK_REALTIME, 1000000), bad = { 1, -1 };
	pthread_condattr_t attr;
	pthread_cond_t c;

	printf("cond:");
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&c, &attr);
	SAY("not-mine", pthread_cond_wait(&c, &m));
	SAY("not-mine", pthread_cond_timedwait(&c, &m, &t));
	pthread_mutex_lock(&m);
	/* On its own clock: the time has not come for some decades, on the other it has passed. */
	t = at(CLOCK_MONOTONIC, 1000000);
	SAY("timed", pthread_cond_timedwait(&c, &m, &t));
	t = at(CLOCK_REALTIME, 1000000);
	SAY("clock", pthread_cond_clockwait(&c, &m, CLOCK_REALTIME, &t));
	SAY("bad-time", pthread_cond_timedwait(&c, &m, &bad));
	SAY("mine", pthread_mutex_unlock(&m));
	printf("\n");
}

static int c11_hold(void *m)
{
	mtx_lock(m);
	pthread_barrier_wait(&taken);
	pthread_barrier_wait(&done);
	mtx_unlock(m);
	return 0;
}

static void c11(void)
{
	struct timespec t = at(CLOCK_REALTIME, 1000000);
	thrd_t thread;
	cnd_t c;
	mtx_t m;

	printf("c11:");
	SAY("init", mtx_init(&m, mtx_timed | mtx_recursive));
	SAY("lock", mtx_lock(&m));
	SAY("lock", mtx_lock(&m));
	SAY("unlock", mtx_unlock(&m));
	SAY("unlock", mtx_unlock(&m));
	SAY("not-mine", mtx_unlock(&m));
	thrd_create(&thread, c11_hold, &m);
	pthread_barrier_wait(&taken);
	SAY("timed-held", mtx_timedlock(&m, &t));
	pthread_barrier_wait(&done);
	SAY("lock-held", mtx_lock(&m));
	cnd_init(&c);
	t = at(CLOCK_REALTIME, 1000000);
	SAY("cnd", cnd_timedwait(&c, &m, &t));
	SAY("unlock", mtx_unlock(&m));
	thrd_join(thread, NULL);
	printf("\n");
}

static void *meet(void *b)
{
	return (void *)(intptr_t)(pthread_barrier_wait(b) == PTHREAD_BARRIER_SERIAL_THREAD);
}

static void others(void)
{
	struct timespec t = { 0, 1000000 };
	pthread_spinlock_t spin;
	pthread_barrier_t b;
	pthread_t thread;
	uint32_t word = 1;
	void *serial;
	int mine;

	printf("spin, barrier, futex:");
	pthread_spin_init(&spin, 0);
	SAY("lock", pthread_spin_lock(&spin));
	SAY("try", pthread_spin_trylock(&spin));
	SAY("unlock", pthread_spin_unlock(&spin));
	pthread_barrier_init(&b, NULL, 2);
	pthread_create(&thread, NULL, meet, &b);
	mine = pthread_barrier_wait(&b) == PTHREAD_BARRIER_SERIAL_THREAD;
	pthread_join(thread, &serial);
	printf(" one-of-two=%d", mine + (int)(intptr_t)serial);
	SAY_ERRNO("changed", (int)syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL));
	SAY_ERRNO("timeout", (int)syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, &t));
	SAY_ERRNO("bad", (int)syscall(SYS_futex, (char *)&word + 1, FUTEX_WAIT, 1, &t));
	SAY_ERRNO("wake", (int)syscall(SYS_futex, &word, FUTEX_WAKE, 1));
	INTERRUPTED("signal", (int)syscall(SYS_futex, &word, FUTEX_WAIT, 1, NULL));
	printf("\n");
}

void lock_codes_others(void)
{
	pthread_barrier_init(&taken, NULL, 2);
	pthread_barrier_init(&done, NULL, 2);
	rwlock(PTHREAD_RWLOCK_PREFER_READER_NP);
	rwlock(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	semaphores();
	conditions();
	c11();
	others();
}
