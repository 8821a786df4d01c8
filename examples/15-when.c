/* SPDX-License-Identifier: BSD-3-Clause */
/* When did it happen? Of several thousand requests one is slow, and every second a flush stops all
 * of them. A sum over the run shows neither; the time index of the profile does.
 *
 *     cc -g -pthread 15-when.c -o 15-when $(pkg-config --cflags --libs libcprof)
 *     CPUPROFILE=15.cpu.pb LOCKPROFILE=15.lock.pb CPUPROFILE_FREQUENCY=1000 ./15-when
 *     cprof timeline 15.cpu.pb 15.lock.pb
 *       -> worker
 *       -> What differs most
 *     cprof spans 15.cpu.pb
 *       -> request
 *     cprof top -cum -span-longer=200ms 15.cpu.pb
 *       -> rebuild_index
 */
#define _GNU_SOURCE
#include <cprof.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define WORKERS 3
#define SECOND UINT64_C(1000000000)

static pthread_mutex_t journal = PTHREAD_MUTEX_INITIALIZER;
static uint64_t end;

static void sleep_us(long us)
{
	nanosleep(&(struct timespec){ 0, us * 1000 }, NULL);
}

static void compute(uint64_t ns)
{
	uint64_t until = cprof_now() + ns;

	while (cprof_now() < until)
		;
}

__attribute__((noinline)) static void parse(void)
{
	compute(SECOND / 5000);
}

__attribute__((noinline)) static void rebuild_index(void)
{
	compute(SECOND / 4);
}

__attribute__((noinline)) static void write_journal(void)
{
	pthread_mutex_lock(&journal);
	pthread_mutex_unlock(&journal);
}

__attribute__((noinline)) static void flush_journal(void)
{
	pthread_mutex_lock(&journal);
	sleep_us(100000);
	pthread_mutex_unlock(&journal);
}

static void *flush_every_second(void *arg)
{
	pthread_setname_np(pthread_self(), "flusher");
	while (cprof_now() < end) {
		sleep_us(900000);
		flush_journal();
	}
	return arg;
}

static void *serve(void *arg)
{
	pthread_setname_np(pthread_self(), "worker");
	for (unsigned i = 0; cprof_now() < end; i++) {
		struct cprof_span span = cprof_span_begin("request");

		parse();
		if (arg && i == 2000)
			rebuild_index();
		write_journal();
		cprof_span_end(&span);
		sleep_us(500);
	}
	return NULL;
}

int main(void)
{
	pthread_t flusher, worker[WORKERS];

	end = cprof_now() + 5 * SECOND;
	pthread_create(&flusher, NULL, flush_every_second, NULL);
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&worker[i], NULL, serve, i ? NULL : &worker);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(worker[i], NULL);
	pthread_join(flusher, NULL);
	printf("%d workers done\n", WORKERS);
	return 0;
}
