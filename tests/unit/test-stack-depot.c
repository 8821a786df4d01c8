/* SPDX-License-Identifier: BSD-3-Clause */
/* The depot of stacks: one entry a stack and epoch, counters, the mark of the peak. */
#include "harness.h"

#include "modes/heap/signal/stack_depot.h"

static struct cp_stack_depot_entry *find(uint64_t first, unsigned depth, uint64_t interval)
{
	uint64_t pcs[4096], hash = 0;

	for (unsigned i = depth; i-- > 0;) {
		pcs[i] = first + i;
		hash = (hash ^ pcs[i]) * UINT64_C(0x9fb21c651e98df25);
		hash ^= hash >> 32;
	}
	return cp_stack_depot_find(&(struct cp_stack_depot_key){
		.pcs = pcs, .hash = hash, .depth = depth, .interval = interval });
}

TEST(test_depot_same_stack_same_entry)
{
	struct cp_stack_depot_entry *e = find(1000, 20, 1);
	uint64_t pcs[CP_STACK_DEPOT_DEPTH];

	CHECK(e != NULL);
	CHECK(find(1000, 20, 1) == e);
	CHECK(find(1000, 19, 1) != e);
	CHECK(find(1001, 20, 1) != e);
	CHECK(find(1000, 20, 2) != e);
	CHECK(cp_stack_depot_at(e->id) == e);
	CHECK_EQ(e->depth, 20);
	cp_stack_depot_pcs(e, pcs, 20);
	for (unsigned i = 0; i < 20; i++)
		CHECK_EQ(pcs[i], 1000 + i);
}

TEST(test_depot_epochs_do_not_mix)
{
	struct cp_stack_depot_entry *e = find(2000, 3, 1);

	cp_stack_depot_next_epoch();
	CHECK(find(2000, 3, 1) != e);
	CHECK_EQ(find(2000, 3, 1)->seen.epoch, cp_stack_depot_epoch());
	CHECK_EQ(e->seen.epoch, cp_stack_depot_epoch() - 1);
}

TEST(test_depot_retired_stacks_are_not_found)
{
	struct cp_stack_depot_entry *below = find(500000, 5, 1), *in = find(500001, 5, 1),
				    *above = find(500020, 5, 1), *again;

	cp_stack_depot_retire(500005, 500020);
	CHECK(find(500000, 5, 1) == below);
	CHECK(find(500020, 5, 1) == above);
	CHECK(!cp_stack_depot_is_found(in));
	again = find(500001, 5, 1);
	CHECK(again != in && cp_stack_depot_is_found(again));
	CHECK_EQ(again->seen.epoch, cp_stack_depot_epoch());
	/* What it counts stays. */
	cp_stack_depot_allocated(in, 1, 10);
	CHECK_EQ(cp_stack_depot_in_use(in).bytes, 10);
}

/* Stacks are looked at when they are asked for: also after much else has gone. */
TEST(test_depot_stacks_outlive_what_others_lead_through)
{
	struct cp_stack_depot_entry *stays = find(600000, 5, 1), *goes = find(600100, 5, 1);
	uint64_t before = cp_stack_depot_mapped();

	for (unsigned i = 0; i < 500; i++)
		cp_stack_depot_retire(i == 250 ? 600104 : 700000 + i, 700001 + i);
	CHECK(find(600000, 5, 1) == stays);
	CHECK(find(600100, 5, 1) != goes);
	CHECK(!cp_stack_depot_is_found(goes));
	for (unsigned i = 0; i < 100000; i++) {
		cp_stack_depot_retire(700000 + i, 700001 + i);
		if (find(600000, 5, 1) != stays)
			break;
	}
	CHECK(find(600000, 5, 1) == stays);
	CHECK_EQ(cp_stack_depot_mapped(), before);
	/* Longer than what went is known: then it isn't found, rather than found wrongly. */
	for (unsigned i = 0; i < 5000; i++)
		cp_stack_depot_retire(i ? 700000 : 600004, i ? 700001 : 600005);
	CHECK(!cp_stack_depot_is_found(stays));
	CHECK(find(600000, 5, 1) != stays);
}

TEST(test_depot_deepest_stacks_fit)
{
	CHECK(find(1, 4096, 1) != NULL);
	for (unsigned i = 0; i < 100; i++)
		CHECK(find(100000 + i, 4096, 1) == find(100000 + i, 4096, 1));
}

TEST(test_depot_counts_what_is_in_use)
{
	struct cp_stack_depot_entry *e = find(3000, 5, 1);

	cp_stack_depot_allocated(e, 10, 1000);
	cp_stack_depot_freed(e, 3, 400);
	CHECK_EQ(cp_stack_depot_in_use(e).objects, 7);
	CHECK_EQ(cp_stack_depot_in_use(e).bytes, 600);
	/* Whoever counts: the entry's owner or another thread. */
	cp_stack_depot_allocated_own(e, 5, 500);
	cp_stack_depot_freed_own(e, 2, 150);
	CHECK_EQ(cp_stack_depot_in_use(e).objects, 10);
	CHECK_EQ(cp_stack_depot_in_use(e).bytes, 950);
}

TEST(test_depot_keeps_the_peak)
{
	struct cp_stack_depot_entry *e = find(4000, 5, 1), *idle = find(4100, 5, 1), *late;

	cp_stack_depot_allocated(e, 1, 100);
	cp_stack_depot_allocated(idle, 1, 50);
	cp_stack_depot_mark_peak();
	cp_stack_depot_allocated(e, 1, 11);
	cp_stack_depot_freed(e, 2, 111);
	late = find(4200, 5, 1);
	cp_stack_depot_allocated(late, 1, 7);
	CHECK_EQ(cp_stack_depot_at_peak(e).bytes, 100);
	CHECK_EQ(cp_stack_depot_at_peak(e).objects, 1);
	CHECK_EQ(cp_stack_depot_at_peak(idle).bytes, 50);
	CHECK_EQ(cp_stack_depot_at_peak(late).bytes, 0);
	cp_stack_depot_mark_peak();
	CHECK_EQ(cp_stack_depot_at_peak(e).bytes, 0);
	CHECK_EQ(cp_stack_depot_at_peak(late).bytes, 7);
}

static void count(struct cp_stack_depot_entry *e, void *arg)
{
	(void)e;
	++*(unsigned *)arg;
}

TEST(test_depot_collector_sees_each_once)
{
	unsigned before = 0, after = 0;

	cp_stack_depot_take_fresh();
	cp_stack_depot_each(0, count, &before);
	find(5000, 1, 1);
	find(5000, 1, 1);
	find(5001, 1, 1);
	cp_stack_depot_take_fresh();
	cp_stack_depot_each(0, count, &after);
	CHECK_EQ(after, before + 2);
}

TEST(test_depot_tells_apart_what_came_since)
{
	unsigned all = 0, since = 0;
	uint32_t newest;

	find(6000, 1, 1);
	cp_stack_depot_take_fresh();
	newest = cp_stack_depot_each(0, count, &all);
	CHECK_EQ(cp_stack_depot_each(newest, count, &since), newest);
	CHECK_EQ(since, 0);
	find(6001, 1, 1);
	find(6002, 1, 1);
	cp_stack_depot_take_fresh();
	CHECK(cp_stack_depot_each(newest, count, &since) != newest);
	CHECK_EQ(since, 2);
}

static unsigned woken;

static void wake(void)
{
	woken++;
}

TEST(test_depot_wakes_the_collector_once_for_many)
{
	cp_stack_depot_take_fresh();
	cp_stack_depot_wake = wake;
	for (unsigned i = 0; i < CP_STACK_DEPOT_MANY - 1; i++)
		find(10000000 + i, 1, 1);
	CHECK_EQ(woken, 0);
	for (unsigned i = CP_STACK_DEPOT_MANY - 1; i < CP_STACK_DEPOT_MANY + 100; i++)
		find(10000000 + i, 1, 1);
	CHECK_EQ(woken, 1);
	cp_stack_depot_take_fresh();
	for (unsigned i = 0; i < CP_STACK_DEPOT_MANY; i++)
		find(20000000 + i, 1, 1);
	CHECK_EQ(woken, 2);
	cp_stack_depot_wake = NULL;
	cp_stack_depot_take_fresh();
}

#define THREADS 4
#define STACKS 3000

static void *add(void *arg)
{
	(void)arg;
	for (unsigned round = 0; round < 5; round++)
		for (unsigned i = 0; i < STACKS; i++)
			cp_stack_depot_allocated(find(UINT64_C(1) << 40 | i << 8, 10 + i % 20, 1),
						 1, i);
	return NULL;
}

static uint64_t objects, bytes;
static unsigned stacks;

static void sum(struct cp_stack_depot_entry *e, void *arg)
{
	uint64_t pcs[CP_STACK_DEPOT_DEPTH];

	(void)arg;
	cp_stack_depot_pcs(e, pcs, CP_STACK_DEPOT_DEPTH);
	if (!(pcs[0] >> 40))
		return;
	objects += e->allocated.objects;
	bytes += e->allocated.bytes;
	stacks++;
}

TEST(test_depot_threads_lose_nothing)
{
	pthread_t t[THREADS];

	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, add, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	cp_stack_depot_take_fresh();
	cp_stack_depot_each(0, sum, NULL);
	CHECK_EQ(stacks, STACKS);
	CHECK_EQ(objects, THREADS * 5 * STACKS);
	CHECK_EQ(bytes, (uint64_t)THREADS * 5 * STACKS * (STACKS - 1) / 2);
}
