/* SPDX-License-Identifier: BSD-3-Clause */
/* The wall clock: when it visits which thread, and when it rests. */
#include "base/sys.h"
#include "wall-host.h"
#include "modes/wall/wall.h"
#include "modes/wall/signal/wall_signal.h"

#include <sched.h>
#include <time.h>

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
TEST(test_ticks_go_on_after_two_to_the_32)
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

TEST(test_many_that_wait_let_the_pacer_rest)
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

TEST(test_one_that_waits_for_long_lets_the_pacer_rest)
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

TEST(test_a_thread_that_begins_ends_the_rest)
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
TEST(test_no_rest_is_ended_where_there_is_none)
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

TEST(test_a_thread_that_begins_is_visited_at_once)
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
TEST(test_who_works_between_visits_is_asked_for_a_stack)
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

static sem_t woken;
static uint32_t over;

/* It gets the processor when the thread that wakes it gives it up. */
static void *sleeper(void *arg)
{
	struct sched_param none = { 0 };

	sched_setscheduler(0, SCHED_BATCH, &none);
	tid = (int)syscall(SYS_gettid);
	sem_post(&begun);
	while (!cp_load_acquire(&over))
		sem_wait(&woken);
	return arg;
}

static void stay_on_this_processor(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((unsigned)sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
}

/* T's wait ends just before it is visited. REPORTED: how long it was ready to run, of which rows
 * have got all. Returns true if it is taken for ready to run where it waits again. */
static bool is_taken_for_ready(struct cp_thread *t, uint64_t reported)
{
	struct cp_wall_thread *w = cp_wall_of(t);

	sem_post(&woken);
	await_sleep(tid);
	w->unanswered = w->delay_unknown = false;
	w->told_delay = reported;
	memset(w->owed, 0, sizeof(w->owed));
	memset(w->sampled, 0, sizeof(w->sampled));
	*CP_VEC_AT(&cp_wall.due, uint64_t, t->index) = CP_WALL_DUE(0, true);
	sem_post(&woken);
	cp_wall_tick(&run);
	await_sleep(tid);
	return w->state == CP_WALL_RUNNABLE && !w->unanswered;
}

TEST(test_the_kernels_count_tells_who_was_ready_to_run)
{
	struct cp_thread *t;
	pthread_t thread;
	int ready = 0;

	begin();
	stay_on_this_processor();
	sem_init(&begun, 0, 0);
	sem_init(&woken, 0, 0);
	t = make_of(&thread, sleeper);
	cp_wall_tick(&run);
	for (int i = 0; i < 10; i++)
		ready += is_taken_for_ready(t, UINT64_MAX / 2);
	CHECK_EQ(ready, 0);
	/* On a busy machine it seldom waits again in time. */
	for (int i = 0; i < 1000 && !ready; i++)
		ready += is_taken_for_ready(t, 0);
	CHECK_EQ(ready, 1);
	cp_wall_timer_thread_end(t);
	cp_store_release(&over, 1);
	sem_post(&woken);
	finish(thread, t);
	end();
}

static void visit_now(const struct cp_thread *t)
{
	*CP_VEC_AT(&cp_wall.due, uint64_t, t->index) = CP_WALL_DUE(0, true);
	cp_wall_tick(&run);
}

/* T is visited twice while it waits. Its wait ends, but this thread keeps the processor. When T has
 * run and waits again, it is visited. Returns how long it was ready to run, and has stored in *TOLD
 * how much of that the visit told. */
static uint64_t starve(struct cp_thread *t, uint64_t *told)
{
	struct cp_wall_thread *w = cp_wall_of(t);
	uint64_t end, before = 0, after = 0;

	visit_now(t);
	visit_now(t);
	*told = w->sampled[CP_WALL_RUNNABLE];
	CHECK(cp_wall_exact_delay(t, &before));
	end = cp_sys_clock_ns(CLOCK_MONOTONIC) + 10000000;
	sem_post(&woken);
	while (cp_sys_clock_ns(CLOCK_MONOTONIC) < end)
		;
	await_sleep(tid);
	CHECK(cp_wall_exact_delay(t, &after));
	visit_now(t);
	*told = w->sampled[CP_WALL_RUNNABLE] - *told;
	return after - before;
}

/* The kernel preempts this thread at times; then T was ready to run for less. */
TEST(test_a_wait_that_ends_without_a_processor_ends_there)
{
	struct cp_thread *t;
	pthread_t thread;
	uint64_t ready = 0, told = 0;

	begin();
	stay_on_this_processor();
	cp_store_release(&over, 0);
	sem_init(&begun, 0, 0);
	sem_init(&woken, 0, 0);
	t = make_of(&thread, sleeper);
	cp_wall_of(t)->moves = 2;
	for (int i = 0; i < 1000 && ready < 2000000; i++)
		ready = starve(t, &told);
	CHECK(ready >= 2000000);
	CHECK_EQ(told, ready);
	cp_wall_timer_thread_end(t);
	cp_store_release(&over, 1);
	sem_post(&woken);
	finish(thread, t);
	end();
}

static struct cp_thread *late;
static uint64_t delayed, birth, birth_told;

/* It is ready to run for 5 ms or more, because its processor is busy. */
static void *begin_late(void *arg)
{
	cp_store_relaxed(&late->tid, (int)syscall(SYS_gettid));
	while (!cp_wall_exact_delay(late, &delayed) || delayed < 5000000)
		sched_yield();
	birth = cp_wall_exact_birth(late);
	birth_told = cp_sys_clock_ns(CLOCK_MONOTONIC);
	cp_store_release(&over, 1);
	return arg;
}

TEST(test_a_thread_lives_before_it_first_runs)
{
	pthread_t thread;

	begin();
	cp_store_release(&over, 0);
	stay_on_this_processor();
	late = cp_thread_claim();
	cp_wall_timer_thread_created(late);
	pthread_create(&thread, NULL, begin_late, NULL);
	while (!cp_load_acquire(&over))
		;
	CHECK(birth + delayed <= birth_told);
	CHECK(birth >= cp_wall_of(late)->created);
	pthread_join(thread, NULL);
	cp_thread_free(late);
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

TEST(test_cpu_time_is_earned_by_the_time_that_passed)
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

TEST(test_without_cpu_time_the_next_tick_goes_on)
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
