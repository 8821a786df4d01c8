/* SPDX-License-Identifier: BSD-3-Clause */
/* A pipeline: a thread renders what two others load, one of them from a slow place. The lock
 * profile shows that it waits, and its companion for whom.
 *
 *     cc -O2 -g -pthread 14-pipeline.c -o 14-pipeline
 *     LD_PRELOAD=libcprof.so LOCKPROFILE=14-pipeline.pb ./14-pipeline
 *       -> rendered
 *     cprof locks 14-pipeline.pb
 *       -> page_loaded
 *       -> woken by
 *       -> put < load_from_disk
 *     cprof folded 14-pipeline.wakers.pb
 *       -> main;render;pthread_cond_wait;.woken by.;.*;load_from_disk;put
 */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#define PAGES 60

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t page_loaded = PTHREAD_COND_INITIALIZER;
static int loaded;

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){ 0, ms * 1000000 }, NULL);
}

__attribute__((noinline)) static void put(void)
{
	pthread_mutex_lock(&lock);
	loaded++;
	pthread_cond_signal(&page_loaded);
	pthread_mutex_unlock(&lock);
}

static void *load_from_memory(void *arg)
{
	for (int i = 0; i < PAGES / 3; i++) {
		sleep_ms(1);
		put();
	}
	return arg;
}

static void *load_from_disk(void *arg)
{
	for (int i = 0; i < PAGES - PAGES / 3; i++) {
		sleep_ms(5);
		put();
	}
	return arg;
}

__attribute__((noinline)) static void render(void)
{
	pthread_mutex_lock(&lock);
	while (!loaded)
		pthread_cond_wait(&page_loaded, &lock);
	loaded--;
	pthread_mutex_unlock(&lock);
}

int main(void)
{
	pthread_t memory, disk;

	pthread_create(&memory, NULL, load_from_memory, NULL);
	pthread_create(&disk, NULL, load_from_disk, NULL);
	for (int i = 0; i < PAGES; i++)
		render();
	pthread_join(memory, NULL);
	pthread_join(disk, NULL);
	puts("rendered");
	return 0;
}
