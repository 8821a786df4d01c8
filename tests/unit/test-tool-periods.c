/* SPDX-License-Identifier: BSD-3-Clause */
/* tools/verbs/timeline_periods.c: what returns is found, whoever else uses its functions; chance
 * has no period. And timeline_pieces.c: no thread does more than is possible. */
#include <stdlib.h>
#include <string.h>

#include "chance.h"
#include "core/times.h"
#include "harness.h"
#include "verbs/timeline.h"

#define RUNS 100
#define PROMISED (RUNS / 100) /* false alarms */
#define MS 1e6
#define SECOND 1e9

/* ---- a made run ---- */

/* Stacks, the innermost function first. */
enum { COPY, FLUSH, PARSE, WORK, FLUSHER, LOOP, TIMER, FUNCTIONS };
static char *names[] = { "copy", "flush", "parse", "work", "flusher", "loop", "timer" };
static const uint32_t stacks[][4] = {
	{ COPY, FLUSH, FLUSHER, CT_NONE }, /* 0: on a thread of its own */
	{ COPY, PARSE, WORK, CT_NONE },	   /* 1: of a pool */
	{ PARSE, WORK, CT_NONE },
	{ COPY, FLUSH, WORK, CT_NONE }, /* 3: in a pool */
	{ COPY, FLUSH, TIMER, LOOP },	/* 4: in an event loop */
	{ COPY, PARSE, LOOP, CT_NONE },
	{ COPY, CT_NONE }, /* 6: copies, on one of threads that copy */
};
#define STACKS (sizeof(stacks) / sizeof(*stacks))

static struct ct_timeline t;
static struct ct_times *times;
static size_t event_room;

static void begin_run(double seconds)
{
	static uint32_t functions[4 * STACKS];
	static size_t first[STACKS + 1];
	static bool idle[STACKS];
	static double worth[STACKS];
	size_t used = 0, room = 0;

	t = (struct ct_timeline){ .p = ct_model_new(),
				  .is_time = true,
				  .functions = functions,
				  .first_function = first,
				  .idle = idle,
				  .worth = worth,
				  .names = names,
				  .name_count = FUNCTIONS };
	times = ct_times_new(t.p);
	times->thinning = 1;
	times->end = (uint64_t)(seconds * SECOND);
	event_room = 0;
	for (size_t i = 0; i < STACKS; i++) {
		first[i] = used;
		worth[i] = 1;
		for (size_t k = 0; k < 4 && stacks[i][k] != CT_NONE; k++)
			functions[used++] = stacks[i][k];
	}
	first[STACKS] = used;
	for (size_t i = 0; i < STACKS; i++)
		ct_model_add_sample(t.p, NULL, 0, NULL, 0);
	for (int i = 0; i < 6; i++) {
		char name[20];

		snprintf(name, sizeof(name), i < 4 ? "pool-%d" : i < 5 ? "flusher" : "main", i);
		*CT_PUSH(times->threads, times->thread_count, room) =
			(struct ct_times_thread){ .name = ct_model_string(t.p, name) };
	}
}

/* A sample of CPU time of LENGTH ns until WHEN, or with a DURATION the end of a wait. */
static void event(double when, uint32_t thread, uint32_t stack, double length, double duration)
{
	if (when < length || when > (double)times->end)
		return;
	*CT_PUSH(times->events, times->event_count, event_room) =
		(struct ct_event){ .begin = (uint64_t)(when - duration),
				   .duration = (uint64_t)duration,
				   .weight = (uint64_t)length,
				   .thread = thread,
				   .sample = stack,
				   .count = 1 };
}

/* LENGTH ns of CPU time from WHEN on. */
static void runs(double when, double length, uint32_t thread, uint32_t stack)
{
	for (double at = 10 * draw() * MS; at < length; at += 10 * MS)
		event(when + at, thread, stack, 10 * MS, 0);
}

static struct ct_timeline_moment found[CT_TIMELINE_MOMENTS];

static size_t end_run(void)
{
	double with[FUNCTIONS] = { 0 };
	size_t n;

	ct_times_sort(times);
	ct_timeline_pieces_make(&t);
	n = ct_timeline_periods_find(&t, found, with);
	free(t.pieces);
	ct_model_free(t.p);
	return n;
}

/* ---- chance ---- */

enum kind { EVENTS, REQUESTS, STEADY, RARE, WAITS, PHASES, WALK, LOOSE, MIXED, SLICES, KINDS };

/* Returns the distance from one thing to the next, after BEFORE. */
static double distance(enum kind kind, double before)
{
	switch (kind) {
	case EVENTS: return draw_exponential(40 * MS);
	case REQUESTS: return draw_exponential(700 * MS);
	case STEADY: return (90 + 20 * draw()) * MS;
	case RARE: return draw_exponential(4 * SECOND);
	case WAITS: return draw_exponential(500 * MS);
	case PHASES: return 50 * MS / pow(draw(), 1.2);
	case WALK: return fmin(fmax(before * exp(draw() - 0.5), 20 * MS), 5 * SECOND);
	case LOOSE: return (0.4 + 1.2 * draw()) * SECOND;
	case MIXED: return (0.49 + 0.02 * draw()) * SECOND;
	default: return (20 + 4 * draw()) * MS;
	}
}

/* Does one thing that KIND does; each in random functions. */
static void thing(enum kind kind, double when, uint32_t thread)
{
	uint32_t stack = (uint32_t)(draw() * 0.999 * STACKS);

	switch (kind) {
	case WAITS:
	case WALK: {
		double duration = draw_exponential(20 * MS);

		event(when + duration, thread, stack, duration, duration);
		break;
	}
	case REQUESTS:
	case PHASES:
	case LOOSE: runs(when, draw_exponential(80 * MS), thread, stack); break;
	default: event(when, thread, kind == STEADY || kind == SLICES ? thread : stack, 10 * MS, 0);
	}
}

TEST(test_chance_has_no_period)
{
	for (int kind = 0; kind < KINDS; kind++) {
		size_t wrong = 0;

		for (size_t run = 0; run < RUNS; run++) {
			double seconds = 5 + 115 * draw();

			begin_run(seconds);
			for (uint32_t thread = 0; thread < 6; thread++)
				for (double d = SECOND * draw(), when = 0; when < seconds * SECOND;
				     when += d = distance(kind, d))
					thing(kind, when, thread);
			wrong += end_run();
		}
		printf("# kind %d: %zu of %d\n", kind, wrong, RUNS);
		CHECK(wrong <= (kind == MIXED ? PROMISED : 0));
	}
}

/* ---- periods ---- */

/* Four threads and main work at random for half of the time; all copy. */
static void noise(double seconds)
{
	for (uint32_t thread = 0; thread < 4; thread++)
		for (double when = 0; when < seconds * SECOND; when += draw_exponential(100 * MS))
			runs(when, draw_exponential(50 * MS), thread, draw() < 0.5 ? 1 : 2);
	for (double when = 0; when < seconds * SECOND; when += draw_exponential(200 * MS))
		runs(when, draw_exponential(30 * MS), 5, 5);
}

static void flush_every(double every, double seconds, uint32_t stack, uint32_t thread,
			double length)
{
	uint32_t one = thread;

	for (double when = every * (0.2 + 0.6 * draw()); when < seconds; when += every) {
		runs((when + 0.01 * draw()) * SECOND, length, one, stack);
		one = thread == 0 ? (uint32_t)(draw() * 3.999) : thread;
	}
}

static void check_flush(double every, const char *function, uint32_t scope)
{
	size_t n = end_run();

	CHECK_EQ(n, 1);
	if (n != 1)
		printf("# every %g s, on %u\n", every, scope);
	if (n != 1)
		return;
	CHECK(fabs(found[0].every / SECOND - every) < 0.02 * every);
	CHECK(!strcmp(found[0].function, function));
	CHECK_EQ(found[0].scope, scope);
}

TEST(test_a_flush_is_found)
{
	static const double periods[] = { 10, 2, 1 };

	for (size_t i = 0; i < 3; i++) {
		double every = periods[i], seconds = 7 * every < 30 ? 30 : 7 * every;
		double length = every * 30 * MS < 100 * MS ? 100 * MS : every * 30 * MS;

		begin_run(seconds);
		noise(seconds);
		flush_every(every, seconds, 0, 4, length); /* on a thread of its own */
		check_flush(every, "flush", CT_NONE);
		begin_run(seconds);
		noise(seconds);
		flush_every(every, seconds, 3, 0, length); /* in the pool */
		check_flush(every, "flush", CT_NONE);
		begin_run(seconds);
		noise(seconds);
		flush_every(every, seconds, 4, 5, length); /* in the event loop */
		check_flush(every, "flush", CT_NONE);
		begin_run(seconds);
		noise(seconds);
		flush_every(every, seconds, 6, 4,
			    length);		   /* all of its functions are others', too */
		check_flush(every, "copy", 6 + 4); /* threads of the name */
	}
}

/* A part of the bursts may have been too short to be seen. */
TEST(test_some_may_be_missing)
{
	begin_run(60);
	noise(60);
	for (int i = 0; i < 30; i++)
		if (i % 6 != 2)
			runs((1 + 2 * i) * SECOND, 60 * MS, 4, 0);
	check_flush(2, "flush", CT_NONE);
}

TEST(test_two_periods)
{
	begin_run(60);
	noise(60);
	for (int i = 0; i < 30; i++) {
		if (i % 5 == 2)
			runs((2 * i + 1) * SECOND, 300 * MS, 4, 0);
		runs((2 * i + 0.2) * SECOND, 100 * MS, 5, 4);
	}
	CHECK_EQ(end_run(), 2);
}

/* The same on several threads, but not on all, is told once. */
TEST(test_threads_return_together)
{
	begin_run(30);
	for (int i = 0; i < 14; i++)
		for (uint32_t thread = 0; thread < 2; thread++)
			event((2 * i + 1 + 0.02 * draw()) * SECOND, thread, 3, 500 * MS, 500 * MS);
	for (uint32_t thread = 2; thread < 4; thread++)
		for (double when = SECOND; when < 30 * SECOND; when += draw_exponential(900 * MS))
			event(when, thread, 3, 300 * MS, 300 * MS);
	CHECK_EQ(end_run(), 1);
	CHECK_EQ(found[0].also, 1);
}

TEST(test_waits_return)
{
	begin_run(30);
	for (int i = 0; i < 14; i++)
		event((2 * i + 1) * SECOND, 4, 0, 30 * MS, 30 * MS);
	for (double when = 0; when < 30 * SECOND; when += draw_exponential(50 * MS))
		event(when, 1, 1, 3 * MS, 3 * MS);
	check_flush(2, "flush", CT_NONE);
}

/* ---- pieces ---- */

/* Returns the most time that the pieces of a thread fill of any 10 ms. */
static double fullest(void)
{
	double most = 0;

	for (uint32_t thread = 0; thread < 6; thread++)
		for (double from = 0; from < (double)times->end; from += 10 * MS) {
			double sum = 0;

			for (size_t i = 0; i < times->event_count; i++) {
				const struct ct_timeline_piece *p = &t.pieces[i];
				double in = fmin(p->end, from + 10 * MS) - fmax(p->begin, from);

				if (p->event->thread == thread && in > 0)
					sum += p->amount * in / (p->end - p->begin);
			}
			most = fmax(most, sum / (10 * MS));
		}
	return most;
}

TEST(test_no_thread_does_more_than_is_possible)
{
	double sum = 0;

	for (uint64_t thinning = 1; thinning <= 16; thinning *= 4) {
		begin_run(4);
		times->thinning = thinning;
		for (uint32_t thread = 0; thread < 4; thread++)
			for (double when = 0; when < 4 * SECOND;
			     when += draw_exponential(20.0 * (double)thinning * MS))
				event(when, thread, 1, 10 * MS, 0);
		event(2 * SECOND, 4, 3, 363 * MS / (double)thinning, 0);
		event(3 * SECOND, 5, 3, 400 * MS / (double)thinning, 4 * MS);
		ct_times_sort(times);
		ct_timeline_pieces_make(&t);
		CHECK(fullest() < 1.001);
		for (size_t i = 0; i < times->event_count; i++)
			sum += t.pieces[i].amount - ct_times_weight(times, t.pieces[i].event);
		free(t.pieces);
		ct_model_free(t.p);
	}
	CHECK(fabs(sum) < 1);
}
