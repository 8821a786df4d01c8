/* The wall clock's accounts: what a thread's rows hold is its time, whenever it was visited. */
#include "harness.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "mode.h"
#include "sigsafe/atomic.h"
#include "sigsafe/capture.h"
#include "sigsafe/sys.h"
#include "sigsafe/wall_event.h"
#include "wall.h"

static struct cp_modules modules;
static struct cp_run run;
static sem_t begun, done;
static int tid;

static void *waiter(void *arg)
{
	tid = (int)syscall(SYS_gettid);
	sem_post(&begun);
	sem_wait(&done);
	return arg;
}

static void begin_at(unsigned frequency)
{
	cp_capture_settings.max_depth = 64;
	cp_unwinder_dwarf.prepare();
	run = (struct cp_run){ .ops = &cp_mode_wall, .mode = CP_MODE_WALL, .running = true };
	cp_modules_init(&modules);
	cp_run_begin(&run, &modules);
	cp_wall_prepare();
	cp_wall_start(&run, frequency);
}

static void begin(void)
{
	begin_at(50);
}

static void end(void)
{
	cp_wall_stop();
	cp_run_release(&run);
	cp_modules_release(&modules);
}

static struct cp_thread *make_another(pthread_t *thread)
{
	struct cp_thread *t = cp_thread_claim();

	pthread_create(thread, NULL, waiter, NULL);
	sem_wait(&begun);
	t->start = waiter;
	cp_store_relaxed(&t->tid, tid);
	cp_store_release(&t->state, CP_THREAD_LIVE);
	cp_wall_thread_begin(t);
	return t;
}

/* A record for another thread, which waits until the semaphore DONE is posted. */
static struct cp_thread *make(pthread_t *thread)
{
	sem_init(&begun, 0, 0);
	sem_init(&done, 0, 0);
	return make_another(thread);
}

static void finish(pthread_t thread, struct cp_thread *t)
{
	sem_post(&done);
	pthread_join(thread, NULL);
	cp_thread_free(t);
}

static uint64_t sum(unsigned value, uint64_t tag)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < run.aggregate.stacks.count; i++) {
		const struct cp_stack *s = cp_aggregate_row_at(&run.aggregate, i);

		all += !tag || s->tag == tag ? s->values[value] : 0;
	}
	return all;
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
		until = t->wall.began + (i + 1) * 7000001;
		if (t->wall.state != CP_WALL_UNSEEN && until > t->wall.given)
			cp_wall_settle(&run, t, until);
	}
	until = cp_run_clock(CLOCK_MONOTONIC);
	cp_wall_settle(&run, t, until);
	CHECK_EQ(sum(1, 0), until - t->wall.began);
	CHECK_EQ(sum(0, 0), (until - t->wall.began) / 20000000);
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
	CHECK_EQ(t->wall.state, CP_WALL_WAITING);
	wait_ms(5);
	cp_wall_thread_end(t);
	wait_ms(5);
	cp_wall_settle(&run, t, cp_run_clock(CLOCK_MONOTONIC));
	CHECK_EQ(sum(1, 0), t->wall.ended - t->wall.began);
	finish(thread, t);
	end();
}

static void test_a_thread_that_was_not_met_has_its_time_at_its_start(void)
{
	struct cp_thread *t;
	pthread_t thread;
	uint64_t lived, ran;

	begin();
	t = make(&thread);
	wait_ms(3);
	cp_wall_thread_end(t);
	lived = t->wall.ended - t->wall.began;
	ran = t->wall.ended_cpu;
	CHECK(ran > 0 && ran < lived);
	cp_wall_gone(&run, t);
	CHECK_EQ(sum(1, CP_WALL_RUNNING), ran);
	CHECK_EQ(sum(1, CP_WALL_WAITING), lived - ran);
	CHECK_EQ(cp_wall.counts.unvisited, lived);
	finish(thread, t);
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
	CHECK_EQ(t->wall.state, CP_WALL_PAUSED);
	until = cp_run_clock(CLOCK_MONOTONIC);
	cp_wall_settle(&run, t, until);
	CHECK_EQ(sum(1, 0), before);
	CHECK_EQ(before + cp_run_counted(&run, CP_COUNT_LOST_PAUSED), until - t->wall.began);
	finish(thread, t);
	end();
}

static void tick_when_due(void)
{
	uint64_t now = cp_run_clock(CLOCK_MONOTONIC), due = cp_wall_due();

	if (due > now && due - now < 1000000000)
		wait_ms((long)(due - now) / 1000000 + 1);
	now = cp_run_clock(CLOCK_MONOTONIC);
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

	started = cp_run_clock(CLOCK_MONOTONIC);
	begin();
	t = make(&thread);
	wrap = cp_run_clock(CLOCK_MONOTONIC) + 35000000;
	cp_wall.began = wrap - (cp_wall.tick_ns << 32);
	do {
		tick_when_due();
		now = cp_run_clock(CLOCK_MONOTONIC);
	} while (now < wrap);
	visits = cp_wall.counts.visits;
	for (int i = 0; i < 8; i++)
		tick_when_due();
	CHECK(cp_wall.counts.visits > visits);
	now = cp_run_clock(CLOCK_MONOTONIC);
	CHECK(cp_wall.counts.late <= (now - started) / cp_wall.tick_ns + 1);
	cp_wall_settle(&run, t, now);
	CHECK_EQ(sum(1, 0), now - t->wall.began);
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
		CHECK_EQ(t[i]->wall.until % CP_WALL_REST, 0);
		CHECK_EQ(t[i]->wall.span % CP_WALL_REST, 0);
		CHECK(due_of(t[i]) & CP_WALL_LAZY);
		CHECK(due_of(t[i]) >= CP_WALL_DUE(t[i]->wall.until, 0));
		CHECK(due_of(t[i]) <= CP_WALL_DUE(t[i]->wall.until + t[i]->wall.span - 1, 1));
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
	for (int i = 0; i < 2000 && cp_wall.length < CP_WALL_REST; i++)
		tick_when_due();
	CHECK_EQ(cp_wall.length, CP_WALL_REST);
	check_whole_rests(t);
	CHECK_EQ(cp_wall.end % CP_WALL_REST, 0);
	for (int i = 0; i < 6; i++)
		tick_when_due();
	until = cp_run_clock(CLOCK_MONOTONIC);
	for (int i = 0; i < MANY; i++) {
		cp_wall_settle(&run, t[i], until);
		all += until - t[i]->wall.began;
	}
	CHECK_EQ(sum(1, 0), all);
	finish_all(threads, t);
	end();
}

static void test_a_thread_that_begins_is_met_at_once(void)
{
	pthread_t threads[2];
	struct cp_thread *t[2];

	begin();
	t[0] = make(&threads[0]);
	wait_ms(25);
	cp_wall_tick(&run);
	CHECK_EQ(t[0]->wall.state, CP_WALL_WAITING);
	t[1] = make_another(&threads[1]);
	wait_ms(25);
	cp_wall_tick(&run);
	CHECK_EQ(t[1]->wall.state, CP_WALL_WAITING);
	sem_post(&done);
	finish(threads[0], t[0]);
	pthread_join(threads[1], NULL);
	cp_thread_free(t[1]);
	end();
}

/* A stack as the handler leaves it: at PC, under this label set, in this span. */
static const struct cp_record *stack_at(void (*f)(void), struct cp_wall_seen seen)
{
	static uint64_t words[CP_RECORD_WORDS(1)], number;
	struct cp_record *record = (struct cp_record *)words;

	*record = (struct cp_record){ .mode = CP_MODE_WALL,
				      .depth = 1,
				      .end = CP_UNWIND_COMPLETE,
				      .tag = ++number,
				      .labels = seen.labels,
				      .span = seen.span };
	record->pcs[0] = (uint64_t)(uintptr_t)f;
	return record;
}

static uint64_t sum_under(uint32_t labels)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < run.aggregate.stacks.count; i++) {
		const struct cp_stack *s = cp_aggregate_row_at(&run.aggregate, i);

		all += s->labels == labels ? s->values[1] : 0;
	}
	return all;
}

/* T runs one request: a stack of it comes at once, then none for 6 ms, in which it is seen twice
 * more, the last time LATER ns after it was asked. What it does then is in ANSWER. */
static void serve(struct cp_thread *t, struct cp_wall_seen request, uint64_t later,
		  struct cp_wall_seen answer)
{
	uint64_t now = t->wall.began;

	t->wall.given = now;
	t->wall.state = CP_WALL_RUNNING;
	cp_wall_ask(t, request, now);
	cp_wall_record(&run, t, stack_at(tick_when_due, request));
	cp_wall_give(&run, t, now + 1000000);
	cp_wall_ask(t, request, now + 1000000);
	cp_wall_give(&run, t, now + 3000000);
	cp_wall_still_unanswered(&run, t, request, now + 1000000 + later);
	cp_wall_ask(t, request, now + 1000000 + later);
	cp_wall_give(&run, t, now + 7000000);
	CHECK_EQ(t->wall.owed[CP_WALL_RUNNING], 6000000);
	cp_wall_record(&run, t, stack_at(end, answer));
	CHECK_EQ(t->wall.owed[CP_WALL_RUNNING], 0);
	CHECK_EQ(sum(1, 0), 7000000);
}

static void with_thread(void (*check)(struct cp_thread *))
{
	struct cp_thread *t;
	pthread_t thread;

	begin();
	t = make(&thread);
	check(t);
	finish(thread, t);
	end();
}

static const struct cp_wall_seen first = { 0, 1 }, second = { 0, 2 }, labelled = { 1, 1 };

static void check_prompt(struct cp_thread *t)
{
	serve(t, first, cp_wall.kernel_tick_ns - 1, labelled);
	CHECK_EQ(sum_under(1), 6000000);
}

static void check_late(struct cp_thread *t)
{
	serve(t, first, cp_wall.kernel_tick_ns, labelled);
	CHECK_EQ(sum_under(1), 0);
	CHECK_EQ(cp_wall.counts.unanswered, 6000000);
}

static void check_late_in_the_same(struct cp_thread *t)
{
	serve(t, labelled, cp_wall.kernel_tick_ns, labelled);
	CHECK_EQ(sum_under(1), 7000000);
	CHECK_EQ(cp_wall.counts.unanswered, 0);
}

/* Nothing was seen in that span before: there is no better stack than the answer's. */
static void answer_late(struct cp_thread *t)
{
	t->wall.given = t->wall.began;
	t->wall.state = CP_WALL_RUNNING;
	cp_wall_ask(t, second, t->wall.began);
	cp_wall_give(&run, t, t->wall.began + 5000000);
	cp_wall_still_unanswered(&run, t, second, t->wall.began + cp_wall.kernel_tick_ns);
	cp_wall_record(&run, t, stack_at(end, labelled));
}

static void check_late_and_unknown(struct cp_thread *t)
{
	answer_late(t);
	CHECK_EQ(sum_under(1), 5000000);
}

/* It was seen waiting in that span. */
static void check_late_behind_a_wait(struct cp_thread *t)
{
	cp_wall_set_row(&run, t, CP_WALL_WAITING, stack_at(tick_when_due, second));
	answer_late(t);
	CHECK_EQ(sum_under(0), 5000000);
	CHECK_EQ(sum(1, CP_WALL_RUNNING), 5000000);
}

/* Found in another span before any answer. */
static void check_next_span(struct cp_thread *t)
{
	uint64_t now = t->wall.began;

	t->wall.given = now;
	t->wall.state = CP_WALL_RUNNING;
	cp_wall_ask(t, first, now);
	cp_wall_record(&run, t, stack_at(tick_when_due, first));
	cp_wall_ask(t, first, now);
	cp_wall_give(&run, t, now + 5000000);
	cp_wall_still_unanswered(&run, t, labelled, now + cp_wall.kernel_tick_ns);
	CHECK_EQ(t->wall.owed[CP_WALL_RUNNING], 0);
	CHECK_EQ(sum_under(0), 5000000);
	cp_wall_ask(t, labelled, now + cp_wall.kernel_tick_ns);
	CHECK(!t->wall.late && t->wall.unanswered);
	cp_wall_give(&run, t, now + 6000000);
	cp_wall_record(&run, t, stack_at(end, labelled));
	CHECK_EQ(sum_under(1), 1000000);
}

static void test_late_answers_are_not_for_what_was_seen_under_other_labels(void)
{
	with_thread(check_prompt);
	with_thread(check_late);
	with_thread(check_late_in_the_same);
	with_thread(check_late_and_unknown);
	with_thread(check_late_behind_a_wait);
	with_thread(check_next_span);
}

int main(void)
{
	/* Timers are armed for threads that are found running; nobody takes their signals. */
	signal(SIGPROF, SIG_IGN);
	RUN(test_late_visits_lose_no_time);
	RUN(test_an_end_between_visits_is_the_end_of_its_time);
	RUN(test_a_thread_that_was_not_met_has_its_time_at_its_start);
	RUN(test_paused_threads_have_no_time);
	RUN(test_ticks_go_on_after_two_to_the_32);
	RUN(test_many_that_wait_let_the_pacer_rest);
	RUN(test_a_thread_that_begins_is_met_at_once);
	RUN(test_late_answers_are_not_for_what_was_seen_under_other_labels);
	return harness_end();
}
