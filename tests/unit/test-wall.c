/* SPDX-License-Identifier: BSD-3-Clause */
/* The wall clock: a thread's rows hold its time, whenever it was visited. */
#include "base/sys.h"
#include "wall-host.h"
#include "modes/wall/wall.h"
#include "modes/wall/signal/wall_signal.h"

#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

TEST(test_late_visits_lose_no_time)
{
	static const long pauses[] = { 1, 25, 3, 150, 11, 60 };
	struct cp_thread *t;
	pthread_t thread;
	uint64_t until;

	begin();
	t = make(&thread);
	for (size_t i = 0; i < sizeof(pauses) / sizeof(*pauses); i++) {
		wait_ms(pauses[i]);
		cp_wall_tick(&run);
		/* As a dump does, in the midst of a period. */
		until = cp_wall_of(t)->began + (i + 1) * 7000001;
		if (cp_wall_of(t)->state != CP_WALL_UNSEEN && until > cp_wall_of(t)->given)
			cp_wall_answer_settle(&run, t, until);
	}
	until = cp_sys_clock_ns(CLOCK_MONOTONIC);
	cp_wall_answer_settle(&run, t, until);
	CHECK_EQ(sum(1, 0), until - cp_wall_of(t)->began);
	CHECK_EQ(sum(0, 0), (until - cp_wall_of(t)->began) / 20000000);
	CHECK_EQ(sum(1, CP_WALL_WAITING), sum(1, 0));
	CHECK_EQ(run.aggregate.weight, sum(1, 0));
	CHECK(cp_wall.counts.unmoved >= 1 && cp_wall.counts.late >= 10);
	finish(thread, t);
	end();
}

TEST(test_an_end_between_visits_is_the_end_of_its_time)
{
	struct cp_thread *t;
	pthread_t thread;

	begin();
	t = make(&thread);
	wait_ms(25);
	cp_wall_tick(&run);
	CHECK_EQ(cp_wall_of(t)->state, CP_WALL_WAITING);
	wait_ms(5);
	cp_wall_timer_thread_end(t);
	wait_ms(5);
	cp_wall_answer_settle(&run, t, cp_sys_clock_ns(CLOCK_MONOTONIC));
	CHECK_EQ(sum(1, 0), cp_wall_of(t)->ended - cp_wall_of(t)->began);
	finish(thread, t);
	end();
}

/* As the thread leaves it, before a drain has taken it. */
static void end_record(struct cp_thread *t)
{
	cp_wall_timer_thread_end(t);
	cp_store_release(&t->state, CP_THREAD_ENDED);
}

TEST(test_an_end_between_drain_and_dump_is_in_the_dump)
{
	struct cp_thread *t;
	pthread_t thread;
	uint64_t began;

	for (int visited = 0; visited < 2; visited++) {
		begin();
		t = make(&thread);
		began = cp_wall_of(t)->began;
		wait_ms(25);
		if (visited)
			cp_wall_tick(&run);
		end_record(t);
		run.ops->settle(&run);
		CHECK_EQ(sum(1, 0), cp_wall_of(t)->ended - began);
		CHECK_EQ(cp_wall.counts.unmet, 0);
		/* The drain after it, and another dump, find nothing left. */
		run.ops->settle(&run);
		run.ops->thread_released(&run, t);
		CHECK_EQ(sum(1, 0), cp_wall_of(t)->ended - began);
		finish(thread, t);
		end();
	}
}

/* Its end is not known, but it is after the stop. */
TEST(test_an_end_after_the_stop_takes_no_time_from_then)
{
	struct cp_thread *t;
	pthread_t thread;
	uint64_t began;

	begin();
	t = make(&thread);
	began = cp_wall_of(t)->began;
	wait_ms(25);
	cp_wall_tick(&run);
	cp_wall_stop();
	wait_ms(5);
	end_record(t);
	run.ops->settle(&run);
	CHECK_EQ(sum(1, 0), cp_wall.stopped - began);
	finish(thread, t);
	end();
}

/* A record that waits for its last drain is not of the next run. */
TEST(test_an_end_before_the_start_has_no_time_in_the_run)
{
	struct cp_thread *t;
	pthread_t thread;

	begin();
	t = make(&thread);
	end_record(t);
	cp_wall_stop();
	cp_wall_start(&run, 50);
	run.ops->settle(&run);
	CHECK_EQ(sum(1, 0), 0);
	CHECK_EQ(cp_wall.counts.unsampled, 0);
	finish(thread, t);
	end();
}

TEST(test_a_thread_that_was_not_visited_has_its_time_at_its_start)
{
	struct cp_thread *t;
	pthread_t thread;
	uint64_t lived, ran;

	begin();
	t = make(&thread);
	/* Its start takes long on a machine that is taken away meanwhile. */
	do
		wait_ms(1);
	while (cp_sys_clock_ns(CLOCK_MONOTONIC) - cp_wall_of(t)->began <=
	       cp_wall_stack_clock_of(tid));
	cp_wall_of(t)->told_cpu = 0; /* as of a thread that counts itself in */
	cp_wall_timer_thread_end(t);
	lived = cp_wall_of(t)->ended - cp_wall_of(t)->began;
	ran = cp_wall_of(t)->ended_cpu;
	CHECK(ran > 0 && ran < lived);
	cp_wall_answer_ended(&run, t);
	CHECK_EQ(sum(1, CP_WALL_RUNNING), ran);
	CHECK_EQ(sum(1, CP_WALL_WAITING), lived - ran);
	CHECK_EQ(cp_wall.counts.unvisited, lived);
	finish(thread, t);
	end();
}

/* A thread that libc doesn't know has no start function that could have its time. */
TEST(test_a_thread_that_was_seen_nowhere_has_unsampled_time)
{
	struct cp_thread *t;
	pthread_t thread;
	uint64_t lived;

	begin();
	t = make(&thread);
	t->start = NULL;
	cp_wall.blind = true;
	wait_ms(25);
	cp_wall_tick(&run);
	CHECK_EQ(cp_wall_of(t)->state, CP_WALL_WAITING);
	for (int dump = 0; dump < 2; dump++) {
		cp_wall.stopped = cp_sys_clock_ns(CLOCK_MONOTONIC);
		run.ops->settle(&run);
		CHECK_EQ(cp_wall.counts.unmet, cp_wall.stopped - cp_wall_of(t)->began);
	}
	cp_wall_timer_thread_end(t);
	lived = cp_wall_of(t)->ended - cp_wall_of(t)->began;
	cp_wall_answer_ended(&run, t);
	CHECK_EQ(cp_wall.counts.unsampled, lived);
	CHECK_EQ(cp_wall.counts.unanswered, 0);
	CHECK_EQ(sum(1, 0), 0);
	finish(thread, t);
	cp_wall.stopped = 0;
	cp_wall.blind = false;
	end();
}

/* Of a program that runs for less than the kernel's tick, and was looked at. */
TEST(test_main_that_has_no_sample_has_its_time_at_the_entry)
{
	struct cp_thread *t = cp_thread_claim();
	uint64_t lived;

	begin();
	cp_store_relaxed(&t->tid, getpid());
	cp_store_release(&t->state, CP_THREAD_LIVE);
	cp_wall_timer_thread_begin(t);
	wait_ms(25);
	cp_wall_tick(&run);
	CHECK_EQ(cp_wall_of(t)->state, CP_WALL_RUNNING);
	cp_wall_timer_thread_end(t);
	lived = cp_wall_of(t)->ended - cp_wall_of(t)->began;
	cp_wall_answer_ended(&run, t);
	CHECK_EQ(sum(1, 0), lived);
	CHECK_EQ(sum(1, CP_WALL_RUNNING), cp_wall.counts.unanswered);
	CHECK_EQ(cp_wall.counts.unsampled, 0);
	CHECK_EQ(run.aggregate.locations.count, CP_LOCATION_FIRST + 1);
	CHECK_EQ(
		CP_VEC_AT(&run.aggregate.locations, struct cp_location, CP_LOCATION_FIRST)->address,
		getauxval(AT_ENTRY));
	cp_thread_free(t);
	end();
}

TEST(test_paused_threads_have_no_time)
{
	struct cp_thread *t;
	pthread_t thread;
	uint64_t before, until;

	begin();
	t = make(&thread);
	wait_ms(25);
	cp_wall_tick(&run);
	cp_store_relaxed(&t->paused, 1);
	wait_ms(25);
	cp_wall_tick(&run);
	before = sum(1, 0);
	CHECK_EQ(cp_wall_of(t)->state, CP_WALL_PAUSED);
	until = cp_sys_clock_ns(CLOCK_MONOTONIC);
	cp_wall_answer_settle(&run, t, until);
	CHECK_EQ(sum(1, 0), before);
	CHECK_EQ(before + cp_run_counted(&run, CP_COUNT_LOST_PAUSED), until - cp_wall_of(t)->began);
	finish(thread, t);
	end();
}

/* As if a fork copied V while it grows: the old contents are gone, and V has none yet. The child
 * dies of memory that it still uses; unmapped, the place might be another mapping's. */
static void check_fork_while(const struct cp_vec *v)
{
	int status = -1;
	pid_t child = fork();

	if (!child) {
		mprotect(v->items, v->room * v->size, PROT_NONE);
		cp_self.thread = cp_thread_claim();
		cp_thread_enter(cp_self.thread);
		cp_thread_fork_child(cp_self.thread);
		cp_modules_init(&modules);
		cp_run_begin(&run, &modules, NULL);
		cp_wall_fork_child(&run, cp_self.thread);
		cp_wall_tick(&run);
		_exit(0);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
}

TEST(test_a_fork_while_the_list_of_due_times_grows)
{
	begin();
	cp_wall_tick(&run);
	CHECK(cp_wall.due.items != NULL);
	check_fork_while(&cp_wall.due);
	end();
}
