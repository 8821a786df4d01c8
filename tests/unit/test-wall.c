/* SPDX-License-Identifier: BSD-3-Clause */
/* The wall clock: a thread's rows hold its time, whenever it was visited; and when that is. */
#include "base/sys.h"
#include "wall-host.h"
#include "modes/wall/wall_slow.h"
#include "modes/wall/wall_stack.h"
#include "modes/wall/signal/wall_thread.h"

#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

void *__real_cp_vec_add(struct cp_vec *v);
void *__wrap_cp_vec_add(struct cp_vec *v);

static struct cp_vec *grown;

void *__wrap_cp_vec_add(struct cp_vec *v)
{
	grown = v;
	return __real_cp_vec_add(v);
}

static void wait_ms(long ms)
{
	struct timespec t = { 0, ms * 1000000 };

	nanosleep(&t, NULL);
}

static void test_late_visits_lose_no_time(void)
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

static void test_an_end_between_visits_is_the_end_of_its_time(void)
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

static void test_an_end_between_drain_and_dump_is_in_the_dump(void)
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
static void test_an_end_after_the_stop_takes_no_time_from_then(void)
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
static void test_an_end_before_the_start_has_no_time_in_the_run(void)
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

static void test_a_thread_that_was_not_visited_has_its_time_at_its_start(void)
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
static void test_a_thread_that_was_seen_nowhere_has_unsampled_time(void)
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
static void test_main_that_has_no_sample_has_its_time_at_the_entry(void)
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
	CHECK_EQ(sum(1, CP_WALL_RUNNING), lived);
	CHECK_EQ(cp_wall.counts.unanswered, lived);
	CHECK_EQ(cp_wall.counts.unsampled, 0);
	CHECK_EQ(run.aggregate.locations.count, CP_LOCATION_FIRST + 1);
	CHECK_EQ(
		CP_VEC_AT(&run.aggregate.locations, struct cp_location, CP_LOCATION_FIRST)->address,
		getauxval(AT_ENTRY));
	cp_thread_free(t);
	end();
}

static void test_paused_threads_have_no_time(void)
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

static void tick_when_due(void)
{
	uint64_t now = cp_sys_clock_ns(CLOCK_MONOTONIC), due = cp_wall_due();

	if (due > now && due - now < 1000000000)
		wait_ms((long)(due - now) / 1000000 + 1);
	now = cp_sys_clock_ns(CLOCK_MONOTONIC);
	cp_wall_tick(&run);
	due = cp_wall_due();
	CHECK(due > now && due - now < 1000000000);
}

/* A run of 25 days at 1000 Hz: the number of the tick needs more than 32 bits. */
static void test_ticks_go_on_after_two_to_the_32(void)
{
	uint64_t wrap, now, visits, started;
	struct cp_thread *t;
	pthread_t thread;

	started = cp_sys_clock_ns(CLOCK_MONOTONIC);
	begin();
	t = make(&thread);
	wrap = cp_sys_clock_ns(CLOCK_MONOTONIC) + 35000000;
	cp_wall.began = wrap - (cp_wall.tick_ns << 32);
	do {
		tick_when_due();
		now = cp_sys_clock_ns(CLOCK_MONOTONIC);
	} while (now < wrap);
	visits = cp_wall.counts.visits;
	for (int i = 0; i < 8; i++)
		tick_when_due();
	CHECK(cp_wall.counts.visits > visits);
	now = cp_sys_clock_ns(CLOCK_MONOTONIC);
	CHECK(cp_wall.counts.late <= (now - started) / cp_wall.tick_ns + 1);
	cp_wall_answer_settle(&run, t, now);
	CHECK_EQ(sum(1, 0), now - cp_wall_of(t)->began);
	finish(thread, t);
	end();
}

#define MANY 300

static uint64_t due_of(const struct cp_thread *t)
{
	return *CP_VEC_AT(&cp_wall.due, uint64_t, t->index);
}

/* A visit that may come anywhere in a rest is at a random place in its span only if that is made of
 * whole rests. */
static void check_whole_rests(struct cp_thread *const *t)
{
	for (int i = 0; i < MANY; i++) {
		CHECK_EQ(cp_wall_of(t[i])->until % cp_wall.rest, 0);
		CHECK_EQ(cp_wall_of(t[i])->span % cp_wall.rest, 0);
		CHECK(due_of(t[i]) & CP_WALL_LAZY);
		CHECK(due_of(t[i]) >= CP_WALL_DUE(cp_wall_of(t[i])->until, 0));
		CHECK(due_of(t[i]) <=
		      CP_WALL_DUE(cp_wall_of(t[i])->until + cp_wall_of(t[i])->span - 1, 1));
	}
}

static void finish_all(const pthread_t *threads, struct cp_thread *const *t)
{
	for (int i = 0; i < MANY; i++)
		sem_post(&done);
	for (int i = 0; i < MANY; i++) {
		pthread_join(threads[i], NULL);
		cp_thread_free(t[i]);
	}
}

static void test_many_that_wait_let_the_pacer_rest(void)
{
	static struct cp_thread *t[MANY];
	static pthread_t threads[MANY];
	uint64_t until, all = 0;

	begin_at(100);
	t[0] = make(&threads[0]);
	for (int i = 1; i < MANY; i++)
		t[i] = make_another(&threads[i]);
	for (int i = 0; i < 2000 && cp_wall.length < cp_wall.rest; i++)
		tick_when_due();
	CHECK_EQ(cp_wall.length, cp_wall.rest);
	check_whole_rests(t);
	CHECK_EQ(cp_wall.end % cp_wall.rest, 0);
	for (int i = 0; i < 6; i++)
		tick_when_due();
	until = cp_sys_clock_ns(CLOCK_MONOTONIC);
	for (int i = 0; i < MANY; i++) {
		cp_wall_answer_settle(&run, t[i], until);
		all += until - cp_wall_of(t[i])->began;
	}
	CHECK_EQ(sum(1, 0), all);
	finish_all(threads, t);
	end();
}

/* Ticks until the pacer rests, which a thread that waits lets it do after some time. */
static struct cp_thread *make_idle(pthread_t *thread)
{
	struct cp_thread *t;

	begin_at(100);
	t = make(thread);
	for (int i = 0; i < 1000 && !cp_wall_resting; i++)
		tick_when_due();
	CHECK_EQ(cp_wall_resting, 1);
	return t;
}

static void test_one_that_waits_for_long_lets_the_pacer_rest(void)
{
	uint64_t began = cp_sys_clock_ns(CLOCK_MONOTONIC), until;
	pthread_t thread;
	struct cp_thread *t = make_idle(&thread);

	CHECK(cp_sys_clock_ns(CLOCK_MONOTONIC) - began >= 60 * cp_wall.tick_ns);
	CHECK_EQ(cp_wall.length, cp_wall.rest);
	CHECK_EQ(cp_wall_of(t)->span % cp_wall.rest, 0);
	for (int i = 0; i < 4; i++)
		tick_when_due();
	until = cp_sys_clock_ns(CLOCK_MONOTONIC);
	cp_wall_answer_settle(&run, t, until);
	CHECK_EQ(sum(1, CP_WALL_WAITING), until - cp_wall_of(t)->began);
	/* Once it was seen to run, each tick has a visit again. */
	cp_wall_of(t)->clock = 0;
	while (!cp_wall_of(t)->clock)
		tick_when_due();
	CHECK_EQ(cp_wall_of(t)->span, 1);
	CHECK_EQ(cp_wall.length, 1);
	CHECK_EQ(cp_wall_resting, 0);
	finish(thread, t);
	end();
}

static void test_a_thread_that_begins_ends_the_rest(void)
{
	pthread_t threads[2];
	struct cp_thread *t[2] = { make_idle(&threads[0]) };
	uint64_t visits = cp_wall.counts.visits, late = cp_wall.counts.late, due = due_of(t[0]);

	t[1] = make_another(&threads[1]);
	CHECK_EQ(cp_wall_due(), CP_WALL_NOW);
	CHECK_EQ(cp_wall_resting, 0);
	cp_wall_tick(&run);
	CHECK_EQ(cp_wall_of(t[1])->state, CP_WALL_WAITING);
	/* The other's visit stays where chance has put it. */
	CHECK_EQ(cp_wall.counts.visits, visits + 1);
	CHECK_EQ(due_of(t[0]), due);
	CHECK_EQ(cp_wall.counts.late, late);
	CHECK(cp_wall_due() != CP_WALL_NOW && cp_wall.length == 1);
	finish(threads[0], t[0]);
	finish(threads[1], t[1]);
	end();
}

/* A begin that comes too late for the stop, or before the rest, changes nothing. */
static void test_no_rest_is_ended_where_there_is_none(void)
{
	pthread_t thread;
	struct cp_thread *t = make_idle(&thread);

	cp_wall_stop();
	cp_wall_timer_end_rest();
	CHECK_EQ(cp_wall_due(), UINT64_MAX);
	cp_wall_start(&run, 100);
	cp_wall_timer_end_rest();
	CHECK(cp_wall_due() != CP_WALL_NOW);
	finish(thread, t);
	end();
}

static void test_a_thread_that_begins_is_visited_at_once(void)
{
	pthread_t threads[2];
	struct cp_thread *t[2];

	begin();
	t[0] = make(&threads[0]);
	wait_ms(25);
	cp_wall_tick(&run);
	CHECK_EQ(cp_wall_of(t[0])->state, CP_WALL_WAITING);
	t[1] = make_another(&threads[1]);
	wait_ms(25);
	cp_wall_tick(&run);
	CHECK_EQ(cp_wall_of(t[1])->state, CP_WALL_WAITING);
	sem_post(&done);
	finish(threads[0], t[0]);
	pthread_join(threads[1], NULL);
	cp_thread_free(t[1]);
	end();
}

static sem_t asked_to_work;

static void *worker(void *arg)
{
	uint64_t until;

	tid = (int)syscall(SYS_gettid);
	sem_post(&begun);
	sem_wait(&asked_to_work);
	until = cp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID) + cp_wall.kernel_tick_ns;
	while (cp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID) < until)
		;
	sem_post(&begun);
	sem_wait(&done);
	return arg;
}

/* Or what it did, when it is found running one day, would go to where it waits. */
static void test_who_works_between_visits_is_asked_for_a_stack(void)
{
	struct cp_thread *t;
	pthread_t thread;

	begin();
	sem_init(&begun, 0, 0);
	sem_init(&done, 0, 0);
	sem_init(&asked_to_work, 0, 0);
	t = make_of(&thread, worker);
	wait_ms(25);
	cp_wall_tick(&run);
	CHECK_EQ(cp_wall_of(t)->state, CP_WALL_WAITING);
	CHECK_EQ(cp_wall_of(t)->timer, CP_NO_TIMER);
	sem_post(&asked_to_work);
	sem_wait(&begun);
	await_sleep(tid);
	wait_ms(25);
	cp_wall_tick(&run);
	CHECK_EQ(cp_wall_of(t)->state, CP_WALL_WAITING);
	CHECK(cp_wall_of(t)->timer != CP_NO_TIMER);
	cp_wall_timer_thread_end(t);
	finish(thread, t);
	end();
}

/* So long a tick that none ends while the test runs, and its twentieth is far more than the test
 * uses up. */
#define LONG_TICK UINT64_C(1000000000000)
#define SHARE (LONG_TICK / 20)

/* How many shares there are, after a tick at number TICK. */
static int64_t budget_at(uint64_t tick)
{
	cp_wall.began = cp_sys_clock_ns(CLOCK_MONOTONIC) - tick * LONG_TICK - LONG_TICK / 2;
	cp_wall_tick(&run);
	/* Less what the tick cost. */
	return (cp_wall.budget + (int64_t)SHARE / 2) / (int64_t)SHARE;
}

static void test_cpu_time_is_earned_by_the_time_that_passed(void)
{
	begin();
	cp_wall.tick_ns = LONG_TICK;
	cp_wall.step = 1;
	cp_wall.budget = 0;
	CHECK_EQ(budget_at(1), 1);
	CHECK_EQ(budget_at(2), 2);
	/* Late by two. */
	CHECK_EQ(budget_at(5), 5);
	/* The savings are bounded, and so is the amount that pays back a debt at once. */
	CHECK_EQ(budget_at(1000), 8);
	cp_wall.budget = -20 * (int64_t)SHARE;
	CHECK_EQ(budget_at(2000), -11);
	CHECK_EQ(budget_at(2003), -8);
	end();
}

#define SOME 4

static int count_seen(struct cp_thread *const *t)
{
	int seen = 0;

	for (int i = 0; i < SOME; i++)
		seen += cp_wall_of(t[i])->state != CP_WALL_UNSEEN;
	return seen;
}

static void test_without_cpu_time_the_next_tick_goes_on(void)
{
	struct cp_thread *t[SOME];
	pthread_t threads[SOME];

	begin();
	t[0] = make(&threads[0]);
	for (int i = 1; i < SOME; i++)
		t[i] = make_another(&threads[i]);
	/* Each record is come to once; many are of threads of other tests, which have ended. */
	for (uint32_t i = 0; i < cp_thread_limit() && count_seen(t) < SOME; i++) {
		uint64_t visits = cp_wall.counts.visits;

		cp_wall.budget = INT64_MIN / 2;
		cp_wall_tick(&run);
		CHECK(cp_wall.counts.visits <= visits + 1);
		CHECK_EQ(count_seen(t), cp_wall.counts.visits);
	}
	CHECK_EQ(count_seen(t), SOME);
	for (int i = 0; i < SOME; i++)
		sem_post(&done);
	for (int i = 0; i < SOME; i++) {
		pthread_join(threads[i], NULL);
		cp_thread_free(t[i]);
	}
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
		cp_run_begin(&run, &modules);
		cp_wall_fork_child(&run, cp_self.thread);
		cp_wall_tick(&run);
		cp_wall_slow_note(&run, 1, 0, 1, 1);
		_exit(0);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
}

static void test_a_fork_while_the_list_of_due_times_grows(void)
{
	begin();
	cp_wall_tick(&run);
	CHECK(cp_wall.due.items != NULL);
	check_fork_while(&cp_wall.due);
	end();
}

static void test_a_fork_while_the_notes_of_open_spans_grow(void)
{
	begin();
	cp_wall_slow_note(&run, 1, 0, 1, 1);
	CHECK(grown->items != NULL);
	check_fork_while(grown);
	cp_wall_slow_forget();
	end();
}

int main(void)
{
	RUN(test_late_visits_lose_no_time);
	RUN(test_an_end_between_visits_is_the_end_of_its_time);
	RUN(test_an_end_between_drain_and_dump_is_in_the_dump);
	RUN(test_an_end_after_the_stop_takes_no_time_from_then);
	RUN(test_an_end_before_the_start_has_no_time_in_the_run);
	RUN(test_a_thread_that_was_not_visited_has_its_time_at_its_start);
	RUN(test_a_thread_that_was_seen_nowhere_has_unsampled_time);
	RUN(test_main_that_has_no_sample_has_its_time_at_the_entry);
	RUN(test_paused_threads_have_no_time);
	RUN(test_ticks_go_on_after_two_to_the_32);
	RUN(test_many_that_wait_let_the_pacer_rest);
	RUN(test_one_that_waits_for_long_lets_the_pacer_rest);
	RUN(test_a_thread_that_begins_ends_the_rest);
	RUN(test_no_rest_is_ended_where_there_is_none);
	RUN(test_a_thread_that_begins_is_visited_at_once);
	RUN(test_who_works_between_visits_is_asked_for_a_stack);
	RUN(test_cpu_time_is_earned_by_the_time_that_passed);
	RUN(test_without_cpu_time_the_next_tick_goes_on);
	RUN(test_a_fork_while_the_list_of_due_times_grows);
	RUN(test_a_fork_while_the_notes_of_open_spans_grow);
	return harness_end();
}
