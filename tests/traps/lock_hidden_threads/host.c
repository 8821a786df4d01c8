/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread that libc creates unseen, such as an allocator's background thread: it waits for a
 * condition, and for a mutex, and has ended before the sweep could find it.
 */
#include "host.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

__attribute__((noinline)) static void wait_hidden(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 5000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&mutex);
	pthread_cond_timedwait(&condition, &mutex, &until);
	pthread_mutex_unlock(&mutex);
	__asm__ volatile("");
}

static void *hidden(void *arg)
{
	wait_hidden();
	return arg;
}

int main(void)
{
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	void *libc = dlopen("libc.so.6", RTLD_LAZY);
	pthread_t thread;

	EXPECT(libc);
	*(void **)&create = dlsym(libc, "pthread_create");
	EXPECT(create);
	for (int i = 0; i < 5; i++) {
		EXPECT(create(&thread, NULL, hidden, NULL) == 0);
		pthread_join(thread, NULL);
	}
	printf("five came and went\n");
	HOST_END();
}
