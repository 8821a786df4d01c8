/* SPDX-License-Identifier: BSD-3-Clause */
/* For the wall clock's tests: threads whose time is known.
 *
 *   wall-host shares SECONDS    sleeps 30 ms, polls 40, computes 30; "function ns" of each
 *   wall-host threads           threads of all kinds; "tid least most" ns that each lived, and
 *                               "foreign tid most" of one that libc doesn't know
 *   wall-host idle N SECONDS [AFTER]    N threads that wait; prints our CPU time in ns, from AFTER
 * seconds (0.3) on wall-host fork              a child that sleeps, and one that execs
 */
#include <linux/futex.h>
#include <sys/prctl.h>

#include "system.h"
#include "clock.h"

#define NOW() clock_ns(CLOCK_MONOTONIC)

__attribute__((noinline)) static void do_sleep(void)
{
	struct timespec t = { 0, 30000000 };

	nanosleep(&t, NULL);
	__asm__ volatile("");
}

__attribute__((noinline)) static void do_poll(void)
{
	poll(NULL, 0, 40);
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void compute(void)
{
	uint64_t end = NOW() + 30000000;
	volatile unsigned sum = 0;

	do
		for (unsigned i = 0; i < 2000; i++)
			sum += i;
	while (NOW() < end);
}

static int shares(double seconds)
{
	static void (*const parts[])(void) = { do_sleep, do_poll, compute };
	static const char *const names[] = { "do_sleep", "do_poll", "compute" };
	uint64_t spent[3] = { 0 }, end = NOW() + (uint64_t)(seconds * 1e9);

	while (NOW() < end)
		for (int i = 0; i < 3; i++) {
			uint64_t began = NOW();

			parts[i]();
			spent[i] += NOW() - began;
		}
	for (int i = 0; i < 3; i++)
		printf("%s %llu\n", names[i], (unsigned long long)spent[i]);
	return 0;
}

/* A thread, and how long it lived at least (by its own clock) and at most (by its maker's). */
struct life {
	pthread_t thread;
	void (*work)(long us);
	long us;
	int tid;
	uint64_t least, made;
};

__attribute__((noinline)) static void sleeper(long us)
{
	struct timespec t = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&t, NULL);
	__asm__ volatile("");
}

/* Of CPU time as well: on a busy machine it would hardly run otherwise. */
__attribute__((noinline)) static void worker(long us)
{
	uint64_t end = NOW() + (uint64_t)us * 1000;

	while (NOW() < end || clock_ns(CLOCK_THREAD_CPUTIME_ID) < (uint64_t)us * 1000)
		;
	__asm__ volatile("" ::: "memory");
}

static void *live(void *arg)
{
	struct life *l = arg;
	uint64_t began = NOW();

	l->tid = (int)syscall(SYS_gettid);
	l->work(l->us);
	l->least = NOW() - began;
	return NULL;
}

static void make(struct life *l, void (*work)(long), long us)
{
	l->work = work;
	l->us = us;
	l->made = NOW();
	pthread_create(&l->thread, NULL, live, l);
}

static void say(struct life *l)
{
	pthread_join(l->thread, NULL);
	printf("%d %llu %llu\n", l->tid, (unsigned long long)l->least,
	       (unsigned long long)(NOW() - l->made));
}

/* One that libc doesn't know: found by the sweep. */
static int foreign_done;

__attribute__((noinline)) static void foreign_wait(void)
{
	struct timespec t = { 1, 500000000 };

	syscall(SYS_futex, &foreign_done, FUTEX_WAIT, 0, &t);
	__asm__ volatile("");
}

static int foreign(void *arg)
{
	foreign_wait();
	__atomic_store_n((int *)arg, 1, __ATOMIC_RELEASE);
	syscall(SYS_exit, 0);
	return 0;
}

static int threads(void)
{
	static struct life lives[34];
	static int gone;
	size_t size = 1 << 16;
	char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t made = NOW();
	int tid = clone(foreign, stack + size,
			CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
				CLONE_SYSVSEM,
			&gone);

	make(&lives[0], sleeper, 1600000);
	make(&lives[1], worker, 300000);
	for (int i = 2; i < 34; i++) {
		/* Most end before they can be looked at. */
		make(&lives[i], i % 2 ? sleeper : worker, 300 * i);
		if (i % 4 == 0)
			usleep(2000);
	}
	for (int i = 0; i < 34; i++)
		say(&lives[i]);
	while (!__atomic_load_n(&gone, __ATOMIC_ACQUIRE))
		usleep(1000);
	printf("foreign %d %llu\n", tid, (unsigned long long)(NOW() - made));
	return 0;
}

static sem_t never, ready;

static void *idle_thread(void *arg)
{
	sem_post(&ready);
	sem_wait(&never);
	return arg;
}

static int idle(int n, double seconds, double after)
{
	pthread_attr_t attr;
	uint64_t before;

	sem_init(&never, 0, 0);
	sem_init(&ready, 0, 0);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 1 << 16);
	for (int i = 0; i < n; i++) {
		pthread_t thread;

		if (pthread_create(&thread, &attr, idle_thread, NULL))
			return 1;
	}
	for (int i = 0; i < n; i++)
		sem_wait(&ready);
	usleep((useconds_t)(after * 1e6));
	before = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	usleep((useconds_t)(seconds * 1e6));
	printf("%llu\n", (unsigned long long)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - before));
	return 0;
}

__attribute__((noinline)) static void child_sleeps(void)
{
	usleep(300000);
	__asm__ volatile("");
}

static int forks(void)
{
	int status = 1;

	/* Longer than the child will live. */
	usleep(700000);
	if (fork() == 0) {
		child_sleeps();
		return 0;
	}
	wait(&status);
	if (status)
		return 1;
	if (fork() == 0) {
		execlp("sleep", "sleep", "0.2", (char *)NULL);
		_exit(1);
	}
	wait(&status);
	return status != 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "shares") && argc > 2)
		return shares(atof(argv[2]));
	if (!strcmp(what, "threads"))
		return threads();
	if (!strcmp(what, "idle") && argc > 3)
		return idle(atoi(argv[2]), atof(argv[3]), argc > 4 ? atof(argv[4]) : 0.3);
	if (!strcmp(what, "fork"))
		return forks();
	return 2;
}
