/* SPDX-License-Identifier: BSD-3-Clause */
/* The gate: a thread that closes it sees no capture that believes that modules are stable. */
#include "clock.h"
#include "harness.h"

#include "base/atomic.h"
#include "sample/sample.h"

TEST(test_gate_open_is_stable_and_closed_is_not)
{
	bool stable = false;
	unsigned phase = cp_gate_enter(&stable);

	CHECK(stable);
	cp_gate_leave(phase);
	cp_gate_close();
	cp_gate_leave(cp_gate_enter(&stable));
	CHECK(!stable);
	cp_gate_close();
	cp_gate_open();
	cp_gate_leave(cp_gate_enter(&stable));
	CHECK(!stable);
	cp_gate_open();
	cp_gate_leave(cp_gate_enter(&stable));
	CHECK(stable);
}

/* A destructor that dlclose runs may fork: the child's dlclose goes on, and opens the gate at its
 * end. */
TEST(test_gate_of_a_fork_stays_closed_by_the_caller_alone)
{
	cp_gate_close();
	cp_gate_close(); /* another thread's, which the child doesn't have */
	cp_gate_fork_child(1);
	CHECK(!cp_gate_is_open());
	cp_gate_open();
	CHECK(cp_gate_is_open());
}

static uint32_t entered;

#define WORK_NS 30000000 /* of CPU time, in a capture */

static void *capture_for_long(void *arg)
{
	bool stable;
	unsigned phase = cp_gate_enter(&stable);
	uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + WORK_NS;

	cp_store_seqcst(&entered, 1);
	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		;
	cp_gate_leave(phase);
	return arg;
}

/* A real-time thread that waits yields only to threads of its priority: no other thread would run
 * on the same processor. */
TEST(test_gate_wait_lets_others_run)
{
	const struct sched_param first = { .sched_priority = 1 }, ordinary = { 0 };
	cpu_set_t before, one;
	uint64_t began, took;
	pthread_t t;

	if (sched_getaffinity(0, sizeof(before), &before))
		SKIP("no affinity");
	CPU_ZERO(&one);
	for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, &before))
			CPU_SET(i, &one);
	CHECK_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
	cp_store_seqcst(&entered, 0);
	CHECK_EQ(pthread_create(&t, NULL, capture_for_long, NULL), 0);
	while (!cp_load_seqcst(&entered))
		sched_yield();
	if (sched_setscheduler(0, SCHED_FIFO, &first)) {
		pthread_join(t, NULL);
		sched_setaffinity(0, sizeof(before), &before);
		SKIP("not allowed to be a real-time thread");
	}
	began = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	cp_gate_wait();
	took = clock_ns(CLOCK_THREAD_CPUTIME_ID) - began;
	sched_setscheduler(0, SCHED_OTHER, &ordinary);
	pthread_join(t, NULL);
	sched_setaffinity(0, sizeof(before), &before);
	printf("# %llu us of waiting\n", (unsigned long long)took / 1000);
	CHECK(took < WORK_NS);
}

/* ---- captures read what a closer takes away and brings back ---- */

#define CLOSES 300

static uint32_t module_is_there = 1, stop;
static uint32_t seen_gone, captures;

static void *capture_often(void *arg)
{
	while (!cp_load_seqcst(&stop)) {
		bool stable;
		unsigned phase = cp_gate_enter(&stable);

		if (stable && !cp_load_relaxed(&module_is_there))
			cp_add_relaxed(&seen_gone, 1);
		cp_gate_leave(phase);
		cp_add_relaxed(&captures, 1);
	}
	return arg;
}

static void *close_often(void *arg)
{
	/* Not before there is somebody to see it. */
	while (!cp_load_relaxed(&captures))
		sched_yield();
	for (int i = 0; i < CLOSES; i++) {
		cp_gate_close();
		cp_store_relaxed(&module_is_there, 0);
		sched_yield();
		cp_store_seqcst(&module_is_there, 1);
		cp_gate_wait();
		cp_gate_open();
	}
	return arg;
}

TEST(test_gate_no_capture_sees_a_module_that_is_gone)
{
	pthread_t t[2], closer;

	for (int i = 0; i < 2; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, capture_often, NULL), 0);
	CHECK_EQ(pthread_create(&closer, NULL, close_often, NULL), 0);
	pthread_join(closer, NULL);
	cp_store_seqcst(&stop, 1);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	CHECK(captures > 0);
	CHECK_EQ(seen_gone, 0);
}

static void *wait_often(void *arg)
{
	for (int i = 0; i < CLOSES; i++)
		cp_gate_wait();
	return arg;
}

/* However many wait, each ends, also while captures follow each other without a gap. */
TEST(test_gate_waiters_do_not_starve)
{
	pthread_t captor, t[2];

	cp_store_seqcst(&stop, 0);
	CHECK_EQ(pthread_create(&captor, NULL, capture_often, NULL), 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, wait_often, NULL), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	cp_store_seqcst(&stop, 1);
	pthread_join(captor, NULL);
}

TEST(test_gate_fork_child_forgets_who_was_in_flight)
{
	bool stable = false;

	cp_gate_enter(&stable);
	cp_gate_fork_child(0);
	cp_gate_close();
	cp_gate_open();
	cp_gate_leave(cp_gate_enter(&stable));
	CHECK(stable);
}
