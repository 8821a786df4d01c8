/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost of locks with the library preloaded.
 *
 *   lock pair KIND           the pair of lock and unlock, free: in ns, over a bare forward, and
 *                            over libc's; and a forward that looks at the lock's first word before
 *                            it locks, over libc's. KIND: mutex, read, write (of a read-write
 *                            lock), semaphore (sem_wait and sem_post)
 *   lock waited              the same of one that a thread has waited for before
 *   lock turns ROUNDS MS INSIDE OUTSIDE [LEAD]
 *                            eight threads share one, with about so many turns of a loop while
 *                            they hold it, and while they don't; in turns of MS with libc's
 *                            functions, ours, and libc's again. A line for each round: pairs a
 *                            second with ours and with libc's again, in per cent of libc's, and
 *                            pairs a second of CPU time so, which what else runs disturbs less.
 *                            Each turn begins with LEAD ms that are not counted: what the budget
 *                            of stacks saves up in libc's turns is spent in them, where without
 *                            them ours would pay for the stacks of all three
 *
 * bench/lock.sh runs it. A bare forward is what any interposition costs: a call of the original
 * through a pointer. Both are called here through a pointer, in turns, so that what else the
 * machine does hits both; the median of the differences is what is left.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PAIRS 20000 /* less than a time slice: most turns are not interrupted */
#define ROUNDS 1001
#define THREADS 8

typedef int (*lock_function)(void *);

static struct {
	lock_function lock, unlock;
} real;

__attribute__((noinline, aligned(64))) static int forward_lock(void *m)
{
	return real.lock(m);
}

__attribute__((noinline, aligned(64))) static int forward_unlock(void *m)
{
	return real.unlock(m);
}

/* The least that tells whether a lock is free. */
__attribute__((noinline, aligned(64))) static int look_and_lock(void *m)
{
	if (*(volatile int *)m < 0)
		return 1;
	return real.lock(m);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static sem_t sem;

static const struct kind {
	const char *name, *lock, *unlock;
	void *object;
} kinds[] = {
	{ "mutex", "pthread_mutex_lock", "pthread_mutex_unlock", &m },
	{ "read", "pthread_rwlock_rdlock", "pthread_rwlock_unlock", &rw },
	{ "write", "pthread_rwlock_wrlock", "pthread_rwlock_unlock", &rw },
	{ "semaphore", "sem_wait", "sem_post", &sem },
};

/* ns a pair. */
static double time_pairs(lock_function lock, lock_function unlock, void *object)
{
	volatile lock_function l = lock, u = unlock;
	double began = now();

	for (int i = 0; i < PAIRS; i++) {
		l(object);
		u(object);
	}
	return (now() - began) * 1e9 / PAIRS;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *values, int n)
{
	qsort(values, (size_t)n, sizeof(*values), by_value);
	return values[n / 2];
}

static void *look_up(void *handle, const char *name)
{
	void *f = dlsym(handle, name);

	if (!f)
		exit(2);
	return f;
}

static void *wait_once(void *arg)
{
	pthread_mutex_lock(&m);
	pthread_mutex_unlock(&m);
	return arg;
}

static void let_wait(void)
{
	struct timespec moment = { 0, 50000000 };
	pthread_t thread;

	pthread_mutex_lock(&m);
	pthread_create(&thread, NULL, wait_once, NULL);
	nanosleep(&moment, NULL);
	pthread_mutex_unlock(&m);
	pthread_join(thread, NULL);
}

static int pair(const struct kind *k)
{
	static double direct[ROUNDS], forward[ROUNDS], ours[ROUNDS], over[ROUNDS], more[ROUNDS],
		look[ROUNDS];
	void *libc = dlopen("libc.so.6", RTLD_LAZY);
	lock_function lock, unlock;

	sem_init(&sem, 0, 1);
	*(void **)&real.lock = look_up(libc, k->lock);
	*(void **)&real.unlock = look_up(libc, k->unlock);
	*(void **)&lock = look_up(RTLD_DEFAULT, k->lock);
	*(void **)&unlock = look_up(RTLD_DEFAULT, k->unlock);
	for (int i = 0; i < ROUNDS; i++) {
		direct[i] = time_pairs(real.lock, real.unlock, k->object);
		forward[i] = time_pairs(forward_lock, forward_unlock, k->object);
		ours[i] = time_pairs(lock, unlock, k->object);
		over[i] = ours[i] - forward[i];
		more[i] = ours[i] - direct[i];
		look[i] = time_pairs(look_and_lock, forward_unlock, k->object) - direct[i];
	}
	printf("libc %.2f  forward %.2f  ours %.2f  ours over forward %.2f  ours over libc %.2f  a "
	       "look over libc %.2f ns a pair\n",
	       median(direct, ROUNDS), median(forward, ROUNDS), median(ours, ROUNDS),
	       median(over, ROUNDS), median(more, ROUNDS), median(look, ROUNDS));
	return 0;
}

static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t together;
static int turns_inside, turns_outside;
static volatile uint64_t pairs[THREADS][8]; /* a cache line each */

/* The functions that each turn calls: libc's, libcprof's, libc's again. */
#define TURNS 3
static lock_function locks[TURNS], unlocks[TURNS];
static struct {
	volatile int end; /* of the turn */
	int which;	  /* -1: of all */
} turn;

/* About TURNS, drawn anew each time: some lengths of a loop are learnt by the processor in one
 * program and not in another (at 20 and 100 turns a pair took 8 ns more for it, at 20 and 90 not).
 */
static int about(int n, uint32_t *random)
{
	*random = *random * 1664525u + 1013904223u;
	return n / 2 + (int)((uint64_t)*random * ((unsigned)n + 1) >> 32);
}

static void *take_turns(void *arg)
{
	volatile uint64_t *n = pairs[(intptr_t)arg];
	volatile unsigned inside = 0, outside = 0;
	uint32_t random = (uint32_t)(intptr_t)arg;

	for (;;) {
		lock_function lock, unlock;

		pthread_barrier_wait(&together);
		if (turn.which < 0)
			return NULL;
		lock = locks[turn.which];
		unlock = unlocks[turn.which];
		while (!turn.end) {
			int in = about(turns_inside, &random), out = about(turns_outside, &random);

			lock(&shared);
			for (int i = 0; i < in; i++)
				inside++;
			unlock(&shared);
			for (int i = 0; i < out; i++)
				outside++;
			++*n;
		}
		pthread_barrier_wait(&together);
	}
}

static uint64_t all_pairs(void)
{
	uint64_t all = 0;

	for (int i = 0; i < THREADS; i++)
		all += pairs[i][0];
	return all;
}

static void sleep_ms(long ms)
{
	struct timespec left = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&left, NULL);
}

/* Pairs a second, and seconds of CPU time a pair. */
static void take_turn(int which, long ms, long lead, double *rate, double *cpu)
{
	uint64_t before, done;
	double began, cpu_began;

	turn.end = 0;
	turn.which = which;
	pthread_barrier_wait(&together);
	sleep_ms(lead);
	before = all_pairs();
	began = now();
	cpu_began = cpu_seconds();
	sleep_ms(ms);
	done = all_pairs() - before;
	*rate = (double)done / (now() - began);
	*cpu = (cpu_seconds() - cpu_began) / (double)done;
	turn.end = 1;
	pthread_barrier_wait(&together);
}

static int turns(int rounds, long ms, long lead)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY);
	pthread_t threads[THREADS];

	for (int i = 0; i < TURNS; i++) {
		void *from = i == 1 ? RTLD_DEFAULT : libc;

		*(void **)&locks[i] = look_up(from, "pthread_mutex_lock");
		*(void **)&unlocks[i] = look_up(from, "pthread_mutex_unlock");
	}
	pthread_barrier_init(&together, NULL, THREADS + 1);
	for (intptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, take_turns, (void *)i);
	for (int round = -1; round < rounds; round++) {
		double rate[TURNS], cpu[TURNS];

		/* Each as often first, second and third. */
		for (int i = 0; i < TURNS; i++) {
			int which = (round + 1 + i) % TURNS;

			take_turn(which, ms, lead, &rate[which], &cpu[which]);
		}
		if (round >= 0)
			printf("%.2f %.2f %.2f %.2f\n", 100 * rate[1] / rate[0],
			       100 * rate[2] / rate[0], 100 * cpu[0] / cpu[1],
			       100 * cpu[0] / cpu[2]);
	}
	turn.which = -1;
	pthread_barrier_wait(&together);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 3 && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(argv[1], "pair") && !strcmp(argv[2], kinds[i].name))
			return pair(&kinds[i]);
	if (argc == 2 && !strcmp(argv[1], "waited")) {
		let_wait();
		return pair(&kinds[0]);
	}
	if ((argc == 6 || argc == 7) && !strcmp(argv[1], "turns")) {
		turns_inside = atoi(argv[4]);
		turns_outside = atoi(argv[5]);
		return turns(atoi(argv[2]), atol(argv[3]), argc == 7 ? atol(argv[6]) : 0);
	}
	fprintf(stderr,
		"usage: lock pair | lock waited | lock turns ROUNDS MS INSIDE OUTSIDE [LEAD]\n");
	return 2;
}
