/* The pacer; see wall.h. */
#include "wall.h"

#include <time.h>

#include "sigsafe/atomic.h"
#include "sigsafe/sys.h"
#include "sigsafe/unwind.h"
#include "sigsafe/wall_event.h"
#include "wall_slow.h"

/* With more threads than this, those that don't run are visited less often: nothing is lost, their
 * clocks tell that they waited all the while. */
#define VISITED_ALWAYS 64u
#define STRETCH_MAX 16u

/* Ticks may take this part of one CPU; what they leave out comes first in the next one, and every
 * visit stands for the time since the last. */
#define CPU_SHARE 20
#define BUDGET_PERIODS 4 /* may be saved up */

static uint64_t next_tick = UINT64_MAX; /* monotonic ns */

void cp_wall_prepare(void)
{
	cp_wall.blind = cp_unwinder_dwarf.prepare() < 0;
}

uint64_t cp_wall_due(void)
{
	return cp_load_relaxed(&next_tick);
}

static uint32_t period_of(uint64_t now)
{
	return (uint32_t)((now - cp_wall.began) / cp_wall.period_ns);
}

/* 2^64 divided by the golden ratio: as in cpu_timer.c, successive places in their periods follow it
 * from a random start. Each is uniform, which keeps the profile unbiased, and those of a program
 * that repeats itself are evenly spread over its phases, so that its shares are right soon. */
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

static void plan(uint32_t tick)
{
	uint64_t place = cp_wall.phase + tick * GOLDEN;

	cp_store_relaxed(&next_tick,
			 cp_wall.began + tick * cp_wall.period_ns +
				 (uint64_t)((__uint128_t)place * cp_wall.period_ns >> 64));
}

static void seed(uint64_t now)
{
	if (cp_sys3(SYS_getrandom, &cp_wall.random, sizeof(cp_wall.random), 1) < 0)
		cp_wall.random = now;
	cp_wall.random |= 1;
	cp_wall.phase = cp_wall.random * GOLDEN;
}

static void begin(unsigned frequency)
{
	bool blind = cp_wall.blind;
	uint64_t now = cp_run_clock(CLOCK_MONOTONIC);

	cp_wall = (struct cp_wall){ .frequency = frequency,
				    .period_ns = 1000000000u / frequency,
				    .began = now,
				    .stretch = 1,
				    .blind = blind };
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

static bool is_due(const struct cp_thread *t, uint32_t tick)
{
	return cp_load_relaxed(&t->wall.began) && t->wall.due <= tick;
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
	int64_t share = (int64_t)cp_wall.period_ns / CPU_SHARE;

	cp_wall.budget += share;
	if (cp_wall.budget > BUDGET_PERIODS * share)
		cp_wall.budget = BUDGET_PERIODS * share;
}

/* Those that are due, from where the last tick left off. true: threads have ended. */
static bool visit_all(struct cp_run *r, uint32_t tick)
{
	uint32_t limit = cp_thread_limit(), live = 0, at = cp_wall.cursor;
	uint64_t since = cp_run_clock(CLOCK_THREAD_CPUTIME_ID);
	bool affordable = true, ended = false;

	for (uint32_t i = 0; i < limit; i++, at++) {
		struct cp_thread *t = cp_thread_at(at % limit);
		uint32_t state = cp_load_acquire(&t->state);

		ended |= state == CP_THREAD_ENDED;
		if (state != CP_THREAD_LIVE)
			continue;
		live++;
		if (!affordable || !is_due(t, tick))
			continue;
		if (cp_wall_visit(r, t, tick) || live % 32 == 0)
			affordable = can_afford(&since);
		cp_wall.cursor = (at + 1) % limit;
	}
	can_afford(&since);
	cp_wall.stretch = live / VISITED_ALWAYS;
	if (cp_wall.stretch > STRETCH_MAX)
		cp_wall.stretch = STRETCH_MAX;
	if (!cp_wall.stretch)
		cp_wall.stretch = 1;
	return ended;
}

bool cp_wall_tick(struct cp_run *r)
{
	uint32_t planned = period_of(cp_wall_due()), tick;
	bool ended;

	tick = period_of(cp_run_clock(CLOCK_MONOTONIC));
	cp_wall.counts.late += tick - planned;
	earn();
	ended = visit_all(r, tick);
	plan(tick + 1);
	return ended;
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
