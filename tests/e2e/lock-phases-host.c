/* SPDX-License-Identifier: BSD-3-Clause */
/* Every phase of a read-write lock, with 1, 2, 3 and 8 threads on either side. The program itself
 * measures how long its threads wait, and for which holders.
 *
 * Each cell of the table has a lock of its own. Its holders take the lock, and keep it until all
 * waiters have come and HOLD_NS are over. Prints one line per cell: its name, the lock's label, and
 * in ns: all waits; the same within libc's functions, by lock-inner.c; the part of the first in
 * which the holders had the lock; the same with the time after that. In the profile the holders
 * unlock in hold_first, the waiters in wait_behind.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"

#define HOLD_NS 10000000
#define MOST 8

static const struct cell {
	int read_holders, write_holders, readers, writers;
	int prefers_writers;
} cells[] = {
	/* readers wait for a writer */
	{ 0, 1, 1, 0, 0 },
	{ 0, 1, 2, 0, 0 },
	{ 0, 1, 3, 0, 0 },
	{ 0, 1, 8, 0, 0 },
	/* writers wait for a writer */
	{ 0, 1, 0, 1, 0 },
	{ 0, 1, 0, 2, 0 },
	{ 0, 1, 0, 3, 0 },
	{ 0, 1, 0, 8, 0 },
	/* both wait for a writer */
	{ 0, 1, 1, 1, 0 },
	{ 0, 1, 2, 2, 0 },
	{ 0, 1, 3, 3, 0 },
	{ 0, 1, 8, 8, 0 },
	{ 0, 1, 8, 8, 1 },
	/* writers wait for readers */
	{ 1, 0, 0, 1, 0 },
	{ 2, 0, 0, 1, 0 },
	{ 3, 0, 0, 1, 0 },
	{ 8, 0, 0, 1, 0 },
	{ 1, 0, 0, 2, 0 },
	{ 1, 0, 0, 3, 0 },
	{ 1, 0, 0, 8, 0 },
	{ 2, 0, 0, 2, 0 },
	{ 3, 0, 0, 3, 0 },
	{ 8, 0, 0, 8, 0 },
	/* readers wait for a writer that waits for readers */
	{ 1, 0, 1, 1, 1 },
	{ 1, 0, 2, 1, 1 },
	{ 2, 0, 3, 1, 1 },
	{ 8, 0, 8, 8, 1 },
};
#define CELLS (sizeof(cells) / sizeof(*cells))

static pthread_rwlock_t phase_locks[CELLS];
static const struct cell *cell;
static pthread_rwlock_t *lock;

/* When a thread wanted the lock, had it, and was about to give it back. */
static struct use {
	uint64_t wanted, had, gave, inner;
} holds[MOST], waits[2 * MOST];
static int held, coming;

uint64_t lock_inner_ns(void) __attribute__((weak));

static void await(const int *count, int want)
{
	while (__atomic_load_n(count, __ATOMIC_ACQUIRE) < want)
		nap(HOLD_NS / 50);
}

/* A writer that is to keep readers out must come before them. */
static void come(int waiter)
{
	await(&held, cell->read_holders + cell->write_holders);
	if (cell->prefers_writers && waiter < cell->readers) {
		await(&coming, cell->writers);
		nap(HOLD_NS / 5);
	}
	__atomic_add_fetch(&coming, 1, __ATOMIC_RELEASE);
}

static void take(int writes)
{
	if (writes ? pthread_rwlock_wrlock(lock) : pthread_rwlock_rdlock(lock))
		abort();
}

NOINLINE static void hold_first(struct use *u, int writes)
{
	u->wanted = now_ns();
	take(writes);
	u->had = now_ns();
	__atomic_add_fetch(&held, 1, __ATOMIC_RELEASE);
	await(&coming, cell->readers + cell->writers);
	nap(HOLD_NS);
	u->gave = now_ns();
	pthread_rwlock_unlock(lock);
	STAYS;
}

NOINLINE static void wait_behind(struct use *u, int writes)
{
	u->wanted = now_ns();
	take(writes);
	u->had = now_ns();
	u->inner = lock_inner_ns ? lock_inner_ns() : 0;
	nap(HOLD_NS / 10);
	u->gave = now_ns();
	pthread_rwlock_unlock(lock);
	STAYS;
}

static void *holder(void *arg)
{
	hold_first(&holds[(intptr_t)arg], cell->write_holders);
	return NULL;
}

static void *waiter(void *arg)
{
	int i = (int)(intptr_t)arg;

	come(i);
	wait_behind(&waits[i], i >= cell->readers);
	return NULL;
}

static uint64_t overlap(const struct use *w, uint64_t from, uint64_t to)
{
	from = w->wanted > from ? w->wanted : from;
	to = w->had < to ? w->had : to;
	return to > from ? to - from : 0;
}

static void say(int holders, int waiters)
{
	uint64_t from = holds[0].had, until = 0, all = 0, inner = 0, part = 0, most = 0;

	for (int i = 0; i < holders; i++) {
		from = holds[i].had < from ? holds[i].had : from;
		until = holds[i].gave > until ? holds[i].gave : until;
	}
	for (int i = 0; i < waiters; i++) {
		all += waits[i].had - waits[i].wanted;
		inner += waits[i].inner;
		part += overlap(&waits[i], from, until);
		most += overlap(&waits[i], from, waits[i].had);
	}
	printf("%d+%d-for-%d+%d%s phase_locks", cell->readers, cell->writers, cell->read_holders,
	       cell->write_holders, cell->prefers_writers ? "-writers-first" : "");
	if (lock != phase_locks)
		printf("+0x%zx", (size_t)((char *)lock - (char *)phase_locks));
	printf(" %llu %llu %llu %llu\n", (unsigned long long)all, (unsigned long long)inner,
	       (unsigned long long)part, (unsigned long long)most);
}

static void run(void)
{
	int holders = cell->read_holders + cell->write_holders, n = 0;
	int waiters = cell->readers + cell->writers;
	pthread_t threads[3 * MOST];

	held = coming = 0;
	for (intptr_t i = 0; i < holders; i++)
		pthread_create(&threads[n++], NULL, holder, (void *)i);
	for (intptr_t i = 0; i < waiters; i++)
		pthread_create(&threads[n++], NULL, waiter, (void *)i);
	while (n)
		pthread_join(threads[--n], NULL);
	say(holders, waiters);
}

int main(void)
{
	pthread_rwlockattr_t writers_first;

	pthread_rwlockattr_init(&writers_first);
	pthread_rwlockattr_setkind_np(&writers_first, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	for (size_t i = 0; i < CELLS; i++) {
		cell = &cells[i];
		lock = &phase_locks[i];
		pthread_rwlock_init(lock, cell->prefers_writers ? &writers_first : NULL);
		run();
	}
	return 0;
}
