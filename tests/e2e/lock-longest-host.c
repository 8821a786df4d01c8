/* SPDX-License-Identifier: BSD-3-Clause */
/* Two threads wait for one mutex: wait_long once for long, wait_short often for a millisecond. Each
 * prints its longest wait, measured around the call. A hold lasts from the moment that its waiter
 * sleeps, so every wait is at least as long as its hold. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "clock.h"
#include "mutex_word.h"

#define SHORT_NS 1000000
#define LONG_NS 60000000
#define SHORTS 40

static pthread_mutex_t the_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t held;

static inline __attribute__((always_inline)) uint64_t take(void)
{
	uint64_t began;

	pthread_barrier_wait(&held);
	began = now_ns();
	pthread_mutex_lock(&the_lock);
	return now_ns() - began;
}

/* No tail calls, and not one function for both. */
__attribute__((noipa)) static uint64_t wait_long(void)
{
	uint64_t ns = take();

	__asm__ volatile("# long" ::: "memory");
	return ns;
}

__attribute__((noipa)) static uint64_t wait_short(void)
{
	uint64_t ns = take();

	__asm__ volatile("# short" ::: "memory");
	return ns;
}

static void *waiter(void *nothing)
{
	uint64_t longest[2] = { 0, 0 };

	for (int i = 0; i <= SHORTS; i++) {
		int is_long = i == SHORTS / 2;
		uint64_t ns = is_long ? wait_long() : wait_short();

		if (ns > longest[is_long])
			longest[is_long] = ns;
		pthread_mutex_unlock(&the_lock);
		pthread_barrier_wait(&held);
	}
	printf("wait_long %lu\nwait_short %lu\n", (unsigned long)longest[1],
	       (unsigned long)longest[0]);
	return nothing;
}

int main(void)
{
	pthread_t t;

	pthread_barrier_init(&held, NULL, 2);
	pthread_create(&t, NULL, waiter, NULL);
	for (int i = 0; i <= SHORTS; i++) {
		struct timespec hold = { 0, i == SHORTS / 2 ? LONG_NS : SHORT_NS };

		pthread_mutex_lock(&the_lock);
		pthread_barrier_wait(&held);
		/* 2: a thread sleeps for the lock. */
		while (!mutex_is_awaited(&the_lock))
			usleep(50);
		nanosleep(&hold, NULL);
		pthread_mutex_unlock(&the_lock);
		pthread_barrier_wait(&held);
	}
	pthread_join(t, NULL);
	return 0;
}
