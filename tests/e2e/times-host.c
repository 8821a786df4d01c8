/* SPDX-License-Identifier: BSD-3-Clause */
/* Phases, one after the other: a thread computes, waits for a lock, reads from a pipe, allocates
 * blocks, frees them, ends short spans. Each phase is a span. With "fork", a child does the same,
 * and prints to the file that is named next. All times are ns since the epoch, read on both sides
 * of what they tell of, because a thread may lose its processor at any place. Prints:
 *
 *   PHASE BEGIN END FROM TO           its span began from BEGIN to FROM, and ended from TO to END
 *   PHASE:FUNCTION AFTER BEFORE       the wait in FUNCTION ended then
 *   freed TIME                      a block was given back then, or later
 *   child PID END                   it ended before END
 */
#include "cprof.h"
#include "tasks.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PHASE_NS 150000000ull
#define JOIN_NS 30000000ull /* is always a sample of the file of wakers */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ends[2];
static FILE *out;
static int waits;		    /* main is about to wait, and does nothing else before */
static unsigned long long woken[3]; /* when another thread ended its waits, at the earliest */
enum { BY_LOCK, BY_JOIN, BY_READ };

static unsigned long long clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (unsigned long long)t.tv_sec * 1000000000u + (unsigned long long)t.tv_nsec;
}

static void pause_ns(unsigned long long ns)
{
	const struct timespec t = { 0, (long)ns };

	nanosleep(&t, NULL);
}

__attribute__((noinline)) static void phase_cpu(void)
{
	unsigned long long until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + PHASE_NS;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until)
		;
}

/* Lets main wait for so long, and then says that its wait ends. */
static void lets_wait(unsigned long long ns, int which)
{
	while (!__atomic_load_n(&waits, __ATOMIC_ACQUIRE) || task_state(getpid()) != 'S')
		pause_ns(1000000);
	waits = 0;
	pause_ns(ns);
	woken[which] = clock_ns(CLOCK_REALTIME);
}

static void about_to_wait(void)
{
	__atomic_store_n(&waits, 1, __ATOMIC_RELEASE);
}

static void print_wait(const char *of, int which)
{
	fprintf(out, "%s %llu %llu\n", of, woken[which], clock_ns(CLOCK_REALTIME));
}

static void *hold(void *locked)
{
	pthread_mutex_lock(&lock);
	pthread_barrier_wait(locked);
	lets_wait(PHASE_NS, BY_LOCK);
	pthread_mutex_unlock(&lock);
	lets_wait(JOIN_NS, BY_JOIN);
	return NULL;
}

__attribute__((noinline)) static void phase_lock(void)
{
	pthread_barrier_t locked;
	pthread_t t;

	pthread_barrier_init(&locked, NULL, 2);
	pthread_create(&t, NULL, hold, &locked);
	pthread_barrier_wait(&locked);
	about_to_wait();
	pthread_mutex_lock(&lock);
	print_wait("phase_lock:pthread_mutex_lock", BY_LOCK);
	pthread_mutex_unlock(&lock);
	about_to_wait();
	pthread_join(t, NULL);
	print_wait("phase_lock:pthread_join", BY_JOIN);
}

static void *feed(void *arg)
{
	(void)arg;
	lets_wait(PHASE_NS, BY_READ);
	return (void *)(size_t)write(ends[1], "x", 1);
}

__attribute__((noinline)) static void phase_io(void)
{
	pthread_t t;
	char c;

	pthread_create(&t, NULL, feed, NULL);
	about_to_wait();
	if (read(ends[0], &c, 1) != 1)
		perror("read");
	print_wait("phase_io:read", BY_READ);
	pthread_join(t, NULL);
}

#define BLOCKS 40
static void *blocks[BLOCKS];
static unsigned long long freed[BLOCKS];

/* Far larger than the mean between samples, so nearly all are samples. */
__attribute__((noinline)) static void phase_heap(void)
{
	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(262144);
		pause_ns(PHASE_NS / BLOCKS);
	}
}

__attribute__((noinline)) static void phase_free(void)
{
	for (int i = 0; i < BLOCKS; i++) {
		freed[i] = clock_ns(CLOCK_REALTIME);
		free(blocks[i]);
		pause_ns(PHASE_NS / BLOCKS);
	}
}

__attribute__((noinline)) static void phase_short(void)
{
	for (int i = 0; i < 2000; i++) {
		struct cprof_span s = cprof_span_begin_at("short", cprof_now() - 20000);

		cprof_span_end(&s);
	}
}

static void timed(const char *name, void (*phase)(void))
{
	unsigned long long begin = clock_ns(CLOCK_REALTIME), from, to;
	struct cprof_span s = cprof_span_begin(name);

	from = clock_ns(CLOCK_REALTIME);
	phase();
	to = clock_ns(CLOCK_REALTIME);
	cprof_span_end(&s);
	fprintf(out, "%s %llu %llu %llu %llu\n", name, begin, clock_ns(CLOCK_REALTIME), from, to);
}

static void all(void)
{
	timed("phase_cpu", phase_cpu);
	timed("phase_lock", phase_lock);
	timed("phase_io", phase_io);
	timed("phase_heap", phase_heap);
	timed("phase_free", phase_free);
	timed("phase_short", phase_short);
	for (int i = 0; i < BLOCKS; i++)
		fprintf(out, "freed %llu\n", freed[i]);
	fclose(out);
}

int main(int argc, char **argv)
{
	pid_t child;

	out = stdout;
	if (pipe(ends))
		return 1;
	if (argc > 2 && !strcmp(argv[1], "fork")) {
		pause_ns(PHASE_NS);
		child = fork();
		if (!child) {
			out = fopen(argv[2], "w");
			all();
			return 0;
		}
		waitpid(child, NULL, 0);
		printf("child %d %llu\n", (int)child, clock_ns(CLOCK_REALTIME));
	}
	all();
	return 0;
}
