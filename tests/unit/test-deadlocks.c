/* SPDX-License-Identifier: BSD-3-Clause */
/* Deadlocks: circles of waits that are all true at one moment, and none that only look like it. */
#define OWN_MAIN
#include "harness.h"

#include <linux/futex.h>

#include "modes/lock/lock.h"
#include "session/session.h"
#include "tasks.h"

#define THREADS 3

/* Each thread has its mutex, and wants the next one's. */
static pthread_mutex_t mutexes[THREADS] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
					    PTHREAD_MUTEX_INITIALIZER };
static pthread_barrier_t all_have;
static int tids[THREADS];
static struct cp_thread_look looks[THREADS];

static void *have_and_want(void *arg)
{
	intptr_t i = (intptr_t)arg;

	pthread_mutex_lock(&mutexes[i]);
	tids[i] = (int)syscall(SYS_gettid);
	pthread_barrier_wait(&all_have);
	pthread_mutex_lock(&mutexes[(i + 1) % THREADS]);
	return NULL;
}

static void make_deadlock(void)
{
	pthread_t t;

	pthread_barrier_init(&all_have, NULL, THREADS + 1);
	for (intptr_t i = 0; i < THREADS; i++)
		pthread_create(&t, NULL, have_and_want, (void *)i);
	pthread_barrier_wait(&all_have);
	for (int i = 0; i < THREADS; i++) {
		while (__atomic_load_n(&mutexes[(i + 1) % THREADS].__data.__lock,
				       __ATOMIC_RELAXED) != 2)
			sched_yield();
		/* A thread still runs between its barrier and its sleep. */
		while (task_state(tids[i]) != 'S')
			sched_yield();
	}
}

/* As threads_now.c has seen them. */
static void look(void)
{
	for (int i = 0; i < THREADS; i++) {
		uint64_t word = (uint64_t)(uintptr_t)&mutexes[(i + 1) % THREADS].__data.__lock;

		looks[i] = (struct cp_thread_look){ .tid = tids[i],
						    .doing = CP_WALL_WAITS,
						    .clock = cp_wall_stack_clock_of(tids[i]),
						    .call = { SYS_futex,
							      { word, FUTEX_WAIT_PRIVATE, 2 } },
						    .futex = CP_WALL_FUTEX_MUTEX };
		cp_thread_waits_find(&looks[i], 0, NULL);
		CHECK_EQ(looks[i].wait.holder, tids[(i + 1) % THREADS]);
	}
}

static unsigned in_deadlock(void)
{
	unsigned count = 0;

	cp_threads_now_deadlocks(looks, THREADS);
	for (int i = 0; i < THREADS; i++)
		count += looks[i].wait.deadlock == 1;
	return count;
}

/* It may have given its lock back meanwhile, and taken it again. */
TEST(test_a_thread_that_has_run_since_is_in_none)
{
	look();
	looks[1].clock--;
	CHECK_EQ(in_deadlock(), 0);
}

/* The owner was read before the thread that held the lock was seen to wait. */
TEST(test_an_owner_that_is_no_longer_it_is_in_none)
{
	int owner = mutexes[1].__data.__owner;

	look();
	mutexes[1].__data.__owner = tids[2];
	CHECK_EQ(in_deadlock(), 0);
	mutexes[1].__data.__owner = owner;
}

TEST(test_a_free_lock_has_no_owner)
{
	uint64_t lock = (uint64_t)(uintptr_t)&mutexes[1];

	CHECK_EQ(cp_lock_owner_of_mutex(lock).tid, tids[1]);
	mutexes[1].__data.__lock = 0;
	CHECK_EQ(cp_lock_owner_of_mutex(lock).tid, 0);
	mutexes[1].__data.__lock = 2;
}

TEST(test_a_wait_with_a_limit_is_in_none)
{
	look();
	looks[1].wait.limited = true;
	CHECK_EQ(in_deadlock(), 0);
}

TEST(test_an_owner_that_is_gone_is_in_none)
{
	look();
	looks[1].wait.holder = 1;
	CHECK_EQ(in_deadlock(), 0);
	looks[1].wait.holder = -1;
	CHECK_EQ(in_deadlock(), 0);
}

TEST(test_locks_that_are_gone_are_no_fault)
{
	CHECK_EQ(cp_lock_owner_of_mutex(8).tid, 0);
	CHECK_EQ(cp_lock_owner_of_rwlock(8).tid, 0);
	look();
	looks[0].call.args[0] = 8;
	cp_thread_waits_find(&looks[0], 0, NULL);
	CHECK_EQ(looks[0].wait.holder, 0);
	CHECK_EQ(in_deadlock(), 0);
}

int main(void)
{
	make_deadlock();
	harness_all();
	return harness_end();
}
