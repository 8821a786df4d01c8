/* SPDX-License-Identifier: BSD-3-Clause */
/* Four functions that differ in each mode: time on the CPU and asleep, memory kept and given back,
 * waits for a lock, and a thread that they wake. It begins at the end of a line of input, and ends
 * with its input. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define KEPT 64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t door = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t bell = PTHREAD_COND_INITIALIZER;
static unsigned rings;
static pthread_barrier_t season;
static volatile unsigned long sink;
static void *kept[4][2][KEPT];

static void burn(unsigned rounds)
{
	for (unsigned long i = 0; i < rounds * 10000ul; i++)
		sink += i;
}

static void nap(unsigned milliseconds)
{
	struct timespec t = { 0, milliseconds * 1000000L };

	nanosleep(&t, NULL);
}

/* Wakes the guest. */
static void ring(void)
{
	pthread_mutex_lock(&door);
	rings++;
	pthread_cond_signal(&bell);
	pthread_mutex_unlock(&door);
}

static void *guest(void *until)
{
	pthread_mutex_lock(&door);
	while (rings < *(unsigned *)until)
		pthread_cond_wait(&bell, &door);
	pthread_mutex_unlock(&door);
	return NULL;
}

/* Not inlined, and no tail calls: each is in every stack. */
#define FUNCTION(name, number, share)                                                              \
	static __attribute__((noinline)) void name(int worker, int i)                              \
	{                                                                                          \
		pthread_mutex_lock(&lock);                                                         \
		nap(share);                                                                        \
		pthread_mutex_unlock(&lock);                                                       \
		burn(500 * (share));                                                               \
		kept[number][worker][i] = memset(malloc(4096 * (share)), 1, 64);                   \
		free(memset(malloc(8192 * (share)), 1, 64));                                       \
		ring();                                                                            \
		sink++;                                                                            \
	}

FUNCTION(spring, 0, 1)
FUNCTION(summer, 1, 2)
FUNCTION(autumn, 2, 3)
FUNCTION(winter, 3, 4)

static void *year(void *worker)
{
	static void (*const seasons[])(int worker, int i) = { spring, summer, autumn, winter };

	/* Both workers come to the lock at the same time, so that one waits in each season. */
	for (int i = 0; i < KEPT; i++) {
		pthread_barrier_wait(&season);
		seasons[i % 4](*(int *)worker, i / 4);
	}
	return NULL;
}

int main(void)
{
	static int number[2] = { 0, 1 };
	static unsigned all = 2 * KEPT;
	pthread_t t, visitor;
	char c;

	while (read(0, &c, 1) == 1 && c != '\n')
		;
	pthread_barrier_init(&season, NULL, 2);
	pthread_create(&visitor, NULL, guest, &all);
	pthread_create(&t, NULL, year, &number[1]);
	year(&number[0]);
	pthread_join(t, NULL);
	pthread_join(visitor, NULL);
	puts("done");
	fflush(stdout);
	while (read(0, &c, 1) == 1)
		;
	return 0;
}
