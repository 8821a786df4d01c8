/* SPDX-License-Identifier: BSD-3-Clause */
/* A plugin with its own lock: a thread that calls wait_in_plugin waits for it while another thread
 * has called hold_in_plugin. */
#include <pthread.h>
#include <time.h>

#include "mutex_word.h"

pthread_mutex_t plugin_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t there;

void hold_in_plugin(void);
void wait_in_plugin(void);

__attribute__((constructor)) static void begin(void)
{
	pthread_barrier_init(&there, NULL, 2);
}

void hold_in_plugin(void)
{
	struct timespec t = { 0, 2000000 };

	pthread_mutex_lock(&plugin_lock);
	pthread_barrier_wait(&there);
	/* Till somebody waits, and a little longer. */
	while (!mutex_is_awaited(&plugin_lock))
		nanosleep(&t, NULL);
	nanosleep(&t, NULL);
	pthread_mutex_unlock(&plugin_lock);
	__asm__ volatile("" ::: "memory");
}

void wait_in_plugin(void)
{
	pthread_barrier_wait(&there);
	pthread_mutex_lock(&plugin_lock);
	pthread_mutex_unlock(&plugin_lock);
	__asm__ volatile("" ::: "memory");
}
