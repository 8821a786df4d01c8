/* The pacer; see wall.h. */
#include "wall.h"

#include <time.h>

#include "sigsafe/atomic.h"
#include "sigsafe/sys.h"
#include "sigsafe/unwind.h"
#include "sigsafe/wall_event.h"
#include "wall_slow.h"

/* Up to this many threads are visited twice a period, which halves the error of shares: a period's
 * time then goes in halves to what both visits find. Not in periods that are short anyway. */
#define VISITED_TWICE 32u
#define TWICE_NS UINT64_C(10000000)

/* With more, those that don't run are visited less often, but at least once in so many ticks;
 * nothing is lost, their clocks tell that they waited all the while. */
#define STRETCH_MAX 64u

/* Ticks may take this part of one CPU; what they leave out comes first in the next one, and every
 * visit stands for the time since the last. */
#define CPU_SHARE 20
#define BUDGET_TICKS 8 /* may be saved up */

static uint64_t next_tick = UINT64_MAX; /* monotonic ns */

void cp_wall_prepare(void)
{
	cp_wall.blind = cp_unwinder_dwarf.prepare() < 0;
}

uint64_t cp_wall_due(void)
{
	return cp_load_relaxed(&next_tick);
}

static uint64_t tick_of(uint64_t now)
{
	return (now - cp_wall.began) / cp_wall.tick_ns;
}

/* The next tick after TICK, at a random place in its time: a program that repeats itself in step
 * with a clock is in step with none of ours. */
static void plan(uint64_t tick)
{
	uint64_t length = cp_wall.step * cp_wall.tick_ns;

	cp_store_relaxed(&next_tick,
			 cp_wall.began + cp_wall_aligned(tick) * cp_wall.tick_ns +
				 (uint64_t)((__uint128_t)cp_wall_draw() * length >> 64));
}

static void seed(uint64_t now)
{
	if (cp_sys3(SYS_getrandom, &cp_wall.random, sizeof(cp_wall.random), 1) < 0)
		cp_wall.random = now;
	cp_wall.random |= 1;
}

static void begin(unsigned frequency)
{
	bool blind = cp_wall.blind;
	struct cp_vec due = cp_wall.due;
	uint64_t now = cp_run_clock(CLOCK_MONOTONIC);

	cp_wall = (struct cp_wall){ .frequency = frequency,
				    .period_ns = 1000000000u / frequency,
				    .tick_ns = 1000000000u / frequency / 2,
				    .step = 1,
				    .began = now,
				    .stretch = 1,
				    .blind = blind,
				    .due = due };
	cp_wall.due.size = sizeof(uint64_t);
	cp_wall.due.count = 0;
	seed(now);
	plan(0);
}

int cp_wall_start(struct cp_run *r, unsigned frequency)
{
	(void)r;
	begin(frequency);
	/* Threads that begin from here on say so themselves; the loop finds the others. */
	cp_store_seqcst(&cp_wall_running, 1);
	for (uint32_t i = 0; i < cp_thread_limit(); i++) {
		struct cp_thread *t = cp_thread_at(i);
		uint64_t samples = t->wall.samples;

		if (cp_load_acquire(&t->state) == CP_THREAD_LIVE)
			t->wall = (struct cp_wall_thread){ .timer = CP_NO_TIMER,
							   .began = cp_wall.began,
							   .samples = samples,
							   .taken = samples };
	}
	return 0;
}

void cp_wall_stop(void)
{
	cp_store_seqcst(&cp_wall_running, 0);
	cp_store_relaxed(&next_tick, UINT64_MAX);
	cp_wall.stopped = cp_run_clock(CLOCK_MONOTONIC);
	cp_wall_disarm_all();
}

/* CPU time spent since *SINCE goes off the budget. false: there is none left. */
static bool can_afford(uint64_t *since)
{
	uint64_t now = cp_run_clock(CLOCK_THREAD_CPUTIME_ID);

	cp_wall.budget -= (int64_t)(now - *since);
	*since = now;
	return cp_wall.budget > 0;
}

static void earn(void)
{
	int64_t share = (int64_t)(cp_wall.step * cp_wall.tick_ns) / CPU_SHARE;

	cp_wall.budget += share;
	if (cp_wall.budget > BUDGET_TICKS * share)
		cp_wall.budget = BUDGET_TICKS * share;
}

/* When each record's thread is due, apart from the records: most are not, and to look through
 * thousands of records would cost more than the visits. Of one that was not met yet: 0. */
static uint64_t *due_times(uint32_t limit)
{
	while (cp_wall.due.count < limit)
		if (!cp_vec_add(&cp_wall.due))
			return NULL;
	return cp_wall.due.items;
}

static bool can_visit(struct cp_thread *t)
{
	return cp_load_acquire(&t->state) == CP_THREAD_LIVE && cp_load_relaxed(&t->wall.began);
}

/* Those that are due, from where the last tick left off. How many threads there are. */
static uint32_t visit_all(struct cp_run *r, uint64_t tick)
{
	uint32_t limit = cp_thread_limit(), met = 0, at = cp_wall.cursor;
	uint64_t since = cp_run_clock(CLOCK_THREAD_CPUTIME_ID), *due = due_times(limit);
	bool affordable = due != NULL;

	for (uint32_t i = 0; due && i < limit; i++, at++) {
		at = at < limit ? at : 0;
		met += due[at] != 0;
		if (due[at] > tick || !affordable || !can_visit(cp_thread_at(at)))
			continue;
		if (cp_wall_visit(r, cp_thread_at(at), tick, &due[at]) || met % 32 == 0)
			affordable = can_afford(&since);
		cp_wall.cursor = at + 1;
	}
	can_afford(&since);
	return met;
}

static void adapt(uint32_t threads)
{
	uint32_t n = 2 * threads / VISITED_TWICE;

	cp_wall.step = threads > VISITED_TWICE || cp_wall.period_ns < TWICE_NS ? 2 : 1;
	n = n > STRETCH_MAX ? STRETCH_MAX : n - n % 2;
	cp_wall.stretch = n > cp_wall.step ? n : cp_wall.step;
}

bool cp_wall_tick(struct cp_run *r)
{
	uint64_t planned = tick_of(cp_wall_due());
	uint64_t tick = tick_of(cp_run_clock(CLOCK_MONOTONIC));

	if (tick > planned)
		cp_wall.counts.late += (tick - planned) / cp_wall.step;
	earn();
	adapt(visit_all(r, tick));
	plan(tick + 1);
	return cp_exchange_acqrel(&cp_wall_ended, 0) != 0;
}

void cp_wall_fork_child(struct cp_run *r, struct cp_thread *keep)
{
	(void)r;
	cp_wall_slow_forget();
	cp_wall_timers_fork_child();
	if (!keep) {
		cp_store_seqcst(&cp_wall_running, 0);
		cp_store_relaxed(&next_tick, UINT64_MAX);
		return;
	}
	begin(cp_wall.frequency);
	keep->wall = (struct cp_wall_thread){ .timer = CP_NO_TIMER, .began = cp_wall.began };
}
