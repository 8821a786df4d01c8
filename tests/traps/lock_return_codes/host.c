/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints as a table the result of every lock function, for all kinds of mutexes, free, held by the
 * caller and held by another thread, and errno afterwards. The table must not depend on the
 * profiler. lock-codes-others.c has the locks that aren't mutexes.
 */
#include "host.h"
#include "lock-codes.h"

struct kind {
	int type, protocol, robust, shared;
};

static pthread_mutex_t *new_mutex(const struct kind *k)
{
	pthread_mutex_t *m = mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE,
				  (k->shared ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, k->type);
	EXPECT(pthread_mutexattr_setprotocol(&attr, k->protocol) == 0);
	EXPECT(pthread_mutexattr_setrobust(&attr, k->robust) == 0);
	pthread_mutexattr_setpshared(&attr, k->shared);
	SAY("init", pthread_mutex_init(m, &attr));
	return m;
}

enum order { FREE, BRIEFLY, FOR_LONG, DIES };

static struct {
	pthread_mutex_t *m;
	enum order order;
	pthread_barrier_t taken, done;
} other;

/* Another thread, which has the mutex when the caller comes. */
static void *hold(void *arg)
{
	pthread_mutex_lock(other.m);
	pthread_barrier_wait(&other.taken);
	if (other.order == BRIEFLY)
		nap(HELD_NS);
	else if (other.order == FOR_LONG)
		pthread_barrier_wait(&other.done);
	if (other.order != DIES)
		pthread_mutex_unlock(other.m);
	return arg;
}

static pthread_t another_holds(pthread_mutex_t *m, enum order order)
{
	pthread_t t;

	other.m = m;
	other.order = order;
	pthread_create(&t, NULL, hold, NULL);
	pthread_barrier_wait(&other.taken);
	return t;
}

static void let_go(pthread_t t)
{
	if (other.order == FOR_LONG)
		pthread_barrier_wait(&other.done);
	pthread_join(t, NULL);
}

static void when_free(pthread_mutex_t *m)
{
	struct timespec past = { 1, 0 }, soon = at(CLOCK_REALTIME, 50000000);

	SAY("lock", pthread_mutex_lock(m));
	SAY("unlock", pthread_mutex_unlock(m));
	SAY("try", pthread_mutex_trylock(m));
	SAY("unlock", pthread_mutex_unlock(m));
	SAY("timed", pthread_mutex_timedlock(m, &past));
	SAY("unlock", pthread_mutex_unlock(m));
	soon = at(CLOCK_MONOTONIC, 50000000);
	SAY("clock", pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &soon));
	SAY("unlock", pthread_mutex_unlock(m));
}

/* Only of kinds that don't wait for themselves. */
static void when_mine(pthread_mutex_t *m, const struct kind *k)
{
	struct timespec soon = at(CLOCK_REALTIME, 2000000);

	SAY("lock", pthread_mutex_lock(m));
	SAY("try-mine", pthread_mutex_trylock(m));
	SAY("timed-mine", pthread_mutex_timedlock(m, &soon));
	soon = at(CLOCK_MONOTONIC, 2000000);
	SAY("clock-mine", pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &soon));
	if (k->type == PTHREAD_MUTEX_RECURSIVE || k->type == PTHREAD_MUTEX_ERRORCHECK)
		SAY("lock-mine", pthread_mutex_lock(m));
	for (int i = 0; i < 5; i++)
		if (i == 0 || k->type == PTHREAD_MUTEX_RECURSIVE ||
		    k->type == PTHREAD_MUTEX_ERRORCHECK)
			SAY("unlock", pthread_mutex_unlock(m));
}

static void when_anothers(pthread_mutex_t *m, const struct kind *k)
{
	struct timespec t = at(CLOCK_REALTIME, 2000000), bad = { 1, -1 };
	pthread_t thread = another_holds(m, FOR_LONG);

	SAY("try-held", pthread_mutex_trylock(m));
	SAY("timed-held", pthread_mutex_timedlock(m, &t));
	t = at(CLOCK_MONOTONIC, 2000000);
	SAY("clock-held", pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &t));
	SAY("bad-time", pthread_mutex_timedlock(m, &bad));
	SAY("bad-clock", pthread_mutex_clocklock(m, CLOCK_PROCESS_CPUTIME_ID, &t));
	if (k->type == PTHREAD_MUTEX_RECURSIVE || k->type == PTHREAD_MUTEX_ERRORCHECK || k->robust)
		SAY("unlock-held", pthread_mutex_unlock(m));
	let_go(thread);
	thread = another_holds(m, BRIEFLY);
	SAY("lock-held", pthread_mutex_lock(m));
	SAY("unlock", pthread_mutex_unlock(m));
	let_go(thread);
	thread = another_holds(m, BRIEFLY);
	t = at(CLOCK_REALTIME, LONG_NS);
	SAY("timed-held", pthread_mutex_timedlock(m, &t));
	SAY("unlock", pthread_mutex_unlock(m));
	let_go(thread);
}

/* The owner has died: the next one is told, and may repair it or not. */
static void when_dead(pthread_mutex_t *m)
{
	struct timespec t = at(CLOCK_REALTIME, LONG_NS);

	let_go(another_holds(m, DIES));
	SAY("lock-dead", pthread_mutex_lock(m));
	SAY("consistent", pthread_mutex_consistent(m));
	SAY("unlock", pthread_mutex_unlock(m));
	let_go(another_holds(m, DIES));
	SAY("try-dead", pthread_mutex_trylock(m));
	SAY("consistent", pthread_mutex_consistent(m));
	SAY("unlock", pthread_mutex_unlock(m));
	let_go(another_holds(m, DIES));
	SAY("timed-dead", pthread_mutex_timedlock(m, &t));
	SAY("unlock", pthread_mutex_unlock(m));
	SAY("lock-lost", pthread_mutex_lock(m));
	SAY("timed-lost", pthread_mutex_timedlock(m, &t));
	SAY("try-lost", pthread_mutex_trylock(m));
}

/* The same where a process dies while the caller already waits. */
static void when_process_dies(pthread_mutex_t *m)
{
	int ready[2];
	char c;
	pid_t pid;

	EXPECT(pipe(ready) == 0);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		pthread_mutex_lock(m);
		EXPECT(write(ready[1], "", 1) == 1);
		nap(HELD_NS);
		_exit(0);
	}
	EXPECT(read(ready[0], &c, 1) == 1);
	SAY("lock-killed", pthread_mutex_lock(m));
	SAY("consistent", pthread_mutex_consistent(m));
	SAY("unlock", pthread_mutex_unlock(m));
	waitpid(pid, NULL, 0);
	close(ready[0]);
	close(ready[1]);
}

static void mutex(const struct kind *k)
{
	pthread_mutex_t *m;

	printf("mutex type %d protocol %d robust %d shared %d:", k->type, k->protocol, k->robust,
	       k->shared);
	m = new_mutex(k);
	when_free(m);
	when_mine(m, k);
	when_anothers(m, k);
	if (k->robust && k->shared)
		when_process_dies(m);
	if (k->robust)
		when_dead(m);
	SAY("destroy", pthread_mutex_destroy(m));
	munmap(m, sizeof(*m));
	printf("\n");
}

static void mutexes(void)
{
	static const int types[] = { PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
				     PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP };
	struct kind k;

	for (int t = 0; t < 4; t++)
		for (int i = 0; i < 8; i++) {
			k = (struct kind){ types[t],
					   i & 1 ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE,
					   i & 2 ? PTHREAD_MUTEX_ROBUST : PTHREAD_MUTEX_STALLED,
					   i & 4 ? PTHREAD_PROCESS_SHARED
						 : PTHREAD_PROCESS_PRIVATE };
			mutex(&k);
		}
}

/* Priority ceilings need privileges to lock; init and the refusal are the same at least. */
static void ceiling(void)
{
	struct kind k = { PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_PROTECT, 0, 0 };
	pthread_mutex_t *m;
	int err;

	printf("mutex with a ceiling:");
	m = new_mutex(&k);
	SAY("lock", err = pthread_mutex_lock(m));
	if (!err)
		SAY("unlock", pthread_mutex_unlock(m));
	SAY("try", err = pthread_mutex_trylock(m));
	if (!err)
		SAY("unlock", pthread_mutex_unlock(m));
	printf("\n");
}

int main(void)
{
	pthread_barrier_init(&other.taken, NULL, 2);
	pthread_barrier_init(&other.done, NULL, 2);
	mutexes();
	ceiling();
	lock_codes_others();
	HOST_END();
}
