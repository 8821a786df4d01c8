/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that wait for each other, or only seem to. Says "up" when they do, and ends with its
 * input.
 *
 *   deadlock-host two     two threads, two mutexes
 *                 three   three threads and mutexes, and a fourth thread that waits for one of them
 *                 mixed   a mutex, a read-write lock, and a join
 *                 self    a thread that locks its mutex again
 *                 timed   as two, but one of them gives up in an hour
 *                 stale   as two, but one of the mutexes is free; its field for the owner is old
 *                 dead    a mutex whose owner has ended
 *                 none    two threads that wait for a third, which waits for nobody
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER,
		       third = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t all_have;
static pthread_t joined;

static void call_it(const char *name)
{
	prctl(PR_SET_NAME, name);
}

static void nap(void)
{
	struct timespec t = { 0, 10000000 };

	nanosleep(&t, NULL);
}

/* Locks M, waits until all have theirs, and wants THEN. */
NOINLINE static void have_and_want(const char *name, pthread_mutex_t *m, pthread_mutex_t *then)
{
	call_it(name);
	pthread_mutex_lock(m);
	pthread_barrier_wait(&all_have);
	pthread_mutex_lock(then);
}

static void *a_of_two(void *unused)
{
	have_and_want("a", &first, &second);
	return unused;
}

static void *b_of_two(void *unused)
{
	have_and_want("b", &second, &first);
	return unused;
}

static void *b_of_three(void *unused)
{
	have_and_want("b", &second, &third);
	return unused;
}

static void *c_of_three(void *unused)
{
	have_and_want("c", &third, &first);
	return unused;
}

static void *d_of_three(void *unused)
{
	call_it("d");
	pthread_barrier_wait(&all_have);
	pthread_mutex_lock(&second);
	return unused;
}

static void *a_of_mixed(void *unused)
{
	call_it("a");
	pthread_mutex_lock(&first);
	pthread_barrier_wait(&all_have);
	pthread_rwlock_rdlock(&shared);
	return unused;
}

static void *b_of_mixed(void *unused)
{
	call_it("b");
	pthread_rwlock_wrlock(&shared);
	pthread_barrier_wait(&all_have);
	pthread_join(joined, NULL);
	return unused;
}

static void *c_of_mixed(void *unused)
{
	call_it("c");
	pthread_barrier_wait(&all_have);
	pthread_mutex_lock(&first);
	return unused;
}

static void *of_self(void *unused)
{
	call_it("a");
	pthread_mutex_lock(&first);
	pthread_barrier_wait(&all_have);
	pthread_mutex_lock(&first);
	return unused;
}

static void *b_of_timed(void *unused)
{
	struct timespec hour;

	clock_gettime(CLOCK_REALTIME, &hour);
	hour.tv_sec += 3600;
	call_it("b");
	pthread_mutex_lock(&second);
	pthread_barrier_wait(&all_have);
	pthread_mutex_timedlock(&first, &hour);
	return unused;
}

static void *a_of_dead(void *unused)
{
	call_it("a");
	pthread_mutex_lock(&first);
	return unused;
}

static void *b_of_dead(void *unused)
{
	call_it("b");
	pthread_barrier_wait(&all_have);
	pthread_mutex_lock(&first);
	return unused;
}

static void *a_of_none(void *unused)
{
	call_it("a");
	pthread_mutex_lock(&first);
	pthread_barrier_wait(&all_have);
	pause();
	return unused;
}

static void *c_of_none(void *unused)
{
	call_it("c");
	pthread_barrier_wait(&all_have);
	pthread_mutex_lock(&second);
	return unused;
}

static const struct {
	const char *name;
	void *(*threads[4])(void *);
} kinds[] = {
	{ "two", { a_of_two, b_of_two } },
	{ "three", { a_of_two, b_of_three, c_of_three, d_of_three } },
	{ "mixed", { a_of_mixed, b_of_mixed, c_of_mixed } },
	{ "self", { of_self } },
	{ "timed", { a_of_two, b_of_timed } },
	{ "stale", { a_of_two, b_of_two } },
	{ "dead", { b_of_dead } },
	{ "none", { a_of_none, b_of_two, c_of_none } },
};

static void start(void *(*const threads[])(void *))
{
	pthread_t t[4];
	int count = 0;

	while (count < 4 && threads[count])
		count++;
	pthread_barrier_init(&all_have, NULL, (unsigned)count + 1);
	/* The last one may be joined. */
	while (count--) {
		pthread_create(&t[count], NULL, threads[count], NULL);
		if (!joined)
			joined = t[count];
	}
	pthread_barrier_wait(&all_have);
}

/* Until somebody waits for M. */
static void await_waiter(pthread_mutex_t *m)
{
	while (__atomic_load_n(&m->__data.__lock, __ATOMIC_RELAXED) != 2)
		nap();
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	pthread_t t;

	if (!strcmp(kind, "dead")) {
		pthread_create(&t, NULL, a_of_dead, NULL);
		pthread_join(t, NULL);
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kinds[i].name, kind))
			start(kinds[i].threads);
	if (!strcmp(kind, "stale")) {
		await_waiter(&second);
		__atomic_store_n(&second.__data.__lock, 0, __ATOMIC_RELAXED);
	}
	puts("up");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
