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
#include <sys/prctl.h>

#include "system.h"
#include "clock.h"
#include "mutex_word.h"

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER,
		       third = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t all_have;
static pthread_t joined;

static struct timespec hour;

/* A thread called NAME: what it locks, and what it does once all have theirs. */
#define THREAD(function, name, has, wants)                                                         \
	static void *function(void *unused)                                                        \
	{                                                                                          \
		prctl(PR_SET_NAME, name);                                                          \
		has;                                                                               \
		pthread_barrier_wait(&all_have);                                                   \
		wants;                                                                             \
		return unused;                                                                     \
	}
#define LOCKS(m) pthread_mutex_lock(&m)

THREAD(a_of_two, "a", LOCKS(first), LOCKS(second))
THREAD(b_of_two, "b", LOCKS(second), LOCKS(first))
THREAD(b_of_three, "b", LOCKS(second), LOCKS(third))
THREAD(c_of_three, "c", LOCKS(third), LOCKS(first))
THREAD(d_of_three, "d", , LOCKS(second))
THREAD(a_of_mixed, "a", LOCKS(first), pthread_rwlock_rdlock(&shared))
THREAD(b_of_mixed, "b", pthread_rwlock_wrlock(&shared), pthread_join(joined, NULL))
THREAD(c_of_mixed, "c", , LOCKS(first))
THREAD(of_self, "a", LOCKS(first), LOCKS(first))
THREAD(b_of_timed, "b", LOCKS(second), pthread_mutex_timedlock(&first, &hour))
THREAD(b_of_dead, "b", , LOCKS(first))
THREAD(a_of_none, "a", LOCKS(first), pause())
THREAD(c_of_none, "c", , LOCKS(second))

static void *a_of_dead(void *unused)
{
	prctl(PR_SET_NAME, "a");
	pthread_mutex_lock(&first);
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
	while (!mutex_is_awaited(m))
		nap(10000000);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	pthread_t t;

	clock_gettime(CLOCK_REALTIME, &hour);
	hour.tv_sec += 3600;
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
