/* SPDX-License-Identifier: BSD-3-Clause */
/* Locks at the edges of a program's life: in an allocator of its own, which dlsym calls; in
 * constructors, fork handlers, key destructors, atexit handlers, after main's pthread_exit.
 */
#include <limits.h>
#include <stddef.h>

#include "clock.h"
#include "host.h"

#define EXPORT __attribute__((visibility("default")))

/* An allocator that locks, and never frees. */
static pthread_mutex_t heap_lock = PTHREAD_MUTEX_INITIALIZER;
static char heap[64 << 20] __attribute__((aligned(16)));
static size_t used;

EXPORT void *malloc(size_t size)
{
	size_t *p = NULL;

	pthread_mutex_lock(&heap_lock);
	size = (size + 31) & ~(size_t)15;
	if (used + size <= sizeof(heap)) {
		p = (size_t *)(void *)(heap + used);
		used += size;
		*p = size - 16;
		p += 2;
	}
	pthread_mutex_unlock(&heap_lock);
	return p;
}

EXPORT void *calloc(size_t n, size_t size)
{
	return malloc(n * size);
}

EXPORT void *realloc(void *old, size_t size)
{
	size_t had = old ? ((size_t *)old)[-2] : 0;
	void *p = malloc(size);

	if (p && old)
		memcpy(p, old, had < size ? had : size);
	return p;
}

EXPORT void free(void *p)
{
	pthread_mutex_lock(&heap_lock);
	(void)p;
	pthread_mutex_unlock(&heap_lock);
}

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t there;
static pthread_key_t key;
static int waits, main_is_gone;

static void *hold(void *arg)
{
	pthread_mutex_lock(&m);
	pthread_barrier_wait(&there);
	nap(2000000);
	pthread_mutex_unlock(&m);
	return arg;
}

/* Wait for the mutex that another thread has. */
static void wait_for_it(void)
{
	pthread_t t;

	pthread_create(&t, NULL, hold, NULL);
	pthread_barrier_wait(&there);
	pthread_mutex_lock(&m);
	waits++;
	pthread_mutex_unlock(&m);
	pthread_join(t, NULL);
}

__attribute__((constructor(101))) static void early(void)
{
	pthread_barrier_init(&there, NULL, 2);
	wait_for_it();
	/* Its error is allocated. */
	dlsym(RTLD_DEFAULT, "no such function");
}

static void at_end(void)
{
	/* In the last thread of all, another one's end would be the process's. */
	if (!main_is_gone)
		wait_for_it();
	pthread_mutex_lock(&m);
	pthread_mutex_unlock(&m);
	printf("waited %d times, in the end\n", waits);
	fflush(stdout);
}

static void around_fork(void)
{
	pthread_mutex_lock(&m);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&m);
}

/* In every round, so before and after our own. */
static void at_thread_end(void *rounds)
{
	wait_for_it();
	if ((intptr_t)rounds > 1)
		pthread_setspecific(key, (void *)((intptr_t)rounds - 1));
}

static void *worker(void *arg)
{
	pthread_setspecific(key, (void *)(intptr_t)PTHREAD_DESTRUCTOR_ITERATIONS);
	return arg;
}

static void forks(void)
{
	int status;
	pid_t pid;

	pthread_atfork(around_fork, after_fork, after_fork);
	for (int i = 0; i < 20; i++) {
		fflush(stdout);
		pid = fork();
		if (!pid) {
			wait_for_it();
			if (i & 1)
				_exit(i);
			exit(i);
		}
		waitpid(pid, &status, 0);
		EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == i);
	}
	/* On the parent's memory. */
	for (int i = 0; i < 20; i++) {
		pid = vfork();
		if (!pid) {
			pthread_mutex_lock(&m);
			pthread_mutex_unlock(&m);
			_exit(0);
		}
		waitpid(pid, &status, 0);
	}
}

static void *last(void *arg)
{
	pthread_t *main_thread = arg;

	pthread_join(*main_thread, NULL);
	wait_for_it();
	main_is_gone = 1;
	return NULL;
}

int main(void)
{
	static pthread_t self;
	pthread_t t;

	atexit(at_end);
	wait_for_it();
	pthread_key_create(&key, at_thread_end);
	for (int i = 0; i < 5; i++) {
		pthread_create(&t, NULL, worker, NULL);
		pthread_join(t, NULL);
	}
	forks();
	self = pthread_self();
	pthread_create(&t, NULL, last, &self);
	if (host_failures)
		_exit(1);
	pthread_exit(NULL);
}
