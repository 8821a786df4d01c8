/* SPDX-License-Identifier: BSD-3-Clause */
/* Rings: records come out as they went in, full rings refuse, and the pool gives them back. */
#include "harness.h"

#include "base/atomic.h"
#include "sample/sample.h"
#include "sample/thread.h"
#include "sample/ring.h"

#define DEPTH 100

/* A record whose content follows from N. */
static bool push(struct cp_ring *r, uint64_t n)
{
	struct cp_record *record = cp_ring_reserve(r, DEPTH);

	if (!record)
		return false;
	record->depth = (uint16_t)(1 + n * 7 % DEPTH);
	record->mode = CPROF_CPU;
	record->end = 0;
	record->weight = n;
	for (unsigned i = 0; i < record->depth; i++)
		record->pcs[i] = n * 1000 + i;
	cp_ring_commit(r, record);
	return true;
}

/* false: not the record that N gives. */
static bool is(const struct cp_record *record, uint64_t n)
{
	if (record->depth != 1 + n * 7 % DEPTH || record->weight != n || record->mode != CPROF_CPU)
		return false;
	for (unsigned i = 0; i < record->depth; i++)
		if (record->pcs[i] != n * 1000 + i)
			return false;
	return true;
}

static bool pop(struct cp_ring *r, uint64_t n)
{
	struct cp_record *record = cp_ring_next(r);
	bool right = record && is(record, n);

	if (record)
		cp_ring_release(r, record);
	return right;
}

TEST(test_ring_records_come_out_in_order)
{
	struct cp_ring *r;

	cp_ring_configure(DEPTH);
	r = cp_ring_take();
	CHECK(cp_ring_next(r) == NULL);
	/* Many times around, at every position relative to the end. */
	for (uint64_t n = 0; n < 5000; n++) {
		CHECK(push(r, n));
		CHECK(pop(r, n));
	}
	CHECK(cp_ring_next(r) == NULL);
	cp_ring_give(r);
}

TEST(test_ring_full_refuses_and_goes_on_after_a_drain)
{
	struct cp_ring *r = cp_ring_take();
	uint64_t in = 0, out = 0;

	for (int round = 0; round < 50; round++) {
		while (push(r, in))
			in++;
		CHECK(in > out);
		CHECK(cp_load_relaxed(&r->head) - r->tail <= r->size);
		/* Part of it only, so that the next round starts elsewhere. */
		for (int i = 0; i < 13 && out < in; i++, out++)
			CHECK(pop(r, out));
	}
	for (; out < in; out++)
		CHECK(pop(r, out));
	CHECK(cp_ring_next(r) == NULL);
	cp_ring_give(r);
}

static unsigned walk_to_depth(const struct cp_unwind_input *in, uint64_t *pcs, unsigned max,
			      enum cp_unwind_end *end)
{
	for (unsigned i = 0; i < max; i++)
		pcs[i] = i;
	*end = CP_UNWIND_COMPLETE;
	return max;
}

static int woken;

static void wake(void)
{
	woken++;
}

/* Threads keep their rings from one run of the profiler to the next. */
TEST(test_ring_of_an_earlier_run_takes_deeper_stacks)
{
	static const struct cp_unwinder unwinder = { .name = "test", .walk = walk_to_depth };
	struct cp_thread *t = cp_thread_claim();
	struct cp_regs regs = { 0 };
	struct cp_record *record;
	uint64_t lost = cp_counted(CP_COUNT_LOST_RING);

	cp_ring_configure(10);
	cp_capture_settings = (struct cp_capture_settings){ &unwinder, 10, wake, false, true };
	cp_capture(t, &(struct cp_event){ .mode = CPROF_CPU, .count = 1, .weight = 1 }, &regs);
	cp_ring_configure(4096);
	cp_capture_settings.max_depth = 4096;
	for (int i = 0; i < 20; i++) {
		while ((record = cp_ring_next(t->ring)))
			cp_ring_release(t->ring, record);
		cp_capture(t, &(struct cp_event){ .mode = CPROF_CPU, .count = 1, .weight = 1 },
			   &regs);
		record = cp_ring_next(t->ring);
		CHECK(record && record->depth >= 100);
	}
	CHECK_EQ(cp_counted(CP_COUNT_LOST_RING), lost);
	cp_ring_configure(DEPTH);
	cp_ring_give(t->ring);
	cp_thread_free(t);
}

/* A walk during which the thread's record goes to another thread, and gets that thread's ring. */
static struct cp_thread *given_away;
static struct cp_ring *anothers;

static unsigned walk_and_give_away(const struct cp_unwind_input *in, uint64_t *pcs, unsigned max,
				   enum cp_unwind_end *end)
{
	(void)in;
	(void)max;
	given_away->ring = given_away->hook_ring = anothers;
	pcs[0] = 77;
	*end = CP_UNWIND_COMPLETE;
	return 1;
}

static void sample_and_give_away(bool hook)
{
	const struct cp_event e = { .mode = CPROF_CPU, .count = 1, .weight = 1 };
	struct cp_ring *ring = cp_ring_take();
	struct cp_regs regs = { 0 };
	struct cp_record *record;

	anothers = cp_ring_take();
	given_away = cp_thread_claim();
	given_away->ring = given_away->hook_ring = ring;
	CHECK(hook ? cp_capture_hook(given_away, &e, &regs, NULL)
		   : cp_capture(given_away, &e, &regs));
	record = cp_ring_next(ring);
	CHECK(record && record->depth == 1 && record->pcs[0] == 77);
	CHECK(!cp_ring_next(anothers));
	cp_ring_give(ring);
	cp_ring_give(anothers);
	given_away->ring = given_away->hook_ring = NULL;
	cp_thread_free(given_away);
}

TEST(test_ring_that_is_given_away_amid_a_sample_has_it)
{
	static const struct cp_unwinder unwinder = { .name = "test", .walk = walk_and_give_away };

	cp_capture_settings = (struct cp_capture_settings){ &unwinder, DEPTH, wake, false, true };
	sample_and_give_away(false);
	sample_and_give_away(true);
}

/* A thread's last stack, repeated when it ends, may be of an earlier run with deeper stacks. */
TEST(test_ring_repeats_no_more_than_it_has_reserved)
{
	static const struct cp_unwinder unwinder = { .name = "test", .walk = walk_to_depth };
	struct cp_thread *t = cp_thread_claim();
	struct cp_regs regs = { 0 };
	struct cp_record *record;

	cp_capture_settings = (struct cp_capture_settings){ &unwinder, DEPTH, wake, false, true };
	cp_capture(t, &(struct cp_event){ .mode = CPROF_CPU, .count = 1, .weight = 1 }, &regs);
	cp_capture_settings.max_depth = 10;
	cp_capture_repeat(t, &(struct cp_event){ .mode = CPROF_CPU, .count = 1, .weight = 2 }, 7);
	record = cp_ring_next(t->ring);
	CHECK_EQ(record->depth, DEPTH);
	cp_ring_release(t->ring, record);
	record = cp_ring_next(t->ring);
	CHECK_EQ(record->depth, 10);
	CHECK_EQ(record->end, CP_UNWIND_TRUNCATED);
	CHECK_EQ(record->pcs[9], 9);
	cp_ring_release(t->ring, record);

	/* Forgotten: nothing is repeated, also when a skip mark follows. */
	for (int i = 0; i < 1000; i++) {
		cp_capture(t, &(struct cp_event){ .mode = CPROF_CPU, .count = 1, .weight = 1 },
			   &regs);
		cp_ring_release(t->ring, cp_ring_next(t->ring));
		CHECK(cp_ring_last(t->ring) != NULL);
		cp_ring_forget(t->ring);
		cp_capture_repeat(
			t, &(struct cp_event){ .mode = CPROF_CPU, .count = 1, .weight = 2 }, 7);
		record = cp_ring_next(t->ring);
		CHECK(record && record->depth == 1 && record->pcs[0] == 7);
		cp_ring_release(t->ring, record);
	}
	cp_ring_give(t->ring);
	cp_thread_free(t);
}

/* ---- one producer, one consumer ---- */

#define RECORDS 200000

static struct cp_ring *shared;
static uint64_t refused;

static void *produce(void *arg)
{
	for (uint64_t n = 0; n < RECORDS; n++)
		while (!push(shared, n)) {
			refused++;
			sched_yield();
		}
	return arg;
}

TEST(test_ring_producer_and_consumer_at_once)
{
	struct cp_record *record;
	pthread_t t;
	uint64_t wrong = 0;

	shared = cp_ring_take();
	CHECK_EQ(pthread_create(&t, NULL, produce, NULL), 0);
	for (uint64_t n = 0; n < RECORDS;) {
		record = cp_ring_next(shared);
		if (!record) {
			sched_yield();
			continue;
		}
		wrong += !is(record, n++);
		cp_ring_release(shared, record);
	}
	pthread_join(t, NULL);
	CHECK_EQ(wrong, 0);
	CHECK(cp_ring_next(shared) == NULL);
	cp_ring_give(shared);
}

/* ---- the pool, from many threads ---- */

static uint32_t shared_rings;

static void *take_and_give(void *arg)
{
	for (int i = 0; i < 20000; i++) {
		struct cp_ring *r = cp_ring_take();

		/* The header's padding is nobody's: a mark that another user would see. */
		if (cp_exchange_acqrel(&r->pad2[0], 1) != 0)
			cp_add_relaxed(&shared_rings, 1);
		cp_store_relaxed(&r->pad2[0], 0);
		cp_ring_give(r);
	}
	return arg;
}

TEST(test_ring_pool_gives_a_ring_to_one_only)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, take_and_give, NULL), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	CHECK_EQ(shared_rings, 0);
}
