/* SPDX-License-Identifier: BSD-3-Clause */
/* What cprof serve is tested with: two threads that compute (hot three times as much as warm), keep
 * and free blocks, and wait for each other's lock, until the input ends. They leave the processors
 * to others for more than half of the time.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cprof.h"

#define KEPT 32

static volatile unsigned long sum;
static struct cprof_span (*begin_span)(const char *name);
static uint64_t (*end_span)(struct cprof_span *span);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void hot(void)
{
	for (long i = 0; i < 300000; i++)
		sum += (unsigned long)(i * i);
}

__attribute__((noinline)) static void warm(void)
{
	for (long i = 0; i < 100000; i++)
		sum += (unsigned long)(i * i);
}

__attribute__((noinline)) static void *keep(void)
{
	void *p = malloc(120 << 10);

	sum++; /* no jump to malloc */
	return p;
}

__attribute__((noinline)) static void critical(void)
{
	pthread_mutex_lock(&lock);
	hot();
	pthread_mutex_unlock(&lock);
}

static void *work(void *arg)
{
	void *kept[KEPT] = { NULL };

	(void)arg;
	for (unsigned i = 0;; i++) {
		struct cprof_span span = begin_span("request \"1\"");

		critical();
		end_span(&span);
		warm();
		free(kept[i % KEPT]);
		kept[i % KEPT] = keep();
		usleep(1000);
	}
	return NULL;
}

int main(void)
{
	pthread_t t;
	char c;

	*(void **)&begin_span = dlsym(RTLD_DEFAULT, "cprof_span_begin");
	*(void **)&end_span = dlsym(RTLD_DEFAULT, "cprof_span_end");
	if (!begin_span || !end_span)
		return 2;

	for (int i = 0; i < 2; i++)
		if (pthread_create(&t, NULL, work, NULL))
			return 1;
	puts("up");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	return 0;
}
