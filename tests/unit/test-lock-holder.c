/* Unlocks that let waiters go: an entry gets the delay of the wait that it ended, of no other. */
#include "harness.h"

#include <pthread.h>
#include <stdint.h>

#include "sigsafe/atomic.h"
#include "sigsafe/capture.h"
#include "sigsafe/lock_holder.h"
#include "sigsafe/thread.h"

static int locks[64];

static struct cp_thread *new_thread(void)
{
	struct cp_thread *t = cp_thread_claim();

	cp_capture_settings.max_depth = 16;
	cp_thread_enter(t);
	return t;
}

/* As a thread that unlocks LOCK at NOW does; a stack of one frame. */
static struct cp_holder *unlock(struct cp_thread *t, const void *lock, uint64_t now,
				uint64_t weight)
{
	struct cp_holder *h = cp_holder_open(t, lock, now, weight);

	if (!h)
		return NULL;
	h->record->depth = 1;
	h->record->pcs[0] = now;
	cp_holder_close(h, true);
	return h;
}

static void end(struct cp_thread *t)
{
	struct cp_holder *h;

	while ((h = cp_holder_take_own(t, true)))
		cp_holder_free(h);
	cp_holder_thread_end(t);
	cp_thread_free(t);
}

static void test_holder_gets_the_delay(void)
{
	struct cp_thread *t = new_thread();
	struct cp_holder *h = unlock(t, locks, 100, 3);

	CHECK(cp_holder_take_own(t, true) == NULL);
	cp_holder_deliver(locks, 50, 70, false);
	CHECK(cp_holder_take_own(t, true) == h);
	CHECK_EQ(h->record->mode, CP_MODE_HOLDERS);
	CHECK_EQ(h->record->count, 3);
	CHECK_EQ(h->record->weight, 210);
	CHECK_EQ(h->record->tag, (uintptr_t)locks);
	CHECK_EQ(h->record->pcs[0], 100);
	cp_holder_free(h);
	CHECK(cp_holder_take_own(t, true) == NULL);
	end(t);
}

static void test_holder_of_a_mutex_has_one_waiter(void)
{
	struct cp_thread *t = new_thread();
	struct cp_holder *h = unlock(t, locks, 100, 1);

	cp_holder_deliver(locks, 50, 70, false);
	cp_holder_deliver(locks, 50, 70, false);
	CHECK(cp_holder_take_own(t, true) == h);
	CHECK_EQ(h->record->count, 1);
	cp_holder_free(h);
	end(t);
}

static void test_holder_of_a_read_write_lock_has_many(void)
{
	struct cp_thread *t = new_thread();
	struct cp_holder *h = unlock(t, locks, 100, 1);

	cp_holder_deliver(locks, 50, 70, true);
	cp_holder_deliver(locks, 60, 60, true);
	CHECK(cp_holder_take_own(t, true) == h);
	CHECK_EQ(h->record->count, 2);
	CHECK_EQ(h->record->weight, 130);
	cp_holder_free(h);
	end(t);
}

static void test_unlock_before_the_wait_did_not_end_it(void)
{
	struct cp_thread *t = new_thread();

	unlock(t, locks, 100, 1);
	cp_holder_deliver(locks, 101, 70, false);
	CHECK(cp_holder_take_own(t, true) == NULL);
	end(t);
}

static void test_other_locks_are_not_meant(void)
{
	struct cp_thread *t = new_thread();

	unlock(t, &locks[0], 100, 1);
	for (int i = 1; i < 64; i++)
		cp_holder_deliver(&locks[i], 50, 70, false);
	CHECK(cp_holder_take_own(t, true) == NULL);
	end(t);
}

static void test_newest_unlock_counts_also_when_it_has_no_entry(void)
{
	struct cp_thread *t = new_thread(), *u = new_thread();
	struct cp_holder *h;

	unlock(t, locks, 100, 1);
	h = unlock(u, locks, 110, 1);
	cp_holder_deliver(locks, 50, 70, false);
	CHECK(cp_holder_take_own(t, true) == NULL);
	CHECK(cp_holder_take_own(u, true) == h);
	cp_holder_free(h);
	unlock(t, locks, 120, 1);
	cp_holder_hide(locks);
	cp_holder_deliver(locks, 50, 70, false);
	CHECK(cp_holder_take_own(t, true) == NULL);
	end(t);
	end(u);
}

static void test_waiter_may_come_before_the_stack(void)
{
	struct cp_thread *t = new_thread();
	struct cp_holder *h = cp_holder_open(t, locks, 100, 1);

	cp_holder_deliver(locks, 50, 70, false);
	CHECK(cp_holder_take_own(t, true) == NULL);
	h->record->depth = 1;
	cp_holder_close(h, true);
	CHECK(cp_holder_take_own(t, true) == h);
	CHECK_EQ(h->record->weight, 70);
	cp_holder_free(h);
	end(t);
}

static void test_failed_unlock_has_no_entry(void)
{
	struct cp_thread *t = new_thread();

	cp_holder_close(cp_holder_open(t, locks, 100, 1), false);
	cp_holder_deliver(locks, 50, 70, false);
	CHECK(cp_holder_take_own(t, true) == NULL);
	end(t);
}

static void test_places_that_nobody_came_for_are_used_again(void)
{
	struct cp_thread *t = new_thread();
	struct cp_holder *h;

	for (uint64_t i = 1; i < 1000; i++)
		CHECK(unlock(t, locks, i, 1) != NULL);
	/* Only the newest can still be meant. */
	cp_holder_deliver(locks, 1, 5, false);
	h = cp_holder_take_own(t, true);
	CHECK(h && h->record->pcs[0] == 999);
	cp_holder_free(h);
	end(t);
}

static void test_full_places_are_not_overwritten(void)
{
	struct cp_thread *t = new_thread();
	struct cp_holder *h;
	unsigned n = 0;

	for (uint64_t i = 0; i < 20; i++) {
		unlock(t, &locks[i], 100 + i, 1);
		cp_holder_deliver(&locks[i], 50, 70, false);
	}
	while ((h = cp_holder_take_own(t, true))) {
		/* Of the first eight, with the delay that was delivered. */
		CHECK(h->record->tag >= (uintptr_t)&locks[0] &&
		      h->record->tag < (uintptr_t)&locks[8]);
		CHECK_EQ(h->record->weight, 70);
		cp_holder_free(h);
		n++;
	}
	CHECK_EQ(n, 8);
	end(t);
}

static void test_collector_takes_those_of_all_threads(void)
{
	struct cp_thread *t = new_thread(), *u = new_thread();
	struct cp_holder *h;
	uint32_t next = 0;
	unsigned n = 0;

	unlock(t, &locks[0], 100, 1);
	unlock(u, &locks[1], 100, 1);
	unlock(u, &locks[2], 100, 1);
	cp_holder_deliver(&locks[0], 50, 70, false);
	cp_holder_deliver(&locks[1], 50, 70, false);
	while ((h = cp_holder_take_any(&next))) {
		CHECK_EQ(h->thread, n == 0 ? t->index : u->index);
		CHECK_EQ(h->record->tag, (uintptr_t)&locks[n]);
		cp_holder_free(h);
		n++;
	}
	CHECK_EQ(n, 2);
	end(t);
	end(u);
}

static void test_ended_threads_entries_go_to_the_next(void)
{
	struct cp_thread *t = new_thread();
	struct cp_holder *h = unlock(t, locks, 100, 1), *again;

	end(t);
	cp_holder_deliver(locks, 50, 70, false);
	t = new_thread();
	again = unlock(t, locks, 100, 1);
	CHECK(again >= h && again < h + 8);
	CHECK(cp_holder_take_own(t, true) == NULL);
	end(t);
}

/* One holder unlocks, two waiters deliver, a collector takes: every delay arrives once or not at
 * all, in an entry of its own lock. */
#define TURNS 200000u

static uint32_t stop;
static uint64_t delivered[2], arrived[2], mixed;

static void sum(struct cp_holder *h)
{
	uint64_t which = (uint64_t)((const int *)h->lock - locks);

	if (which > 1 || h->record->weight != h->record->count * (which + 1))
		cp_add_relaxed(&mixed, 1);
	else
		cp_add_relaxed(&arrived[which], h->record->weight);
	cp_holder_free(h);
}

static void *deliver(void *arg)
{
	uint64_t which = (uint64_t)(uintptr_t)arg;

	while (!cp_load_relaxed(&stop)) {
		cp_holder_deliver(&locks[which], 0, which + 1, true);
		delivered[which] += which + 1;
	}
	return NULL;
}

static void *collect(void *arg)
{
	struct cp_holder *h;

	while (!cp_load_relaxed(&stop)) {
		uint32_t next = 0;

		while ((h = cp_holder_take_any(&next)))
			sum(h);
	}
	return arg;
}

static void test_entries_survive_a_storm(void)
{
	struct cp_thread *t = new_thread();
	struct cp_holder *h;
	pthread_t threads[3];
	unsigned opened = 0;

	pthread_create(&threads[0], NULL, deliver, (void *)0);
	pthread_create(&threads[1], NULL, deliver, (void *)1);
	pthread_create(&threads[2], NULL, collect, NULL);
	for (unsigned i = 0; i < TURNS; i++) {
		opened += unlock(t, &locks[i & 1], 1, 1) != NULL;
		while ((h = cp_holder_take_own(t, false)))
			sum(h);
	}
	cp_store_relaxed(&stop, 1);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	while ((h = cp_holder_take_own(t, true)))
		sum(h);
	CHECK_EQ(mixed, 0);
	CHECK(opened > TURNS / 2);
	CHECK(arrived[0] > 0 && arrived[0] <= delivered[0]);
	CHECK(arrived[1] > 0 && arrived[1] <= delivered[1]);
	end(t);
}

int main(void)
{
	RUN(test_holder_gets_the_delay);
	RUN(test_holder_of_a_mutex_has_one_waiter);
	RUN(test_holder_of_a_read_write_lock_has_many);
	RUN(test_unlock_before_the_wait_did_not_end_it);
	RUN(test_other_locks_are_not_meant);
	RUN(test_newest_unlock_counts_also_when_it_has_no_entry);
	RUN(test_waiter_may_come_before_the_stack);
	RUN(test_failed_unlock_has_no_entry);
	RUN(test_places_that_nobody_came_for_are_used_again);
	RUN(test_full_places_are_not_overwritten);
	RUN(test_collector_takes_those_of_all_threads);
	RUN(test_ended_threads_entries_go_to_the_next);
	RUN(test_entries_survive_a_storm);
	return harness_end();
}
