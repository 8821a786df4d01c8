/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads are cancelled while they wait for a condition, a semaphore, or with a cancellation
 * pending: they unwind through the wait, their cleanup handlers run, and they hold the condition's
 * mutex.
 */
#include <threads.h>

#include "host.h"

static pthread_mutex_t m = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static cnd_t cnd;
static mtx_t mtx;
static sem_t none, one;
static pthread_barrier_t there;
static int cleaned;

static struct timespec later(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_sec += 60;
	return t;
}

static void unlock_mutex(void *arg)
{
	/* EPERM if it weren't this thread's. */
	EXPECT(pthread_mutex_unlock(arg) == 0);
	cleaned++;
}

static void unlock_mtx(void *arg)
{
	EXPECT(mtx_unlock(arg) == thrd_success);
	cleaned++;
}

static void just_count(void *arg)
{
	(void)arg;
	cleaned++;
}

static void *in_cond(void *arg)
{
	struct timespec real = later(CLOCK_REALTIME), mono = later(CLOCK_MONOTONIC);
	long how = (long)arg;

	pthread_mutex_lock(&m);
	pthread_cleanup_push(unlock_mutex, &m);
	pthread_barrier_wait(&there);
	for (;;)
		if (how == 0)
			pthread_cond_wait(&c, &m);
		else if (how == 1)
			pthread_cond_timedwait(&c, &m, &real);
		else
			pthread_cond_clockwait(&c, &m, CLOCK_MONOTONIC, &mono);
	pthread_cleanup_pop(1);
	return NULL;
}

static void *in_cnd(void *arg)
{
	mtx_lock(&mtx);
	pthread_cleanup_push(unlock_mtx, &mtx);
	pthread_barrier_wait(&there);
	for (;;)
		cnd_wait(&cnd, &mtx);
	pthread_cleanup_pop(1);
	return arg;
}

static void *in_sem(void *arg)
{
	struct timespec real = later(CLOCK_REALTIME);

	pthread_cleanup_push(just_count, NULL);
	pthread_barrier_wait(&there);
	if (arg)
		sem_timedwait(&none, &real);
	else
		sem_wait(&none);
	pthread_cleanup_pop(0);
	return NULL;
}

/* A wait that need not wait is a cancellation point, too. */
static void *in_free_sem(void *arg)
{
	int old;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	pthread_cleanup_push(just_count, NULL);
	pthread_barrier_wait(&there);
	pthread_barrier_wait(&there);
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old);
	sem_wait(&one);
	pthread_cleanup_pop(0);
	return arg;
}

static void cancel(void *(*f)(void *), void *arg, int twice)
{
	int before = cleaned;
	struct timespec moment = { 0, 3000000 };
	void *result = NULL;
	pthread_t t;

	pthread_create(&t, NULL, f, arg);
	pthread_barrier_wait(&there);
	/* Most of the time it has come to wait by then; it must end in either case. */
	nanosleep(&moment, NULL);
	pthread_cancel(t);
	if (twice)
		pthread_barrier_wait(&there);
	pthread_join(t, &result);
	EXPECT(result == PTHREAD_CANCELED);
	EXPECT(cleaned == before + 1);
}

int main(void)
{
	int value = 0;

	pthread_barrier_init(&there, NULL, 2);
	sem_init(&none, 0, 0);
	sem_init(&one, 0, 1);
	cnd_init(&cnd);
	mtx_init(&mtx, mtx_plain);
	for (int i = 0; i < 20; i++) {
		for (long how = 0; how < 3; how++)
			cancel(in_cond, (void *)how, 0);
		cancel(in_cnd, NULL, 0);
		cancel(in_sem, NULL, 0);
		cancel(in_sem, &m, 0);
		cancel(in_free_sem, NULL, 1);
	}
	sem_getvalue(&one, &value);
	EXPECT(value == 1);
	EXPECT(pthread_mutex_lock(&m) == 0);
	printf("%d cleaned up\n", cleaned);
	HOST_END();
}
