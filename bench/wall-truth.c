/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs whose wall-clock time is known, for bench/accuracy-table.sh.
 *
 *   wall-truth queue SECONDS    sleeps 30 ms in long_wait, then 10 ms in pieces in short_waits
 *   wall-truth fsync SECONDS    writes a file, block by block, each with an fsync
 *   wall-truth mutex SECONDS    four threads hold a lock for 2 ms each
 *   wall-truth rwlock SECONDS   the same with a read-write lock, one of the four writes
 *   wall-truth short SECONDS    threads that compute for 46 ms and wait for 5, two at a time
 *   wall-truth pool SECONDS     4,000 threads that wait for jobs, 200 a second for 400 of them:
 * light ones compute for 2 ms and sleep for 30, one in four computes for 14
 *
 * Prints "what ns error" for each function, by the clock, and for running, runnable, waiting: by
 * the threads' CPU clocks, by the kernel's count of their run delays, and the rest. ERROR is by
 * what that may be off.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The time before a thread's first reading and after its last one. */
#define UNREAD_NS 100000

#define MOST 4000
#define BUSY 400

static uint64_t end, first, second, running, runnable, lived, threads;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#define NOW() now(CLOCK_MONOTONIC)
#define ADD(sum, ns) __atomic_add_fetch(&(sum), (ns), __ATOMIC_RELAXED)
#define FUNCTION(name) __attribute__((noinline, noipa)) static void name

FUNCTION(long_wait)(void)
{
	usleep(30000);
	__asm__ volatile("");
}

FUNCTION(short_waits)(uint64_t until)
{
	while (NOW() < until)
		usleep(100);
	__asm__ volatile("");
}

static void queue(void)
{
	while (NOW() < end) {
		uint64_t a = NOW(), b;

		long_wait();
		b = NOW();
		short_waits(b + 10000000);
		ADD(first, b - a);
		ADD(second, NOW() - b);
	}
}

FUNCTION(sync_it)(int fd)
{
	fsync(fd);
	__asm__ volatile("");
}

static void journal(void)
{
	char block[4096] = { 1 };
	int fd = open("wall-truth.journal", O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);

	while (NOW() < end) {
		uint64_t a;

		if (write(fd, block, sizeof(block)) < 0)
			exit(3);
		a = NOW();
		sync_it(fd);
		ADD(first, NOW() - a);
	}
	close(fd);
	unlink("wall-truth.journal");
}

FUNCTION(wait_for_mutex)(void)
{
	pthread_mutex_lock(&mutex);
	__asm__ volatile("");
}

FUNCTION(wait_for_rwlock)(int writes)
{
	if (writes)
		pthread_rwlock_wrlock(&rwlock);
	else
		pthread_rwlock_rdlock(&rwlock);
	__asm__ volatile("");
}

static void mutexes(void)
{
	while (NOW() < end) {
		uint64_t a = NOW();

		wait_for_mutex();
		ADD(first, NOW() - a);
		usleep(2000);
		pthread_mutex_unlock(&mutex);
		usleep(3000);
	}
}

static void rwlocks(void)
{
	static int number;
	int writes = __atomic_fetch_add(&number, 1, __ATOMIC_RELAXED) == 0;

	while (NOW() < end) {
		uint64_t a = NOW();

		wait_for_rwlock(writes);
		ADD(first, NOW() - a);
		usleep(2000);
		pthread_rwlock_unlock(&rwlock);
		usleep(1000);
	}
}

static void work(void)
{
	uint64_t until = now(CLOCK_THREAD_CPUTIME_ID) + 46000000;

	while (now(CLOCK_THREAD_CPUTIME_ID) < until)
		;
	usleep(5000);
}

static void compute(uint64_t ns)
{
	uint64_t until = now(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (now(CLOCK_THREAD_CPUTIME_ID) < until)
		;
}

FUNCTION(light_job)(void)
{
	compute(2000000);
	usleep(30000);
	__asm__ volatile("");
}

FUNCTION(heavy_job)(void)
{
	compute(14000000);
	__asm__ volatile("");
}

static struct worker {
	sem_t jobs;
	int heavy;
} workers[MOST];

static void serve(void)
{
	static int number;
	struct worker *w = &workers[__atomic_fetch_add(&number, 1, __ATOMIC_RELAXED)];

	for (;;) {
		uint64_t a;

		while (sem_wait(&w->jobs))
			;
		if (NOW() >= end)
			return;
		a = NOW();
		if (w->heavy)
			heavy_job();
		else
			light_job();
		if (w->heavy)
			ADD(second, NOW() - a);
		else
			ADD(first, NOW() - a);
	}
}

/* All threads have waited for a while before the first jobs come. */
static void give_jobs(void)
{
	sleep(1);
	while (NOW() < end) {
		struct worker *w = &workers[random() % BUSY];

		w->heavy = random() % 4 == 0;
		sem_post(&w->jobs);
		usleep(5000);
	}
	for (int i = 0; i < MOST; i++)
		sem_post(&workers[i].jobs);
}

/* How long the thread was ready to run so far. */
static uint64_t was_ready(void)
{
	FILE *f = fopen("/proc/thread-self/schedstat", "r");
	unsigned long long ran, ready;

	if (!f || fscanf(f, "%llu %llu", &ran, &ready) != 2)
		exit(3);
	fclose(f);
	return ready;
}

static void *thread(void *arg)
{
	uint64_t began = NOW() - was_ready() - now(CLOCK_THREAD_CPUTIME_ID);

	((void (*)(void))arg)();
	ADD(runnable, was_ready());
	ADD(running, now(CLOCK_THREAD_CPUTIME_ID));
	ADD(lived, NOW() - began);
	ADD(threads, 1);
	return NULL;
}

static void run(void (*what)(void), int count)
{
	static pthread_t t[MOST];

	for (int i = 0; i < count; i++)
		if (pthread_create(&t[i], NULL, thread, (void *)what))
			exit(3);
	if (what == serve)
		give_jobs();
	for (int i = 0; i < count; i++)
		pthread_join(t[i], NULL);
}

static void say(const char *what, uint64_t ns, uint64_t error)
{
	printf("%s %llu %llu\n", what, (unsigned long long)ns, (unsigned long long)error);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*what)(void);
		int count;
		const char *first, *second;
	} programs[] = {
		{ "queue", queue, 1, "long_wait", "short_waits" },
		{ "fsync", journal, 1, "sync_it", NULL },
		{ "mutex", mutexes, 4, "wait_for_mutex", NULL },
		{ "rwlock", rwlocks, 4, "wait_for_rwlock", NULL },
		{ "short", work, 2, NULL, NULL },
		{ "pool", serve, MOST, "light_job", "heavy_job" },
	};

	if (argc < 3)
		return 2;
	end = NOW() + (uint64_t)(atof(argv[2]) * 1e9);
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		if (strcmp(argv[1], programs[i].name) != 0)
			continue;
		do
			run(programs[i].what, programs[i].count);
		while (NOW() < end);
		if (programs[i].first)
			say(programs[i].first, first, 0);
		if (programs[i].second)
			say(programs[i].second, second, 0);
		say("running", running, threads * UNREAD_NS);
		say("runnable", runnable, threads * UNREAD_NS);
		say("waiting", lived - running - runnable, threads * UNREAD_NS);
		return 0;
	}
	return 2;
}
