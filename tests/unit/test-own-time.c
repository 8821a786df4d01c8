/* SPDX-License-Identifier: BSD-3-Clause */
/* Whose CPU time it is: the collector's task counts while it is there and after, and work in its
 * place. */
#include "harness.h"

#include "sample/sample.h"
#include "base/sys.h"

static uint64_t thread_clock(void)
{
	return cp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void burn(uint64_t ns)
{
	uint64_t end = thread_clock() + ns;

	while (thread_clock() < end)
		;
}

struct task {
	sem_t worked, seen;
	uint64_t least, most; /* bounds of the time that it used */
};

static void *task(void *arg)
{
	struct task *t = arg;
	uint64_t outside = thread_clock(), inside;

	cp_own_time_task_begin();
	inside = thread_clock();
	burn(3000000);
	/* A drain of the task's own is not counted twice. */
	cp_own_time_work_begin();
	burn(3000000);
	cp_own_time_work_end();
	t->least = thread_clock() - inside;
	sem_post(&t->worked);
	sem_wait(&t->seen);
	cp_own_time_task_end();
	t->most = thread_clock() - outside;
	return NULL;
}

TEST(test_a_task_counts_while_it_is_there_and_after)
{
	uint64_t before = cp_own_time(), least = 0, most = 0;

	for (int i = 0; i < 3; i++) {
		struct task t;
		pthread_t thread;

		sem_init(&t.worked, 0, 0);
		sem_init(&t.seen, 0, 0);
		CHECK(pthread_create(&thread, NULL, task, &t) == 0);
		sem_wait(&t.worked);
		CHECK(cp_own_time() - before >= least + t.least);
		sem_post(&t.seen);
		pthread_join(thread, NULL);
		least += t.least;
		most += t.most;
		CHECK(cp_own_time() - before >= least);
		CHECK(cp_own_time() - before <= most);
		sem_destroy(&t.worked);
		sem_destroy(&t.seen);
	}
}

TEST(test_work_in_its_place_counts_at_once)
{
	uint64_t before = cp_own_time(), outside, took;

	burn(2000000); /* not ours */
	outside = thread_clock();
	cp_own_time_work_begin();
	burn(1000000);
	CHECK(cp_own_time() - before >= 1000000);
	cp_own_time_work_end();
	outside = thread_clock() - outside;
	took = cp_own_time() - before;
	CHECK(took >= 1000000);
	CHECK(took <= outside);
	burn(1000000);
	CHECK(cp_own_time() - before == took);
}

/* Another thread forked meanwhile: the clocks that had begun are not the child's. */
TEST(test_a_child_begins_with_nothing)
{
	cp_own_time_task_begin();
	burn(1000000);
	cp_own_time_task_end();
	cp_own_time_work_begin();
	cp_own_time_task_begin();
	CHECK(cp_own_time() > 0);
	cp_own_time_fork_child();
	CHECK(cp_own_time() == 0);
	burn(1000000);
	CHECK(cp_own_time() == 0);
}
