/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits and unlocks as the interposed functions tell of them. Time is the test's own. */
#include "harness.h"

#include "lock-fixture.h"

static int locks[2];
static const void *const function = (const void *)read_clock;

/* The calling thread has waited for LOCK for NS. */
static void wait_for(const void *lock, uint64_t ns, enum cp_lock_kind kind)
{
	struct cp_lock_wait w;

	cp_lock_event_begin_wait(&w, lock, kind);
	now += ns;
	cp_lock_event_waited(&w, function, true);
}

static void unlock(const void *lock, bool done)
{
	struct cp_lock_release r;

	cp_lock_event_release_begin(&r, lock);
	cp_lock_event_release_end(&r, function, done);
}

/* Counts what T's ring holds of MODE, and empties it. */
struct told {
	unsigned records;
	double waits;
	uint64_t delay, unknown;
};

static struct told take(struct cp_thread *t, enum cprof_mode mode)
{
	struct told told = { 0 };
	struct cp_record *record;

	if (t->hook_ring)
		cp_ring_mark(t->hook_ring);
	while (t->hook_ring && (record = cp_ring_next_marked(t->hook_ring))) {
		if (record->mode == mode) {
			told.records++;
			told.delay += record->weight;
			told.unknown += record->depth ? 0 : record->weight;
		}
		cp_ring_release(t->hook_ring, record);
	}
	return told;
}

/* By a thread that has a record, by one that waits by a futex, and by one that has ended. */
TEST(test_short_waits_are_all_counted)
{
	struct cp_thread *t = begin();
	struct cp_lock_sum before = cp_lock_event_counted(CP_LOCK_SHORT), after;
	struct cp_lock_sum held = cp_lock_event_counted(CP_LOCK_SHORT_HELD);

	cp_lock_state.threshold_ns = 10 * US;
	wait_for(&locks[0], US, CP_LOCK_MUTEX);
	wait_for(&locks[0], 2 * US, CP_LOCK_FUTEX);
	CHECK_EQ(cp_lock_part_of(t)->short_waits[1].count, 1);
	CHECK_EQ(cp_lock_part_of(t)->short_waits[1].delay, US);
	cp_self.thread = NULL;
	wait_for(&locks[0], 4 * US, CP_LOCK_COND);
	wait_for(&locks[0], 8 * US, CP_LOCK_MUTEX);
	cp_self.thread = t;
	after = cp_lock_event_counted(CP_LOCK_SHORT);
	CHECK_EQ(after.count - before.count, 2);
	CHECK_EQ(after.delay - before.delay, 6 * US);
	after = cp_lock_event_counted(CP_LOCK_SHORT_HELD);
	CHECK_EQ(after.count - held.count, 1);
	CHECK_EQ(take(t, CPROF_LOCK).records, 0);
	end(t);
}

/* Also those that are not sampled. */
TEST(test_waits_are_counted_by_kind)
{
	struct cp_thread *t = begin();
	const struct cp_lock_stratum *kinds = cp_lock_part_of(t)->kinds;
	unsigned records = 0;

	for (unsigned i = 0; i < 10000; i++) {
		wait_for(&locks[0], 20 * US, CP_LOCK_MUTEX);
		wait_for(&locks[1], 30 * US, CP_LOCK_SEM);
		records += take(t, CPROF_LOCK).records;
	}
	CHECK_EQ(kinds[CP_LOCK_MUTEX].count, 10000);
	CHECK_EQ(kinds[CP_LOCK_MUTEX].delay, 10000 * 20 * US);
	CHECK_EQ(kinds[CP_LOCK_SEM].count, 10000);
	CHECK_EQ(kinds[CP_LOCK_SEM].delay, 10000 * 30 * US);
	CHECK_EQ(kinds[CP_LOCK_COND].count, 0);
	CHECK(records > 200 && records < 2000);
	end(t);
}

static uint64_t counted_when_sampled;

static unsigned look_at_count(const struct cp_unwind_input *in, uint64_t *pcs, unsigned max,
			      enum cp_unwind_end *how)
{
	counted_when_sampled = cp_lock_part_of(cp_self.thread)->kinds[CP_LOCK_MUTEX].count;
	return one_frame(in, pcs, max, how);
}

/* A settle between the two would not know of what the wait was, and would never learn it: a sample
 * without its count waits for the next settle (strata.c), a count without its sample doesn't. */
TEST(test_a_wait_is_counted_after_its_sample)
{
	static const struct cp_unwinder looks = { .name = "looks", .walk = look_at_count };
	struct cp_thread *t = begin();

	cp_capture_settings.unwinder = &looks;
	counted_when_sampled = UINT64_MAX;
	wait_for(&locks[0], 500000 * US, CP_LOCK_MUTEX);
	CHECK_EQ(counted_when_sampled, 0);
	CHECK_EQ(cp_lock_part_of(t)->kinds[CP_LOCK_MUTEX].count, 1);
	CHECK_EQ(take(t, CPROF_LOCK).delay, 500000 * US);
	end(t);
}

/* Everything that is sampled of a lock with holders is told to them, or that they aren't known. */
TEST(test_holders_get_what_was_waited)
{
	struct cp_thread *t = begin();
	struct cp_lock_wait w;
	struct told told;
	struct cp_holder *h;
	struct cp_event e;
	uint32_t next = 0;

	cp_lock_event_begin_wait(&w, &locks[0], CP_LOCK_MUTEX);
	now += 20 * US;
	unlock(&locks[0], true);
	now += 10 * US;
	cp_lock_event_waited(&w, function, true);
	CHECK_EQ(take(t, CPROF_LOCK).delay, 30 * US);
	h = cp_lock_holder_read(&next, &e);
	CHECK(h && e.weight >= 30 * US && e.weight <= 30 * US + 1);
	CHECK_EQ(cp_lock_holder_record(h)->pcs[0], (uint64_t)(uintptr_t)function);
	CHECK_EQ(e.more, cp_thread_who(t));
	cp_lock_holder_give_back(h);
	/* No unlock was seen; one was seen that failed. */
	now += 1000000 * US;
	cp_lock_event_begin_wait(&w, &locks[0], CP_LOCK_MUTEX);
	now += 20 * US;
	unlock(&locks[0], false);
	cp_lock_event_waited(&w, function, true);
	told = take(t, CPROF_LOCK_HOLDERS);
	CHECK_EQ(told.unknown, 20 * US);
	CHECK(!cp_lock_holder_read(&next, &e));
	wait_for(&locks[1], 20 * US, CP_LOCK_SEM);
	CHECK_EQ(take(t, CPROF_LOCK_HOLDERS).records, 0);
	end(t);
}

/* The waiter may be done before the thread that unlocked has taken its stack. */
TEST(test_what_waits_for_its_holders_stack_is_known)
{
	struct cp_thread *t = begin();
	struct cp_lock_wait w;
	struct cp_lock_release r;
	struct cp_event e;
	uint32_t next = 0;

	now += 1000000 * US;
	cp_lock_event_begin_wait(&w, &locks[0], CP_LOCK_MUTEX);
	now += 20 * US;
	cp_lock_event_release_begin(&r, &locks[0]);
	cp_lock_event_waited(&w, function, true);
	CHECK(!cp_lock_holder_read(&next, &e));
	next = 0;
	CHECK(cp_lock_holder_look(&next, &e));
	CHECK_EQ(e.tag, (uint64_t)(uintptr_t)&locks[0]);
	CHECK(e.weight >= 20 * US && e.weight <= 20 * US + 1);
	CHECK(!cp_lock_holder_look(&next, &e));
	cp_lock_event_release_end(&r, function, true);
	next = 0;
	CHECK(!cp_lock_holder_look(&next, &e));
	next = 0;
	CHECK(cp_lock_holder_read(&next, &e) != NULL);
	end(t);
}

/* Without a wait that is sampled soon, an unlock reads no clock while the lock is held. */
TEST(test_other_unlocks_read_no_clock)
{
	struct cp_thread *t = begin();
	struct cp_lock_release r;

	reads = 0;
	for (unsigned i = 0; i < 1000; i++) {
		cp_lock_event_release_begin(&r, &locks[0]);
		CHECK(!r.wanted);
		cp_lock_event_release_end(&r, function, true);
	}
	CHECK_EQ(reads, 0);
	end(t);
}

/* A task without its own record, which also has this thread's TLS, unlocks and waits: it must not
 * use the thread's buffers. */
TEST(test_a_task_with_the_tls_of_another)
{
	struct cp_thread *t = begin();
	struct cp_lock_wait w;
	int32_t tid = t->tid;

	cp_lock_event_begin_wait(&w, &locks[0], CP_LOCK_MUTEX);
	cp_store_relaxed(&t->tid, tid + 1);
	now += 20 * US;
	unlock(&locks[0], true);
	cp_lock_event_waited(&w, function, true);
	CHECK(!t->hook_ring);
	cp_store_relaxed(&t->tid, tid);
	end(t);
}

/* A handler jumps out of a wait: the thread's next wait, or its end, takes the note back. */
TEST(test_waits_that_are_left_are_not_waited_for)
{
	struct cp_thread *t = begin();
	struct cp_lock_release r;
	struct cp_lock_wait w;

	cp_lock_event_begin_wait(&w, &locks[0], CP_LOCK_MUTEX);
	wait_for(&locks[1], 20 * US, CP_LOCK_MUTEX);
	cp_lock_event_release_begin(&r, &locks[0]);
	CHECK(!r.wanted);
	cp_lock_event_begin_wait(&w, &locks[0], CP_LOCK_MUTEX);
	cp_lock_event_thread_end(t);
	cp_lock_event_release_begin(&r, &locks[0]);
	CHECK(!r.wanted);
	end(t);
}

/* The counter says how long a short wait was, and a longer one is read off the clock. */
TEST(test_short_waits_end_without_the_clock)
{
	const uint64_t rate = UINT64_C(1) << 32; /* a tick is a ns */
	struct cp_lock_moment m = { now, cp_ticks() - 500000 };
	uint64_t end;

	cp_lock_clock.read = read_clock;
	cp_lock_clock_set(rate);
	cp_lock_clock.longest = UINT64_MAX; /* whatever comes between */
	reads = 0;
	end = cp_lock_end(m);
	CHECK_EQ(reads, 0);
	CHECK(end >= now + 500000);
	cp_lock_clock_set(rate);
	m.ticks -= 500000;
	reads = 0;
	CHECK_EQ(cp_lock_end(m), now);
	CHECK_EQ(reads, 1);
	/* Two processors' counters that differ. */
	m.ticks = cp_ticks() + UINT32_MAX;
	CHECK_EQ(cp_lock_end(m), now);
	m.ns = now + 1;
	CHECK_EQ(cp_lock_end(m), now + 1);
	cp_lock_clock_set(2 * rate);
	CHECK_EQ(cp_lock_clock.longest, CP_LOCK_TICKS_NS / 2);
	cp_lock_clock_set(0);
	m = (struct cp_lock_moment){ now, cp_ticks() };
	reads = 0;
	CHECK_EQ(cp_lock_end(m), now);
	CHECK_EQ(reads, 1);
	/* As for a thread that saw the limit just before it was taken back. */
	cp_lock_clock_set(rate);
	cp_lock_clock_set(0);
	cp_lock_clock.longest = UINT64_MAX;
	m.ticks = cp_ticks() - 500000;
	CHECK(cp_lock_end(m) >= now + 500000);
	cp_lock_clock_set(0);
}
