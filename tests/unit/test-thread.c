/* SPDX-License-Identifier: BSD-3-Clause */
/* The registry of threads: states, reuse, and claims from many threads at once. */
#include "harness.h"

#include "base/atomic.h"
#include "sample/ring.h"
#include "base/sys.h"
#include "sample/thread.h"
#include "modes/cpu/signal/cpu_signal.h"

TEST(test_thread_claimed_record_is_blank)
{
	struct cp_thread *t = cp_thread_claim();
	uint32_t index = t->index;

	t->paused = 3;
	t->foreign = t->named = true;
	t->stack_high = 77;
	cp_cpu_of(t)->timer = 5;
	strcpy(t->name, "somebody");
	cp_thread_free(t);
	/* What belongs to modes is blank while nobody has the record: the collector reads it then.
	 */
	CHECK_EQ(cp_cpu_of(t)->timer, CP_NO_TIMER);
	t = cp_thread_claim();
	CHECK_EQ(t->index, index);
	CHECK_EQ(t->state, CP_THREAD_CLAIMED);
	CHECK_EQ(t->paused, 0);
	CHECK(!t->foreign && !t->named && !t->ring);
	CHECK_EQ(t->stack_high, 0);
	CHECK_EQ(cp_cpu_of(t)->timer, CP_NO_TIMER);
	CHECK_STR(t->name, "");
}

static void free_all(void)
{
	for (uint32_t i = 0; i < cp_thread_limit(); i++)
		cp_thread_free(cp_thread_at(i));
}

/* Modes keep memory for each number that was in use. */
TEST(test_thread_lowest_free_record_is_claimed)
{
	struct cp_thread *t[20];

	free_all();
	for (uint32_t i = 0; i < 20; i++)
		t[i] = cp_thread_claim();
	cp_thread_free(t[3]);
	cp_thread_free(t[12]);
	CHECK_EQ(cp_thread_claim()->index, 3);
	CHECK_EQ(cp_thread_claim()->index, 12);
	CHECK_EQ(cp_thread_claim()->index, 20);
	free_all();
}

/* ---- claims at once: no record is given to two ---- */

#define CLAIMERS 4
#define TURNS 20000
#define HELD 1

static uint32_t owner_of[1 << 18];
static uint32_t given_twice;

static void *claim_and_free(void *arg)
{
	uint32_t me = (uint32_t)(uintptr_t)arg;
	struct cp_thread *held[HELD] = { NULL };

	for (int i = 0; i < TURNS; i++) {
		struct cp_thread **slot = &held[i % HELD];

		if (*slot) {
			if (cp_exchange_acqrel(&owner_of[(*slot)->index], 0) != me)
				cp_add_relaxed(&given_twice, 1);
			cp_thread_free(*slot);
		}
		*slot = cp_thread_claim();
		if (cp_exchange_acqrel(&owner_of[(*slot)->index], me) != 0)
			cp_add_relaxed(&given_twice, 1);
	}
	return NULL;
}

TEST(test_thread_no_record_is_given_to_two)
{
	pthread_t t[CLAIMERS];

	free_all();
	/* All but a few are taken, so that the claimers meet each other's. */
	for (uint32_t i = CLAIMERS * HELD; i < cp_thread_limit(); i++)
		cp_store_relaxed(&cp_thread_at(i)->state, CP_THREAD_LIVE);
	for (uintptr_t i = 0; i < CLAIMERS; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, claim_and_free, (void *)(i + 1)), 0);
	for (int i = 0; i < CLAIMERS; i++)
		pthread_join(t[i], NULL);
	CHECK_EQ(given_twice, 0);
	free_all();
}

TEST(test_thread_fork_child_keeps_only_the_caller)
{
	struct cp_thread *me = cp_thread_claim(), *other = cp_thread_claim();

	cp_ring_configure(64);
	cp_thread_enter(me);
	me->ring = cp_ring_take();
	cp_cpu_of(me)->timer = 3;
	other->ring = cp_ring_take();
	other->state = CP_THREAD_LIVE;
	cp_thread_fork_child(me);
	CHECK_EQ(me->state, CP_THREAD_LIVE);
	CHECK(!me->ring && cp_cpu_of(me)->timer == CP_NO_TIMER);
	CHECK_EQ(other->state, CP_THREAD_FREE);
	CHECK(!other->ring);
	cp_self.thread = NULL;
	free_all();
}
