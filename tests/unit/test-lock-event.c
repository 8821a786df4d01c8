/* Which waits are followed: while one is, unlocks record who held the lock, and what they caused
 * counts for all waits that this one stands for. */
#include "harness.h"

#include <stdint.h>

#include "sigsafe/atomic.h"
#include "sigsafe/capture.h"
#include "sigsafe/lock_event.h"
#include "sigsafe/lock_holder.h"
#include "sigsafe/thread.h"
#include "sigsafe/unwind.h"

#define US UINT64_C(1000)
#define HOLDER CP_LOCK_HAS_HOLDER

static uint64_t now_ns = 1000000 * US;

/* A clock that goes by hand. */
static int read_clock(clockid_t clock, struct timespec *t)
{
	(void)clock;
	t->tv_sec = (time_t)(now_ns / 1000000000);
	t->tv_nsec = (long)(now_ns % 1000000000);
	return 0;
}

static struct cp_thread *meet_nobody(void)
{
	return NULL;
}

static unsigned walk_nowhere(const struct cp_unwind_input *in, uint64_t *pcs, unsigned max,
			     enum cp_unwind_end *end)
{
	(void)max;
	*pcs = in->regs.r[CP_REG_PC];
	*end = CP_UNWIND_COMPLETE;
	return 1;
}

static void wake_nobody(void)
{
}

static struct cp_thread *begin(unsigned budget)
{
	static const struct cp_unwinder unwinder = { .name = "test", .walk = walk_nowhere };
	struct cp_thread *t = cp_thread_claim();

	cp_capture_settings.unwinder = &unwinder;
	cp_capture_settings.wake = wake_nobody;
	cp_capture_settings.max_depth = 16;
	cp_thread_enter(t);
	t->waits.random = 3;
	cp_lock_state = (struct cp_lock_state){ .threshold_ns = US,
						.stratum_ns = cp_lock_stratum(budget),
						.clock = read_clock,
						.meet = meet_nobody };
	cp_store_relaxed(&cp_lock_on, 1);
	cp_store_relaxed(&cp_lock_holders_on, 1);
	return t;
}

static void end(struct cp_thread *t)
{
	cp_store_relaxed(&cp_lock_on, 0);
	cp_store_relaxed(&cp_lock_holders_on, 0);
	cp_self.thread = NULL;
	cp_thread_free(t);
}

/* A wait of NS for LOCK. Returns how many it stands for. */
static uint32_t wait_for(const void *lock, uint64_t ns, unsigned flags)
{
	struct cp_lock_wait w;
	uint32_t followed;

	cp_lock_wait_begin(&w, lock, flags);
	followed = w.followed;
	CHECK_EQ(cp_holder_is_followed(lock), followed != 0);
	now_ns += ns;
	cp_lock_waited(&w, lock, (const void *)wait_for, flags);
	CHECK(!cp_holder_is_followed(lock));
	return followed;
}

static void test_unlocks_are_recorded_while_a_wait_is_followed(void)
{
	struct cp_thread *t = begin(1000);
	struct cp_lock_wait a, b;
	static int lock, other;

	CHECK(!cp_holder_is_followed(&lock));
	cp_lock_wait_begin(&a, &lock, HOLDER);
	cp_lock_wait_begin(&b, &lock, HOLDER);
	CHECK(a.followed && b.followed);
	CHECK(cp_holder_is_followed(&lock));
	cp_lock_waited(&a, &lock, (const void *)begin, HOLDER);
	CHECK(cp_holder_is_followed(&lock));
	/* It turned out to be none. */
	cp_lock_not_waited(&b, &lock);
	CHECK(!cp_holder_is_followed(&lock));
	/* Nobody holds a condition; and nobody asks for holders. */
	CHECK_EQ(wait_for(&other, 5 * US, 0), 0);
	cp_store_relaxed(&cp_lock_holders_on, 0);
	CHECK_EQ(wait_for(&other, 5 * US, HOLDER), 0);
	end(t);
}

static void test_a_timeout_is_followed_no_longer(void)
{
	struct cp_thread *t = begin(1000);
	struct cp_lock_wait w;
	static int lock;

	cp_lock_wait_begin(&w, &lock, HOLDER);
	CHECK(cp_holder_is_followed(&lock));
	now_ns += 5 * US;
	cp_lock_waited(&w, &lock, (const void *)begin, 0);
	CHECK(!cp_holder_is_followed(&lock));
	end(t);
}

static void test_rare_waits_are_all_followed(void)
{
	struct cp_thread *t = begin(1000);
	static int lock;

	for (int i = 0; i < 1000; i++) {
		CHECK_EQ(wait_for(&lock, 5 * US, HOLDER), 1);
		now_ns += 5000 * US;
	}
	end(t);
}

/* A million waits of which each tenth is longer than the threshold: followed ones stand for all. */
static void test_of_frequent_waits_some_stand_for_all(void)
{
	struct cp_thread *t = begin(1000);
	uint64_t all = 0, all_long = 0, followed = 0, longer = 0;
	static int lock;

	for (int i = 0; i < 1000000; i++) {
		bool is_long = i % 10 == 0;
		uint32_t n = wait_for(&lock, is_long ? 5 * US : US / 10, HOLDER);

		all += n;
		all_long += is_long ? n : 0;
		followed += n != 0;
		longer += n && is_long;
		now_ns += 5 * US;
	}
	CHECK(all > 970000 && all < 1030000);
	CHECK(all_long > 90000 && all_long < 110000);
	/* In 5.6 seconds, at half of the budget. */
	CHECK(longer > 2000 && longer < 6000);
	CHECK(followed < 60000);
	end(t);
}

/* Of an unlock in its midst. */
static void test_what_a_followed_wait_tells_counts_for_others(void)
{
	struct cp_thread *t = begin(1000);
	static int lock;
	struct cp_lock_wait w;
	struct cp_holder *h;
	uint32_t next;

	/* Strata grow by such. */
	for (int i = 0; i < 100000; i++)
		wait_for(&lock, 2 * US, HOLDER);
	cp_lock_wait_begin(&w, &lock, HOLDER);
	while (w.followed < 10) {
		cp_lock_not_waited(&w, &lock);
		cp_lock_wait_begin(&w, &lock, HOLDER);
	}
	now_ns += 3 * US;
	h = cp_holder_open(t, &lock, cp_holder_stamp(&lock, now_ns), now_ns, 7);
	CHECK(h);
	h->record->depth = 1;
	cp_holder_close(h, true);
	now_ns += US;
	cp_lock_waited(&w, &lock, (const void *)begin, HOLDER);
	next = h->number;
	CHECK(cp_holder_read(&next, next + 1) == h);
	CHECK_EQ(h->record->count, 7 * w.followed);
	CHECK_EQ(h->record->weight, 7 * w.followed * 4 * US);
	cp_holder_give_back(h);
	end(t);
}

int main(void)
{
	RUN(test_unlocks_are_recorded_while_a_wait_is_followed);
	RUN(test_a_timeout_is_followed_no_longer);
	RUN(test_rare_waits_are_all_followed);
	RUN(test_of_frequent_waits_some_stand_for_all);
	RUN(test_what_a_followed_wait_tells_counts_for_others);
	return harness_end();
}
