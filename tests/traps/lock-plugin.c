/* A plugin with a lock of its own, in which it is waited for. */
#include <pthread.h>
#include <time.h>

pthread_mutex_t plugin_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t there;

static void *hold(void *arg)
{
	struct timespec t = { 0, 2000000 };

	pthread_mutex_lock(&plugin_lock);
	pthread_barrier_wait(&there);
	/* Till somebody waits, in glibc's word, and a little longer. */
	while (*(volatile int *)&plugin_lock.__data.__lock != 2)
		nanosleep(&t, NULL);
	nanosleep(&t, NULL);
	pthread_mutex_unlock(&plugin_lock);
	return arg;
}

void wait_in_plugin(void);

__attribute__((noinline)) static void wait_for_it(void)
{
	pthread_mutex_lock(&plugin_lock);
	pthread_mutex_unlock(&plugin_lock);
	__asm__ volatile("" ::: "memory");
}

void wait_in_plugin(void)
{
	pthread_t t;

	pthread_barrier_init(&there, NULL, 2);
	pthread_create(&t, NULL, hold, NULL);
	pthread_barrier_wait(&there);
	wait_for_it();
	pthread_join(t, NULL);
}
