/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits and the wakes that end them, with a clock and stacks of the test's own. */
#include "chance.h"
#include "harness.h"

#include "sample/sample.h"
#include "sample/thread.h"
#include "sample/wakes.h"

#define US UINT64_C(1000)
#define MS (1000 * US)
#define LIBC ((const void *)0x11c)
#define WAITER 0x7a1
enum { A = 0xa, B = 0xb, C = 0xc };

static uint64_t clock_ns = 1000 * MS;
static uint64_t caller; /* the innermost frame of the next stack, after libc's function */
static struct cp_thread *threads[3];

static int read_clock(clockid_t id, struct timespec *t)
{
	(void)id;
	t->tv_sec = (time_t)(clock_ns / 1000000000);
	t->tv_nsec = (long)(clock_ns % 1000000000);
	return 0;
}

static unsigned walk(const struct cp_unwind_input *in, uint64_t *pcs, unsigned max,
		     enum cp_unwind_end *end)
{
	(void)in;
	(void)max;
	pcs[0] = 1;
	pcs[1] = caller;
	*end = CP_UNWIND_COMPLETE;
	return 2;
}

static void wake(void)
{
}

static void begin(unsigned budget)
{
	static const struct cp_unwinder unwinder = { .walk = walk };

	cp_capture_settings.unwinder = &unwinder;
	cp_capture_settings.max_depth = 64;
	cp_capture_settings.wake = wake;
	cp_lock_clock.read = read_clock;
	cp_wakes_settings[0] = (struct cp_wakes_settings){ .threshold_ns = US,
							   .since = clock_ns,
							   .budget = budget };
	cp_wakes_on = CP_WAKES_OF_LOCK;
	for (unsigned i = 0; i < 3; i++) {
		if (!threads[i])
			threads[i] = cp_thread_claim();
		cp_thread_enter(threads[i]);
	}
}

static void wait_begins(struct cp_wakes_wait *w, unsigned thread, uint64_t key)
{
	const struct cp_lock_moment now = { .ns = clock_ns };

	cp_wakes_begin(w, threads[thread], CP_WAKES_OF_LOCK, key, now);
}

static void wait_ends(const struct cp_wakes_wait *w, enum cp_wakes_how how)
{
	caller = WAITER;
	cp_wakes_end(w, CP_WAKES_OF_LOCK, how, w->key, LIBC);
}

static void wake_by(uint64_t who, uint64_t key, uint32_t most)
{
	const struct cp_wakes_wake w = {
		.key = key, .most = most, .of = CP_WAKES_OF_LOCK, .function = LIBC
	};

	caller = who;
	if (cp_wakes_awaited(key))
		cp_wakes_wake(threads[0], &w);
}

/* The next sample of THREAD: who woke it, or the mark that says why that isn't known. 0: none. */
static uint64_t next(unsigned thread, uint64_t *count, uint64_t *weight)
{
	struct cp_ring *ring = threads[thread]->hook_ring;
	struct cp_record *r = ring ? cp_ring_next(ring) : NULL;
	uint64_t who;
	unsigned at;

	if (!r)
		return 0;
	who = r->pcs[0] & CP_PC_SPECIAL ? r->pcs[0] : r->pcs[1];
	at = r->pcs[0] & CP_PC_SPECIAL ? 1 : 3;
	if (at == 3) {
		CHECK_EQ(r->pcs[0], (uintptr_t)LIBC);
		CHECK_EQ(r->pcs[2], CP_PC_WOKEN);
	}
	CHECK_EQ(r->depth, at + 2);
	CHECK_EQ(r->pcs[at], (uintptr_t)LIBC);
	CHECK_EQ(r->pcs[at + 1], WAITER);
	CHECK_EQ(r->mode, CPROF_LOCK_WAKERS);
	if (count)
		*count = r->count;
	if (weight)
		*weight = r->weight;
	cp_ring_release(ring, r);
	return who;
}

static void check_next(unsigned thread, uint64_t who)
{
	CHECK_EQ(next(thread, NULL, NULL), who);
}

TEST(test_a_wait_has_its_waker)
{
	struct cp_wakes_wait w;
	uint64_t count = 0, weight = 0;

	begin(1000000);
	CHECK(!cp_wakes_awaited(64));
	wait_begins(&w, 1, 64);
	CHECK(cp_wakes_awaited(64));
	clock_ns += MS;
	wake_by(A, 64, 1);
	clock_ns += 50 * US;
	wait_ends(&w, CP_WAKES_WOKEN);
	CHECK(!cp_wakes_awaited(64));
	CHECK_EQ(next(1, &count, &weight), A);
	CHECK_EQ(count, 1);
	CHECK_EQ(weight, MS + 50 * US);
	check_next(1, 0);
}

TEST(test_what_did_not_wake_it_is_not_its_waker)
{
	struct cp_wakes_wait w;

	begin(1000000);
	/* A wake before the wait, of another key, and after the time. */
	wait_begins(&w, 1, 128);
	clock_ns += MS;
	wake_by(A, 128, 1);
	wait_ends(&w, CP_WAKES_WOKEN);
	check_next(1, A);
	clock_ns += MS;
	wait_begins(&w, 1, 128);
	clock_ns += MS;
	wake_by(B, 192, 1);
	wait_ends(&w, CP_WAKES_WOKEN);
	check_next(1, CP_PC_WAKER_UNKNOWN);
	wait_begins(&w, 1, 128);
	clock_ns += MS;
	wake_by(C, 128, 1);
	wait_ends(&w, CP_WAKES_TIMED_OUT);
	check_next(1, CP_PC_TIMED_OUT);
	clock_ns += MS;
	wait_begins(&w, 1, 128);
	clock_ns += MS;
	wait_ends(&w, CP_WAKES_INTERRUPTED);
	check_next(1, CP_PC_INTERRUPTED);
}

TEST(test_a_wake_before_the_wait_is_not_its_waker)
{
	struct cp_wakes_wait w[2];

	begin(1000000);
	wait_begins(&w[0], 0, 704);
	clock_ns += MS;
	wake_by(A, 704, 1);
	clock_ns += MS;
	wait_begins(&w[1], 1, 704);
	clock_ns += MS;
	wake_by(B, 704, 1);
	wait_ends(&w[1], CP_WAKES_WOKEN);
	check_next(1, B);
	wait_ends(&w[0], CP_WAKES_WOKEN);
	check_next(0, A);
}

TEST(test_waits_take_wakes_in_their_order)
{
	struct cp_wakes_wait w[3];

	begin(1000000);
	for (unsigned i = 0; i < 3; i++)
		wait_begins(&w[i], i, 256);
	clock_ns += MS;
	wake_by(A, 256, 1);
	clock_ns += MS;
	wake_by(B, 256, 2);
	clock_ns += MS;
	for (unsigned i = 0; i < 3; i++)
		wait_ends(&w[i], CP_WAKES_WOKEN);
	check_next(0, A);
	check_next(1, B);
	check_next(2, B);
}

TEST(test_a_wait_that_is_no_sample_takes_its_wake_too)
{
	struct cp_wakes_wait w[2];

	begin(1000000);
	for (unsigned i = 0; i < 2; i++)
		wait_begins(&w[i], i, 320);
	w[0].weight = 0;
	clock_ns += MS;
	wake_by(A, 320, 1);
	clock_ns += MS;
	wake_by(B, 320, 1);
	for (unsigned i = 0; i < 2; i++)
		wait_ends(&w[i], CP_WAKES_WOKEN);
	check_next(0, 0);
	check_next(1, B);
}

TEST(test_a_broadcast_wakes_all_and_a_barrier_by_its_last)
{
	struct cp_wakes_wait w[3];

	begin(1000000);
	for (unsigned i = 0; i < 3; i++)
		wait_begins(&w[i], i, 384);
	clock_ns += MS;
	wake_by(A, 384, CP_WAKES_ALL);
	clock_ns += MS;
	wake_by(B, 384, CP_WAKES_ALL);
	wait_ends(&w[0], CP_WAKES_WOKEN);
	wait_ends(&w[1], CP_WAKES_WOKEN);
	wait_ends(&w[2], CP_WAKES_WOKEN_LAST);
	check_next(0, A);
	check_next(1, A);
	check_next(2, B);
}

TEST(test_a_wait_that_was_left_is_closed)
{
	struct cp_wakes_wait left, w;

	begin(1000000);
	wait_begins(&left, 1, 448);
	wait_begins(&w, 1, 512);
	CHECK(!cp_wakes_awaited(448));
	CHECK(cp_wakes_awaited(512));
	cp_waiters_close(threads[1]);
	CHECK(!cp_wakes_awaited(512));
	/* As a wait does that a handler interrupted with a wait of its own. */
	cp_wakes_cancel(&w);
	CHECK(!cp_wakes_awaited(512));
	wait_begins(&left, 1, 448);
	wait_begins(&w, 2, 448);
	cp_wakes_fork_child(threads[1]);
	CHECK(!cp_wakes_awaited(448));
	cp_wakes_cancel(&left);
	CHECK(!cp_wakes_awaited(448));
	threads[2]->paused = 0;
	cp_waiters_close(threads[2]);
	CHECK(!cp_wakes_awaited(448));
}

/* 200 s of waits, a thousand a second, of which some hundred are samples: the standard deviation of
 * a sum is about 1 %. */
TEST(test_sampled_sums_are_the_true_ones)
{
	uint64_t truth[2] = { 0 }, waits[2] = { 0 }, sum[2] = { 0 }, counts[2] = { 0 }, samples = 0;

	begin(100);
	for (unsigned i = 0; i < 200000; i++) {
		unsigned by = draw_below(10) >= 7;
		uint64_t length = draw_below(100) ? 10 * US + draw_below(2000) * US
						  : CP_WAKES_LONG_NS + draw_below(10) * MS;
		uint64_t before = draw_below(length / 2), count, weight, who;
		struct cp_wakes_wait w;

		wait_begins(&w, 1, 576);
		clock_ns += length - before;
		wake_by(by ? B : A, 576, 1);
		clock_ns += before;
		wait_ends(&w, CP_WAKES_WOKEN);
		truth[by] += length;
		waits[by]++;
		who = next(1, &count, &weight);
		if (!who)
			continue;
		samples++;
		if (who == CP_PC_WAKER_UNKNOWN)
			continue;
		CHECK_EQ(who, by ? B : A);
		sum[by] += weight;
		counts[by] += count;
	}
	CHECK(samples > 5000 && samples < 60000);
	for (unsigned by = 0; by < 2; by++) {
		CHECK(sum[by] > truth[by] / 100 * 94 && sum[by] < truth[by] / 100 * 106);
		CHECK(counts[by] > waits[by] / 100 * 94 && counts[by] < waits[by] / 100 * 106);
	}
}
