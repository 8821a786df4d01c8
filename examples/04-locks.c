/* SPDX-License-Identifier: BSD-3-Clause */
/* Four workers and one lock that is held too long. The lock profile shows where they wait, and its
 * companion which code made them wait.
 *
 *     cc -O2 -g -pthread 04-locks.c -o 04-locks
 *     LD_PRELOAD=libcprof.so LOCKPROFILE=04-locks.pb ./04-locks
 *       -> 4 workers, 200 updates
 *     cprof top -cum 04-locks.pb
 *       -> update
 *     cprof tags 04-locks.pb
 *       -> ledger_lock
 *     cprof top -cum 04-locks.holders.pb
 *       -> update
 */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

pthread_mutex_t ledger_lock = PTHREAD_MUTEX_INITIALIZER;
static int updates;
static volatile int newest;

__attribute__((noinline)) static void write_slowly(void)
{
	struct timespec t = { 0, 1000000 };

	nanosleep(&t, NULL);
}

__attribute__((noinline)) static int update(void)
{
	int mine;

	pthread_mutex_lock(&ledger_lock);
	mine = ++updates;
	write_slowly(); /* work that belongs outside the lock */
	pthread_mutex_unlock(&ledger_lock);
	return mine;
}

static void *work(void *unused)
{
	for (int i = 0; i < 50; i++)
		newest = update();
	return unused;
}

int main(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, work, NULL))
			return 1;
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	printf("4 workers, %d updates\n", updates);
	return 0;
}
