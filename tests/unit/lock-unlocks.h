/* SPDX-License-Identifier: BSD-3-Clause */
/* Unlocks that let waiters go, in the test's own time; for tests of which of them are told of.
 * Where one is included, all of it is used. */
#ifndef LOCK_UNLOCKS_H
#define LOCK_UNLOCKS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "lock-fixture.h"
#include "modes/lock/signal/lock_event.h"
#include "modes/lock/signal/lock_unlock_log.h"
#include "modes/lock/signal/lock_holder.h"
#include "sample/thread.h"

#define US UINT64_C(1000)
#define UNLOCKS 2000000u

static int locks[2];
static uint64_t now = 1000000 * US, reads;

/* The kernel's own is 4 ms coarse. */
static int read_clock(clockid_t clock, struct timespec *t)
{
	uint64_t at = clock == CLOCK_MONOTONIC_COARSE ? now - now % (4000 * US) : now;

	t->tv_sec = (time_t)(at / 1000000000);
	t->tv_nsec = (long)(at % 1000000000);
	reads += clock == CLOCK_MONOTONIC;
	return 0;
}

static struct cp_thread *begin(void)
{
	return begin_unlocks(read_clock);
}

static void end(struct cp_thread *t)
{
	const char name[CP_THREAD_NAME] = "worker";

	cp_lock_holder_forget();
	cp_lock_holder_thread_end(t, name);
	cp_thread_free(t);
}

struct sums {
	uint64_t waits, delay, reads, records;
};

/* What T's entries have had added. */
static void take(struct cp_thread *t, struct sums *s)
{
	struct cp_holder *h;
	uint32_t next, last;

	cp_lock_holder_range(t, &next, &last);
	while ((h = cp_lock_holder_read(&next, last))) {
		s->waits += h->record->count;
		s->delay += h->record->weight;
		s->records++;
		cp_lock_holder_give_back(h);
	}
}

static void wait_for(const void *lock, uint64_t began, uint64_t ended)
{
	struct cp_lock_wait w = { lock, began, ended, cp_lock_unlock_log_last(lock) };

	cp_lock_holder_deliver(&w);
}

/* An unlock of LOCK, and a wait that began 1.5 us before it and ends 0.1 us after it. */
static void unlock(struct cp_thread *t, const void *lock, struct sums *s)
{
	struct cp_lock_release r;

	reads = 0;
	cp_lock_event_release_begin(&r, lock);
	s->reads += reads;
	cp_lock_event_release_end(&r, (const void *)unlock, true);
	wait_for(lock, now - 3 * US / 2, now + US / 10);
	take(t, s);
}

static void free_again(const void *lock)
{
	struct cp_lock_release r;

	cp_lock_event_release_begin(&r, lock);
	cp_lock_event_release_end(&r, (const void *)unlock, true);
}

static bool near(uint64_t got, uint64_t want, double part)
{
	double off = (double)got - (double)want;

	return off <= part * (double)want && -off <= part * (double)want;
}

/* A million a second, of one lock. */
static struct sums unlock_often(struct cp_thread *t)
{
	struct sums s = { 0 };

	for (unsigned i = 0; i < UNLOCKS; i++) {
		now += US;
		unlock(t, &locks[0], &s);
	}
	return s;
}

/* Nearly the counter's a ns, in tests in which it has a rate: so many that what comes between
 * doesn't count. */
#define TICKS UINT64_C(1000)

#endif
