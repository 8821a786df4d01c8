/* SPDX-License-Identifier: BSD-3-Clause */
/* Running threads whose stack comes late: whose time it is for. */
#include "wall-host.h"
#include "modes/wall/signal/wall_signal.h"

/* A stack as the handler leaves it: at PC, under this label set. */
static const struct cp_record *stack_at(void (*f)(void), uint32_t labels)
{
	static uint64_t words[CP_RECORD_WORDS(1)], number;
	struct cp_record *record = (struct cp_record *)words;

	*record = (struct cp_record){ .mode = CPROF_WALL,
				      .depth = 1,
				      .end = CP_UNWIND_COMPLETE,
				      .tag = ++number,
				      .labels = labels };
	record->pcs[0] = (uint64_t)(uintptr_t)f;
	return record;
}

/* The time of the rows at F in STATE. */
static uint64_t at(void (*f)(void), enum cp_wall_state state)
{
	uint64_t all = 0;

	take_samples();
	for (uint32_t i = 0; i < run.aggregate.stacks.count; i++) {
		const struct cp_stack *s = cp_aggregate_row_at(&run.aggregate, i);

		if (CP_WALL_ROW_STATE(s->tag) == state &&
		    CP_VEC_AT(&run.aggregate.locations, struct cp_location, s->locations[0])
				    ->address == (uint64_t)(uintptr_t)f)
			all += s->values[1];
	}
	return all;
}

static uint64_t sum_under(uint32_t labels)
{
	uint64_t all = 0;

	take_samples();
	for (uint32_t i = 0; i < run.aggregate.stacks.count; i++) {
		const struct cp_stack *s = cp_aggregate_row_at(&run.aggregate, i);

		all += s->labels == labels ? s->values[1] : 0;
	}
	return all;
}

/* T runs one request: a stack of it comes at once, then none for 6 ms, in which it is seen twice
 * more, the last time LATER ns after it was asked. ANSWER: its labels at that time. */
static void serve(struct cp_thread *t, uint32_t request, uint64_t later, uint32_t answer)
{
	uint64_t now = cp_wall_of(t)->began;

	cp_wall_of(t)->given = now;
	cp_wall_of(t)->state = CP_WALL_RUNNING;
	cp_wall_answer_ask(t, request, now);
	cp_wall_visit_record(&run, t, stack_at(begin, request));
	cp_wall_time_give(&run, t, now + 1000000);
	cp_wall_answer_ask(t, request, now + 1000000);
	cp_wall_time_give(&run, t, now + 3000000);
	cp_wall_answer_still_unanswered(&run, t, request, now + 1000000 + later);
	cp_wall_answer_ask(t, request, now + 1000000 + later);
	cp_wall_time_give(&run, t, now + 7000000);
	CHECK_EQ(cp_wall_of(t)->owed[CP_WALL_RUNNING], 6000000);
	cp_wall_visit_record(&run, t, stack_at(end, answer));
	CHECK_EQ(cp_wall_of(t)->owed[CP_WALL_RUNNING], 0);
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

enum { first, labelled, second };

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

/* Nothing was seen under those labels before: there is no better stack than the answer's. */
static void answer_late(struct cp_thread *t)
{
	cp_wall_of(t)->given = cp_wall_of(t)->began;
	cp_wall_of(t)->state = CP_WALL_RUNNING;
	cp_wall_answer_ask(t, second, cp_wall_of(t)->began);
	cp_wall_time_give(&run, t, cp_wall_of(t)->began + 5000000);
	cp_wall_answer_still_unanswered(&run, t, second,
					cp_wall_of(t)->began + cp_wall.kernel_tick_ns);
	cp_wall_visit_record(&run, t, stack_at(end, labelled));
}

static void check_late_and_unknown(struct cp_thread *t)
{
	answer_late(t);
	CHECK_EQ(sum_under(1), 5000000);
}

/* It was seen waiting under those labels. */
static void check_late_behind_a_wait(struct cp_thread *t)
{
	cp_wall_time_set_row(&run, t, CP_WALL_WAITING, stack_at(begin, second), 0);
	answer_late(t);
	CHECK_EQ(sum_under(second), 5000000);
	CHECK_EQ(sum(1, CP_WALL_RUNNING), 5000000);
}

/* Found under other labels before any answer. */
static void check_next_labels(struct cp_thread *t)
{
	uint64_t now = cp_wall_of(t)->began;

	cp_wall_of(t)->given = now;
	cp_wall_of(t)->state = CP_WALL_RUNNING;
	cp_wall_answer_ask(t, first, now);
	cp_wall_visit_record(&run, t, stack_at(begin, first));
	cp_wall_answer_ask(t, first, now);
	cp_wall_time_give(&run, t, now + 5000000);
	cp_wall_answer_still_unanswered(&run, t, labelled, now + cp_wall.kernel_tick_ns);
	CHECK_EQ(cp_wall_of(t)->owed[CP_WALL_RUNNING], 0);
	CHECK_EQ(sum_under(0), 5000000);
	cp_wall_answer_ask(t, labelled, now + cp_wall.kernel_tick_ns);
	CHECK(!cp_wall_of(t)->late && cp_wall_of(t)->unanswered);
	cp_wall_time_give(&run, t, now + 6000000);
	cp_wall_visit_record(&run, t, stack_at(end, labelled));
	CHECK_EQ(sum_under(1), 1000000);
}

/* Ready to run for 8 ms, of which the thread ran for 2. */
static void be_runnable(struct cp_thread *t)
{
	struct cp_wall_thread *w = cp_wall_of(t);

	w->given = w->began;
	w->state = CP_WALL_RUNNABLE;
	w->ran = 2000000;
	cp_wall_answer_ask(t, labelled, w->began);
}

static void go_on(struct cp_thread *t)
{
	cp_wall_time_give(&run, t, cp_wall_of(t)->began + 8000000);
}

static void elsewhere(void)
{
}

static void check_goes_on(struct cp_thread *t)
{
	cp_wall_time_set_row(&run, t, CP_WALL_WAITING, stack_at(begin, first), 0);
	be_runnable(t);
	go_on(t);
	/* It waits elsewhere before its sample comes. */
	cp_wall_time_set_row(&run, t, CP_WALL_WAITING, stack_at(elsewhere, first), 0);
	cp_wall_visit_record(&run, t, stack_at(end, labelled));
	CHECK_EQ(at(end, CP_WALL_RUNNING), 2000000);
	CHECK_EQ(at(end, CP_WALL_RUNNABLE), 6000000);
	CHECK_EQ(sum_under(1), 8000000);
	CHECK_EQ(sum(1, 0), 8000000);
	/* What it ran is accounted. */
	cp_wall_answer_ask(t, labelled, cp_wall_of(t)->began);
	cp_wall_time_give(&run, t, cp_wall_of(t)->began + 9000000);
	cp_wall_visit_record(&run, t, stack_at(end, labelled));
	CHECK_EQ(sum(1, CP_WALL_RUNNING), 2000000);
}

/* The sample comes before the visit that gives the time: it is that sample's. */
static void check_answered_at_once(struct cp_thread *t)
{
	cp_wall_time_set_row(&run, t, CP_WALL_WAITING, stack_at(begin, labelled), 0);
	cp_wall_time_set_row(&run, t, CP_WALL_RUNNABLE, stack_at(elsewhere, first), 0);
	be_runnable(t);
	cp_wall_visit_record(&run, t, stack_at(end, labelled));
	go_on(t);
	CHECK_EQ(at(elsewhere, CP_WALL_RUNNABLE), 0);
	CHECK_EQ(at(end, CP_WALL_RUNNABLE), 6000000);
	CHECK_EQ(at(end, CP_WALL_RUNNING), 2000000);
}

/* It was ready to run at the end of its wait. */
static void check_woken(struct cp_thread *t)
{
	struct cp_wall_stretch *wait = &cp_wall_of(t)->open[CP_WALL_WAITING];

	cp_wall_answer_woken(&run, t, 5000000);
	CHECK_EQ(sum(1, 0), 0);
	cp_wall_time_set_row(&run, t, CP_WALL_WAITING, stack_at(begin, labelled), 0);
	cp_wall_time_set_row(&run, t, CP_WALL_RUNNABLE, stack_at(elsewhere, first), 0);
	*wait = (struct cp_wall_stretch){ .begin = 7000000, .ns = 8000000 };
	cp_wall_answer_woken(&run, t, 5000000);
	CHECK_EQ(wait->begin, 7000000);
	CHECK_EQ(wait->ns, 3000000);
	CHECK_EQ(at(begin, CP_WALL_RUNNABLE), 5000000);
	CHECK_EQ(sum_under(1), 5000000);
	/* Where it lost the processor before, and is owed time for that, it goes on as before. */
	be_runnable(t);
	cp_wall_of(t)->unanswered = false;
	go_on(t);
	CHECK_EQ(at(elsewhere, CP_WALL_RUNNABLE), 6000000);
}

static void check_runnable_at_the_end(struct cp_thread *t)
{
	cp_wall_time_set_row(&run, t, CP_WALL_WAITING, stack_at(begin, labelled), 0);
	be_runnable(t);
	cp_wall_answer_settle(&run, t, cp_wall_of(t)->began + 8000000);
	CHECK_EQ(cp_wall_exact_untold(t), 0);
	CHECK_EQ(at(begin, CP_WALL_RUNNABLE) + at(begin, CP_WALL_RUNNING), 8000000);
}

TEST(test_time_without_a_processor)
{
	with_thread(check_goes_on);
	with_thread(check_answered_at_once);
	with_thread(check_woken);
	with_thread(check_runnable_at_the_end);
}

/* One wait of 300 ms, and sixty visits that found short waits, which were a fifth shorter than that
 * tells. */
static void check_long_wait(struct cp_thread *t)
{
	uint32_t *row = &cp_wall_of(t)->row[CP_WALL_WAITING];

	cp_wall_time_set_row(&run, t, CP_WALL_WAITING, stack_at(begin, first), 0);
	cp_wall_strata_sample(&run, t, CP_WALL_WAITING, *row - 1, 300000000);
	cp_wall_time_set_row(&run, t, CP_WALL_WAITING, stack_at(end, first), 0);
	for (int i = 0; i < 60; i++)
		cp_wall_strata_sample(&run, t, CP_WALL_WAITING, *row - 1, 5000000);
	cp_wall_of(t)->sampled[CP_WALL_WAITING] = 540000000;
	CHECK(at(begin, CP_WALL_WAITING) > 290000000);
	CHECK_EQ(sum(1, 0), 540000000);
}

TEST(test_a_long_wait_does_not_bear_the_error_of_short_ones)
{
	with_thread(check_long_wait);
}

TEST(test_late_answers_are_not_for_what_was_seen_under_other_labels)
{
	with_thread(check_prompt);
	with_thread(check_late);
	with_thread(check_late_in_the_same);
	with_thread(check_late_and_unknown);
	with_thread(check_late_behind_a_wait);
	with_thread(check_next_labels);
}
