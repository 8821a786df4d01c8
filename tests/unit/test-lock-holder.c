/* SPDX-License-Identifier: BSD-3-Clause */
/* Unlocks that let waiters go: each gets the parts of the waits that it caused, and no other. */
#include "harness.h"

#include "lock-fixture.h"

static int locks[64];

/* T waits for LOCK from now on, and is sampled surely. */
static struct cp_lock_note wait_surely(struct cp_thread *t, const void *lock)
{
	struct cp_lock_note n;

	cp_lock_holder_note(&n, t, lock, cp_lock_event_begin(), 0);
	return n;
}

/* T unlocks LOCK at AT; its frame is AT. Returns its entry, or NULL. */
static struct cp_holder *unlock(struct cp_thread *t, const void *lock, uint64_t at)
{
	struct cp_holder *h;
	uint64_t credit = 0;

	now = at;
	if (!cp_lock_holder_open(t, &credit, lock, &h))
		return NULL;
	CHECK(h != NULL);
	if (!h)
		return NULL;
	cp_lock_holder_record(h)->depth = 1;
	cp_lock_holder_record(h)->pcs[0] = at;
	cp_lock_holder_close(h, true);
	cp_lock_holder_make_room(t, lock);
	return h;
}

static struct cp_lock_waited waited(const void *lock, uint64_t began, uint64_t ended)
{
	return (struct cp_lock_waited){
		.lock = lock, .began = began, .ended = ended, .got = true, .weight = 1
	};
}

/* Take out all that was added. The one entry is to be that of the unlock AT, with DELAY. */
static void check(uint64_t at, uint64_t delay)
{
	struct cp_holder *h;
	struct cp_event e;
	uint32_t next = 0;
	bool seen = false;

	while ((h = cp_lock_holder_read(&next, &e))) {
		if (cp_lock_holder_record(h)->pcs[0] == at) {
			CHECK(e.weight >= delay && e.weight <= delay + 2);
			CHECK(!seen);
			seen = true;
		}
		CHECK_EQ(e.mode, CPROF_LOCK_HOLDERS);
		cp_lock_holder_give_back(h);
	}
	CHECK_EQ(seen, delay != 0);
}

/* What the unlock AT has caused, which stays there. */
static uint64_t caused(const struct cp_holder *h)
{
	return h->delay;
}

TEST(test_holders_share_a_wait_by_time)
{
	struct cp_thread *t = begin();
	struct cp_lock_waited w = waited(&locks[1], 200, 1115);
	struct cp_holder *first, *second;

	wait_surely(t, &locks[1]);
	first = unlock(t, &locks[1], 1000);
	second = unlock(t, &locks[1], 1010);
	/* The short one has caused its own time, and the waiter's way to run. */
	CHECK(cp_lock_holder_divide(&w, 1) < 1e-9);
	CHECK(caused(first) >= 800 && caused(first) <= 802);
	CHECK(caused(second) >= 115 && caused(second) <= 117);
	CHECK_EQ(w.ender, cp_thread_who(t));
	CHECK(first->waits + second->waits >= CP_LOCK_HOLDER_WAIT - 2);
	CHECK(first->waits + second->waits <= CP_LOCK_HOLDER_WAIT + 2);
	/* The lock was given up once more, without an entry. */
	w.ender = 0;
	w.ended += 20000000;
	cp_lock_holder_divide(&w, 1);
	CHECK_EQ(w.ender, 0);
	end(t);
}

static uint32_t waiting;

/* Waits are added without a break, each of which represents itself alone. */
static void *add_waits(void *arg)
{
	while (cp_load_relaxed(&waiting)) {
		struct cp_lock_waited w = waited(arg, 200, 1000);

		cp_lock_holder_divide(&w, 1);
	}
	return NULL;
}

/* A reader that takes out waits meanwhile gets them as the unlock's own, not to be spread over
 * others. */
TEST(test_waits_that_are_added_meanwhile_are_the_unlocks_own)
{
	struct cp_thread *t = begin();
	struct cp_holder *h;
	struct cp_event e;
	unsigned taken = 0;
	pthread_t adder;

	wait_surely(t, &locks[2]);
	CHECK(unlock(t, &locks[2], 1000) != NULL);
	waiting = 1;
	CHECK_EQ(pthread_create(&adder, NULL, add_waits, &locks[2]), 0);
	while (taken < 20000) {
		for (uint32_t next = 0; (h = cp_lock_holder_read(&next, &e)); taken++) {
			CHECK(cp_lock_holder_own(e.count) > 0.9);
			cp_lock_holder_give_back(h);
		}
	}
	cp_store_relaxed(&waiting, 0);
	pthread_join(adder, NULL);
	end(t);
}

TEST(test_a_point_has_the_unlock_after_it)
{
	struct cp_thread *t = begin();
	struct cp_lock_waited w = waited(&locks[9], 200, 1115);
	const uint64_t points[] = { 205, 1005, 1100, 999 };
	struct cp_holder *first, *second;

	wait_surely(t, &locks[9]);
	first = unlock(t, &locks[9], 1000);
	second = unlock(t, &locks[9], 1010);
	w.points = points;
	for (w.count = 1; w.count <= 4; w.count++) {
		unsigned of_first = w.count == 4 ? 2 : 1;

		first->delay = second->delay = 0;
		CHECK(cp_lock_holder_divide(&w, 1) < 1e-9);
		CHECK(caused(first) >= 915 * of_first / w.count &&
		      caused(first) <= 915 * of_first / w.count + 2);
		CHECK(w.count == 1 ? !caused(second)
				   : caused(first) + caused(second) >= 915 &&
					     caused(first) + caused(second) <= 919);
	}
	end(t);
}

/* Unlocks before the wait, after it, of another lock, of no lock. */
TEST(test_other_unlocks_have_no_part)
{
	struct cp_thread *t = begin();
	struct cp_lock_waited w = waited(&locks[2], 500, 600);
	struct cp_holder *h;
	uint64_t credit = 0;

	wait_surely(t, &locks[2]);
	wait_surely(t, &locks[3]);
	unlock(t, &locks[2], 400);
	unlock(t, &locks[3], 550);
	unlock(t, &locks[2], 580);
	unlock(t, &locks[2], 700);
	now = 590;
	CHECK(cp_lock_holder_open(t, &credit, &locks[2], &h));
	cp_lock_holder_close(h, false);
	CHECK(cp_lock_holder_divide(&w, 1) < 1e-9);
	check(580, 100);
	end(t);
}

/* A wait that was given up: who has the lock hasn't unlocked it. */
TEST(test_the_holder_of_a_wait_that_failed_is_unknown)
{
	struct cp_thread *t = begin();
	struct cp_lock_waited w = waited(&locks[10], 500, 600);
	double left;

	wait_surely(t, &locks[10]);
	unlock(t, &locks[10], 550);
	w.got = false;
	left = cp_lock_holder_divide(&w, 1);
	CHECK(left > 0.499 && left < 0.501);
	check(550, 50);
	w = waited(&locks[10], 700, 800);
	w.got = false;
	CHECK(cp_lock_holder_divide(&w, 1) == 1);
	end(t);
}

/* The last unlock needed no entry: an earlier one by another thread stands for it. */
TEST(test_the_last_unlock_before_stands_for_one_without_an_entry)
{
	struct cp_thread *t = begin();
	struct cp_lock_waited w = waited(&locks[11], now + 500, now + 600);

	wait_surely(t, &locks[11]);
	unlock(t, &locks[11], w.began - 10);
	CHECK(cp_lock_holder_divide(&w, cp_thread_who(t)) == 1);
	CHECK(cp_lock_holder_divide(&w, 1) == 0);
	CHECK_EQ(w.ender, 0);
	check(w.began - 10, 100);
	w.began += 1000000000;
	w.ended += 1000000000;
	CHECK(cp_lock_holder_divide(&w, 1) == 1);
	end(t);
}

/* Take out all that was added. Returns the sum of the unlocks at odd times. */
static uint64_t caused_at_odd_times(uint64_t *all)
{
	uint64_t odd = 0;
	struct cp_holder *h;
	struct cp_event e;
	uint32_t next = 0;

	while ((h = cp_lock_holder_read(&next, &e))) {
		odd += cp_lock_holder_record(h)->pcs[0] % 2 ? e.weight : 0;
		*all += e.weight;
		cp_lock_holder_give_back(h);
	}
	return odd;
}

/* More unlocks than there are entries, each of which ends a wait, too. */
TEST(test_short_holds_do_not_displace_a_long_one)
{
	struct cp_thread *t = begin();
	struct cp_lock_waited w = waited(&locks[12], 1000, 40000001), all;
	struct cp_holder *first;

	wait_surely(t, &locks[12]);
	first = unlock(t, &locks[12], w.ended);
	CHECK(cp_lock_holder_divide(&w, 1) == 0);
	CHECK(caused(first) >= 39999001 && caused(first) <= 39999003);
	all = waited(&locks[12], 1000, w.ended + 500 * 2000);
	for (unsigned i = 1; i <= 500; i++) {
		w = waited(&locks[12], w.ended, w.ended + 2000);
		unlock(t, &locks[12], w.ended);
		CHECK(cp_lock_holder_divide(&w, 1) < 1e-9);
	}
	caused_at_odd_times(&(uint64_t){ 0 });
	CHECK(cp_lock_holder_divide(&all, 1) < 1e-9);
	CHECK(caused(first) >= 39999001 && caused(first) <= 39999003 + 2000);
	end(t);
}

/* Holds of 3 us and of 1 us in turns: the unlocks that have an entry stand for all. */
TEST(test_unlocks_stand_for_others_in_proportion)
{
	struct cp_thread *t = begin();
	uint64_t odd = 0, all = 0;

	wait_surely(t, &locks[13]);
	for (unsigned round = 1; round <= 50; round++) {
		struct cp_lock_waited w =
			waited(&locks[13], round * 1000000, round * 1000000 + 400 * 1000);

		for (uint64_t at = w.began; at < w.ended; at += 4000) {
			unlock(t, &locks[13], at + 3001);
			unlock(t, &locks[13], at + 4000);
		}
		CHECK(cp_lock_holder_divide(&w, 1) < 1e-9);
		odd += caused_at_odd_times(&all);
		cp_lock_holder_forget();
	}
	CHECK(all >= UINT64_C(50) * 400000);
	CHECK(odd > all / 100 * 71 && odd < all / 100 * 79);
	end(t);
}

#define RATE 1000 /* ticks of a microsecond */

/* Only when the moment has come from which on the wait is sampled, or comes soon. */
TEST(test_unlocks_are_recorded_when_a_wait_is_sampled)
{
	struct cp_thread *t = begin();
	struct cp_lock_note n;

	CHECK(!unlock(t, &locks[4], 100));
	cp_lock_clock_set_rough((UINT64_C(1) << 32) / RATE * 1000);
	cp_lock_holder_note(&n, t, &locks[4], cp_lock_event_begin(), 1000000 * US);
	CHECK(n.slot != NULL);
	CHECK(!unlock(t, &locks[4], 100));
	cp_lock_holder_unnote(&n);
	cp_lock_holder_note(&n, t, &locks[4], cp_lock_event_begin(), 0);
	CHECK(unlock(t, &locks[4], 100) != NULL);
	CHECK(!unlock(t, &locks[5], 100));
	cp_lock_holder_unnote(&n);
	CHECK(!unlock(t, &locks[4], 100));
	cp_lock_clock_set_rough(0);
	end(t);
}

/* Without the right to more stacks, the first unlock of each wait is recorded, but no second. */
TEST(test_stacks_keep_to_a_rate)
{
	struct cp_thread *t = begin();
	unsigned recorded = 0;
	uint64_t credit = 0;

	cp_lock_holder_pace = 1000000;
	for (unsigned i = 0; i < 2000; i++) {
		struct cp_holder *h;

		wait_surely(t, &locks[6]);
		recorded += cp_lock_holder_open(t, &credit, &locks[6], &h);
		if (h)
			cp_lock_holder_close(h, true);
	}
	CHECK(recorded > 400 && recorded < 600);
	end(t);
}

/* What was added to an entry goes into the ring before another unlock uses it. */
TEST(test_nothing_that_was_added_is_lost)
{
	struct cp_thread *t = begin();
	uint64_t added = 0, sum = 0;
	struct cp_record *record;
	struct cp_holder *h;
	struct cp_event e;
	uint32_t next = 0;

	wait_surely(t, &locks[7]);
	for (unsigned i = 1; i <= 500; i++) {
		struct cp_lock_waited w = waited(&locks[7], i * 1000 - 500, i * 1000 + 50);

		unlock(t, &locks[7], i * 1000);
		CHECK(cp_lock_holder_divide(&w, 1) == 0);
		added += w.ended - w.began;
		if (t->hook_ring)
			cp_ring_mark(t->hook_ring);
		while (t->hook_ring && (record = cp_ring_next_marked(t->hook_ring))) {
			CHECK_EQ(record->pcs[0] % 1000, 0);
			sum += record->weight;
			cp_ring_release(t->hook_ring, record);
		}
	}
	while ((h = cp_lock_holder_read(&next, &e))) {
		sum += e.weight;
		cp_lock_holder_give_back(h);
	}
	CHECK(sum >= added && sum <= added + 500);
	end(t);
}
