/* SPDX-License-Identifier: BSD-3-Clause */
/* Unlocks that let waiters go: each gets the parts of the waits that it caused, and no other. */
#include "harness.h"

#include <pthread.h>
#include <stdint.h>

#include "base/atomic.h"
#include "sample/capture.h"
#include "modes/lock/signal/lock_unlock_log.h"
#include "modes/lock/signal/lock_holder.h"
#include "sample/thread.h"

static int locks[64];

static struct cp_thread *new_thread(void)
{
	struct cp_thread *t = cp_thread_claim();

	cp_capture_settings.max_depth = 16;
	cp_thread_enter(t);
	return t;
}

static void close_stack(struct cp_thread *t, struct cp_holder *h)
{
	h->record->depth = 1;
	h->record->pcs[0] = h->time;
	cp_lock_holder_close(h, true);
	cp_lock_holder_make_room(t);
}

/* As a thread that unlocks LOCK at NOW does; a stack of one frame. */
static struct cp_holder *unlock(struct cp_thread *t, const void *lock, uint64_t now,
				uint64_t weight)
{
	struct cp_holder *h =
		cp_lock_holder_open(t, lock, cp_lock_unlock_log_leave(lock, now), now, weight);

	if (h)
		close_stack(t, h);
	return h;
}

/* What H has caused until now. */
static void check(struct cp_holder *h, uint64_t waits, uint64_t delay)
{
	uint32_t next = h->number;
	struct cp_holder *got = cp_lock_holder_read(&next, next + 1);

	if (!got) {
		CHECK_EQ(0, delay);
		return;
	}
	CHECK(got == h);
	CHECK_EQ(h->record->mode, CPROF_LOCK_HOLDERS);
	CHECK_EQ(h->record->tag, (uintptr_t)h->lock);
	CHECK_EQ(h->record->pcs[0], h->time);
	CHECK_EQ(h->record->count, waits);
	CHECK_EQ(h->record->weight, delay);
	cp_lock_holder_give_back(h);
}

static void end(struct cp_thread *t)
{
	const char name[CP_THREAD_NAME] = "worker";

	cp_lock_holder_forget();
	cp_lock_holder_thread_end(t, name);
	cp_thread_free(t);
}

static void wait_for(const void *lock, uint64_t began, uint64_t ended)
{
	struct cp_lock_wait w = { lock, began, ended, cp_lock_unlock_log_last(lock) };

	cp_lock_holder_deliver(&w);
}

static void test_holder_gets_the_delay(void)
{
	struct cp_thread *t = new_thread();
	struct cp_holder *h = unlock(t, &locks[0], 100, 3);

	check(h, 0, 0);
	wait_for(&locks[0], 50, 120);
	check(h, 3, 210);
	check(h, 0, 0);
	end(t);
}

static void test_holders_share_a_wait_by_time(void)
{
	struct cp_thread *t = new_thread(), *u = new_thread();
	struct cp_holder *long_one = unlock(t, &locks[1], 1000, 1);
	struct cp_holder *short_one = unlock(u, &locks[1], 1010, 1);

	/* All that the short one is to blame for is its own time, and the waiter's way to run. */
	wait_for(&locks[1], 200, 1015);
	wait_for(&locks[1], 1005, 1025);
	check(long_one, 0, 800);
	check(short_one, 2, 15 + 20);
	end(t);
	end(u);
}

static void test_unlock_before_the_wait_caused_nothing(void)
{
	struct cp_thread *t = new_thread();
	struct cp_holder *h = unlock(t, &locks[2], 100, 1);

	wait_for(&locks[2], 101, 170);
	check(h, 0, 0);
	end(t);
}

static void test_unlock_without_an_entry_has_its_part(void)
{
	struct cp_thread *t = new_thread();
	struct cp_holder *h = unlock(t, &locks[3], 100, 1);

	cp_lock_unlock_log_leave(&locks[3], 150);
	wait_for(&locks[3], 50, 160);
	/* Up to its own time, and it did not end the wait. */
	check(h, 0, 50);
	cp_lock_unlock_log_leave(&locks[3], 200);
	h = unlock(t, &locks[3], 250, 1);
	wait_for(&locks[3], 160, 260);
	check(h, 1, 60);
	end(t);
}

/* Reported when the lock was unlocked again, by the thread that had waited and by another one. */
static void test_wait_is_told_of_later(void)
{
	struct cp_thread *t = new_thread();
	struct cp_holder *h = unlock(t, &locks[12], 100, 1), *own, *next;
	struct cp_lock_wait w = { &locks[12], 50, 120, cp_lock_unlock_log_last(&locks[12]) };

	own = unlock(t, &locks[12], 130, 1);
	next = unlock(t, &locks[12], 140, 1);
	cp_lock_holder_deliver(&w);
	check(h, 1, 70);
	check(own, 0, 0);
	check(next, 0, 0);
	end(t);
}

/* An unlock that left its time only, and came after the wait, ended nothing of it. */
static void test_last_unlock_is_that_of_the_wait(void)
{
	struct cp_thread *t = new_thread();
	struct cp_holder *h = unlock(t, &locks[13], 100, 1);
	struct cp_lock_wait w = { &locks[13], 50, 120, cp_lock_unlock_log_last(&locks[13]) };

	cp_lock_unlock_log_leave(&locks[13], 130);
	cp_lock_holder_deliver(&w);
	check(h, 1, 70);
	end(t);
}

static void test_followed_for_a_while(void)
{
	unsigned stamps = 0;

	CHECK(!cp_lock_is_followed(&locks[10]));
	cp_lock_unlock_log_begin(&locks[10], 1000);
	CHECK(!cp_lock_is_followed(&locks[11]));
	while (cp_lock_is_followed(&locks[10]) && stamps < 100000) {
		uint64_t before = cp_lock_unlock_log_leave(&locks[10], 1001 + stamps);

		CHECK_EQ(before, 1000 + stamps);
		stamps++;
	}
	CHECK(stamps > 16 && stamps < 1000);
}

static void test_other_locks_are_not_meant(void)
{
	struct cp_thread *t = new_thread();
	struct cp_holder *h = unlock(t, &locks[0], 1000, 1);

	for (int i = 1; i < 64; i++)
		wait_for(&locks[i], 500, 1200);
	check(h, 0, 0);
	end(t);
}

static void test_waiter_may_come_before_the_stack(void)
{
	struct cp_thread *t = new_thread();
	struct cp_holder *h =
		cp_lock_holder_open(t, &locks[4], cp_lock_unlock_log_leave(&locks[4], 100), 100, 1);

	wait_for(&locks[4], 50, 120);
	check(h, 0, 0);
	close_stack(t, h);
	check(h, 1, 70);
	end(t);
}

static void test_failed_unlock_has_no_entry(void)
{
	struct cp_thread *t = new_thread();
	struct cp_holder *h =
		cp_lock_holder_open(t, &locks[5], cp_lock_unlock_log_leave(&locks[5], 100), 100, 1);

	cp_lock_holder_close(h, false);
	wait_for(&locks[5], 50, 120);
	check(h, 0, 0);
	h = cp_lock_holder_open(t, &locks[5], 0, 100, 1);
	wait_for(&locks[5], 50, 120);
	cp_lock_holder_close(h, false);
	check(h, 0, 0);
	end(t);
}

static void test_places_are_used_again(void)
{
	struct cp_thread *t = new_thread();
	struct cp_holder *h = NULL;

	for (uint64_t i = 1; i < 1000; i++) {
		h = unlock(t, &locks[6], i, 1);
		CHECK(h != NULL);
	}
	wait_for(&locks[6], 998, 1004);
	check(h, 1, 6);
	end(t);
}

static void test_what_was_added_is_not_overwritten(void)
{
	struct cp_thread *t = new_thread();
	uint64_t delay = 0, waits = 0;
	struct cp_holder *h;
	uint32_t next, last;

	for (uint64_t i = 1; i <= 100; i++) {
		h = cp_lock_holder_open(t, &locks[7], cp_lock_unlock_log_leave(&locks[7], 10 * i),
					10 * i, 1);
		h->record->depth = 1;
		cp_lock_holder_close(h, true);
		wait_for(&locks[7], 10 * i - 5, 10 * i + 2);
		h = cp_lock_holder_make_room(t);
		delay += h ? h->record->weight : 0;
		waits += h ? h->record->count : 0;
	}
	cp_lock_holder_range(t, &next, &last);
	while ((h = cp_lock_holder_read(&next, last))) {
		delay += h->record->weight;
		waits += h->record->count;
		cp_lock_holder_give_back(h);
	}
	CHECK_EQ(waits, 100);
	CHECK_EQ(delay, 700);
	end(t);
}

static bool has_group_of(const struct cp_holder *h, const struct cp_holder *other)
{
	return other >= h - 8 && other <= h + 8 && other != h;
}

static void test_waiter_may_come_after_the_threads_end(void)
{
	struct cp_thread *t = new_thread();
	struct cp_holder *h = unlock(t, &locks[8], 100, 1);
	unsigned threads = 0;

	end(t);
	/* Threads that come later have other groups for a while. */
	do {
		t = new_thread();
		threads++;
	} while (!has_group_of(h, unlock(t, &locks[9], 100, 1)) && threads < 100 && (end(t), true));
	CHECK(threads > 8 && threads < 100);
	/* The group is another thread's now; this entry isn't yet. */
	wait_for(&locks[8], 50, 120);
	CHECK_EQ(h->thread, CP_HOLDER_ENDED);
	CHECK_STR(h->name, "worker");
	check(h, 1, 70);
	end(t);
}

/* One holder unlocks, two waiters deliver, a collector reads: every delay arrives once or not at
 * all, in an entry of its own lock. */
#define TURNS 200000u

static uint32_t stop;
static uint64_t delivered[2], arrived[2], mixed;

static void sum(const struct cp_holder *h)
{
	uint64_t which = (uint64_t)((const int *)h->lock - locks);

	if (which > 1 || h->record->tag != (uintptr_t)&locks[which])
		cp_add_relaxed(&mixed, 1);
	else
		cp_add_relaxed(&arrived[which], h->record->weight);
}

static void *deliver(void *arg)
{
	uint64_t which = (uint64_t)(uintptr_t)arg;

	while (!cp_load_relaxed(&stop)) {
		wait_for(&locks[which], UINT64_MAX - 2, UINT64_MAX - 1);
		delivered[which]++;
	}
	return NULL;
}

static void *collect(void *arg)
{
	struct cp_holder *h;

	while (!cp_load_relaxed(&stop)) {
		uint32_t next = 0;

		while ((h = cp_lock_holder_read(&next, UINT32_MAX))) {
			sum(h);
			cp_lock_holder_give_back(h);
		}
	}
	return arg;
}

static void test_entries_survive_a_storm(void)
{
	struct cp_thread *t = new_thread();
	struct cp_holder *h;
	pthread_t threads[3];
	unsigned opened = 0, turns = 0;
	uint32_t next = 0;

	pthread_create(&threads[0], NULL, deliver, (void *)0);
	pthread_create(&threads[1], NULL, deliver, (void *)1);
	pthread_create(&threads[2], NULL, collect, NULL);
	/* And until each has met an entry in time. */
	for (unsigned i = 0;
	     i < TURNS ||
	     ((!cp_load_relaxed(&arrived[0]) || !cp_load_relaxed(&arrived[1])) && i < 1000 * TURNS);
	     i++) {
		cp_lock_unlock_log_leave(&locks[i & 1], UINT64_MAX - 1);
		h = cp_lock_holder_open(t, &locks[i & 1], 0, UINT64_MAX - 1, 1);
		if (h) {
			opened++;
			h->record->depth = 1;
			cp_lock_holder_close(h, true);
		}
		h = cp_lock_holder_make_room(t);
		if (h)
			sum(h);
		turns++;
	}
	cp_store_relaxed(&stop, 1);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	while ((h = cp_lock_holder_read(&next, UINT32_MAX))) {
		sum(h);
		cp_lock_holder_give_back(h);
	}
	CHECK_EQ(mixed, 0);
	/* How many of the turns found an entry depends on when the other threads ran. */
	CHECK(opened > 0 && opened <= turns);
	CHECK(arrived[0] > 0 && arrived[1] > 0);
	end(t);
}

int main(void)
{
	RUN(test_holder_gets_the_delay);
	RUN(test_holders_share_a_wait_by_time);
	RUN(test_unlock_before_the_wait_caused_nothing);
	RUN(test_unlock_without_an_entry_has_its_part);
	RUN(test_followed_for_a_while);
	RUN(test_wait_is_told_of_later);
	RUN(test_last_unlock_is_that_of_the_wait);
	RUN(test_other_locks_are_not_meant);
	RUN(test_waiter_may_come_before_the_stack);
	RUN(test_failed_unlock_has_no_entry);
	RUN(test_places_are_used_again);
	RUN(test_what_was_added_is_not_overwritten);
	RUN(test_waiter_may_come_after_the_threads_end);
	RUN(test_entries_survive_a_storm);
	return harness_end();
}
