/* SPDX-License-Identifier: BSD-3-Clause */
/* Records are found by thread id, and only while they are that thread's. */
#include "harness.h"

#include "base/atomic.h"
#include "sample/thread.h"
#include "collect/collect.h"

#define THREADS 3000

static struct cp_thread *made[THREADS];

static void make_all(void)
{
	for (int i = 0; i < THREADS; i++) {
		made[i] = cp_thread_claim();
		cp_store_relaxed(&made[i]->tid, 100000 + 3 * i);
		cp_store_release(&made[i]->state, CP_THREAD_LIVE);
	}
}

TEST(test_live_records_are_found)
{
	bool all = true;

	make_all();
	cp_sweep_read_tids();
	for (int i = 0; i < THREADS; i++)
		all = all && cp_sweep_find_tid(100000 + 3 * i) == made[i];
	CHECK(all);
	CHECK(!cp_sweep_find_tid(100001));
	CHECK(!cp_sweep_find_tid(0));
}

TEST(test_a_record_that_changed_hands_is_not_found)
{
	cp_store_release(&made[7]->state, CP_THREAD_ENDED);
	CHECK(!cp_sweep_find_tid(100021));
	cp_store_relaxed(&made[8]->tid, 5);
	CHECK(!cp_sweep_find_tid(100024));
	CHECK(!cp_sweep_find_tid(5));
	cp_sweep_read_tids();
	CHECK(cp_sweep_find_tid(5) == made[8]);
	CHECK(!cp_sweep_find_tid(100021));
}
