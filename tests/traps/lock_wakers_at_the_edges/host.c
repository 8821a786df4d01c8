/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits that end in odd ways, and wakes from odd places. Each has functions of its own. */
#include <setjmp.h>

#include "host.h"

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noipa)) /* not merged with one of the same code */
#endif
#define KEEP_FRAME __asm__ volatile("") /* no tail call */

static sem_t sem, inner;
static sigjmp_buf place;

/* Long enough for the other thread to be asleep in its wait, also on a busy machine. */
static void pause_ms(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&t, &t))
		;
}

static pthread_t start(void *(*function)(void *))
{
	pthread_t t;

	EXPECT(pthread_create(&t, NULL, function, NULL) == 0);
	pause_ms(100);
	return t;
}

static void wait_for(sem_t *s)
{
	while (sem_wait(s))
		EXPECT(errno == EINTR);
}

static void handle(int signal, void (*handler)(int), int flags)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = flags };

	EXPECT(sigaction(signal, &sa, NULL) == 0);
}

static void post(void)
{
	errno = 123;
	EXPECT(sem_post(&sem) == 0 && errno == 123);
	KEEP_FRAME;
}

/* ---- a handler wakes ---- */

NOINLINE static void post_in_handler(int signal)
{
	EXPECT(signal == SIGUSR1);
	EXPECT(sem_post(&sem) == 0);
	KEEP_FRAME;
}

NOINLINE static void *wait_for_handler(void *arg)
{
	EXPECT(sem_wait(&sem) == 0);
	return arg;
}

static void handler_wakes(void)
{
	pthread_t t;

	handle(SIGUSR1, post_in_handler, SA_RESTART);
	t = start(wait_for_handler);
	raise(SIGUSR1);
	pthread_join(t, NULL);
}

/* ---- a thread wakes and ends ---- */

NOINLINE static void *post_and_end(void *arg)
{
	sem_post(&sem);
	KEEP_FRAME;
	return arg;
}

NOINLINE static void *wait_for_ended(void *arg)
{
	EXPECT(sem_wait(&sem) == 0);
	return arg;
}

static void ended_wakes(void)
{
	pthread_t t = start(wait_for_ended), waker;
	pthread_attr_t detached;

	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	EXPECT(pthread_create(&waker, &detached, post_and_end, NULL) == 0);
	pthread_join(t, NULL);
}

/* ---- a wait is cancelled ---- */

NOINLINE static void *wait_until_cancelled(void *arg)
{
	sem_wait(&sem);
	EXPECT(0);
	return arg;
}

static void cancelled(void)
{
	pthread_t t = start(wait_until_cancelled);
	void *result;

	EXPECT(pthread_cancel(t) == 0);
	EXPECT(pthread_join(t, &result) == 0 && result == PTHREAD_CANCELED);
	/* Nobody waits. */
	post();
	EXPECT(sem_trywait(&sem) == 0);
}

/* ---- a wait is left by a jump ---- */

static void jump(int signal)
{
	(void)signal;
	siglongjmp(place, 1);
}

NOINLINE static void wait_after_jump(void)
{
	EXPECT(sem_wait(&sem) == 0);
	KEEP_FRAME;
}

static void *wait_and_jump(void *arg)
{
	if (!sigsetjmp(place, 1))
#ifdef __GLIBC__
		sem_wait(&inner);
#else
		pause(); /* musl's wait leaves a clean-up, which the thread runs when it ends */
#endif
	wait_after_jump();
	return arg;
}

NOINLINE static void post_after_jump(void)
{
	post();
	KEEP_FRAME;
}

static void jumped(void)
{
	pthread_t t;

	handle(SIGUSR1, jump, 0);
	t = start(wait_and_jump);
	pthread_kill(t, SIGUSR1);
	pause_ms(100);
	post_after_jump();
	pthread_join(t, NULL);
}

/* ---- a handler interrupts a wait with one of its own ---- */

NOINLINE static void wait_in_handler(int signal)
{
	struct timespec t;

	(void)signal;
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += 30000000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	EXPECT(sem_timedwait(&inner, &t) == -1 && errno == ETIMEDOUT);
	KEEP_FRAME;
}

NOINLINE static void *wait_interrupted(void *arg)
{
	wait_for(&sem);
	return arg;
}

static void interrupted(void)
{
	pthread_t t;

	handle(SIGUSR1, wait_in_handler, SA_RESTART);
	t = start(wait_interrupted);
	pthread_kill(t, SIGUSR1);
	pause_ms(100);
	post();
	pthread_join(t, NULL);
}

/* ---- a fork while a thread waits ---- */

NOINLINE static void *wait_in_child(void *arg)
{
	EXPECT(sem_wait(&sem) == 0);
	return arg;
}

NOINLINE static void post_in_child(void)
{
	post();
	KEEP_FRAME;
}

NOINLINE static void *wait_over_fork(void *arg)
{
	EXPECT(sem_wait(&sem) == 0);
	return arg;
}

NOINLINE static void post_to_forked(void)
{
	post();
	KEEP_FRAME;
}

static void forked(void)
{
	pthread_t t = start(wait_over_fork);
	int status = -1;
	pid_t child = fork();

	if (!child) {
		sem_init(&sem, 0, 0);
		t = start(wait_in_child);
		post_in_child();
		pthread_join(t, NULL);
		_exit(host_failures != 0);
	}
	EXPECT(waitpid(child, &status, 0) == child && status == 0);
	post_to_forked();
	pthread_join(t, NULL);
}

int main(void)
{
	sem_init(&sem, 0, 0);
	sem_init(&inner, 0, 0);
	handler_wakes();
	ended_wakes();
	cancelled();
	jumped();
	interrupted();
	forked();
	puts("done");
	HOST_END();
}
