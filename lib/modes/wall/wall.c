/* SPDX-License-Identifier: BSD-3-Clause */
/* The pacer; see wall.h. */
#include "modes/wall/wall.h"

#include "collect/collect.h"

/* Up to this many threads are visited twice per period, which halves the error of shares: each of
 * the two visits then gets half of the period's time. Periods that are short anyway have one visit.
 */
#define VISITED_TWICE 32u
#define TWICE_NS UINT64_C(10000000)

/* With more threads, those that don't run are visited less often, so that such visits cost the same
 * for 1,000 threads and for 8,000, but at least once in this many ticks. Nothing is lost: their
 * clocks show that they waited all the time. */
#define STRETCH_MAX 512u

/* Ticks may take 1/CPU_SHARE of one CPU. Threads that a tick leaves out come first in the next
 * tick, and every visit counts for the time since the last one. */
#define CPU_SHARE 20
#define BUDGET_TICKS 8 /* number of ticks whose budget may be saved */

/* The pacer's rests: of few threads, and of those that are visited less often because they are
 * many. The longest one. */
#define REST_OF_FEW 4u
#define REST_OF_MANY 8u
#define REST_NS UINT64_C(100000000)

#define BATCH 32u
#define CACHE_LINE 64u

void cp_wall_prepare(void)
{
	cp_wall.blind = cp_unwinder_dwarf.prepare() < 0;
}

uint64_t cp_wall_due(void)
{
	return cp_load_relaxed(&cp_wall_next);
}

static uint64_t tick_of(uint64_t now)
{
	return (now - cp_wall.began) / cp_wall.tick_ns;
}

/* Plan the next ticks from TICK on: STEP of them, or a rest. Visits are at a random place in
 * their time, so a program that repeats itself in step with a clock is not in step with the visits.
 */
static void plan_ticks(uint64_t tick, bool rest)
{
	uint64_t first = cp_wall_aligned(tick);
	uint64_t length = rest && first % cp_wall.rest == 0 ? cp_wall.rest : cp_wall.step;

	cp_wall.length = (uint32_t)length;
	cp_wall.end = first + length;
	cp_store_relaxed(
		&cp_wall_next,
		cp_wall.began + first * cp_wall.tick_ns +
			(uint64_t)((__uint128_t)cp_wall_draw() * length * cp_wall.tick_ns >> 64));
}

static void seed(uint64_t now)
{
	if (cp_sys3(SYS_getrandom, &cp_wall.random, sizeof(cp_wall.random), 1) < 0)
		cp_wall.random = now;
	cp_wall.random |= 1;
}

static void begin_ticks(unsigned frequency)
{
	bool blind = cp_wall.blind;
	struct cp_vec due = cp_wall.due;
	uint64_t now = cp_sys_clock_ns(CLOCK_MONOTONIC);

	cp_wall = (struct cp_wall){ .frequency = frequency,
				    .period_ns = 1000000000u / frequency,
				    .tick_ns = 1000000000u / frequency / 2,
				    .step = 1,
				    .kernel_tick_ns = cp_thread_timer_tick_ns(),
				    .began = now,
				    .stretch = 1,
				    .rest = REST_OF_FEW,
				    .begins = cp_load_acquire(&cp_wall_begins) - 1,
				    .blind = blind,
				    .due = due };
	cp_wall.due.size = sizeof(uint64_t);
	cp_wall.due.count = 0;
	seed(now);
	cp_store_relaxed(&cp_wall_resting, 0);
	plan_ticks(0, false);
}

int cp_wall_start(struct cp_run *r, unsigned frequency)
{
	begin_ticks(frequency);
	/* Threads that begin from here on announce themselves. The loop finds the others. */
	cp_store_seqcst(&cp_wall_running, 1);
	for (uint32_t i = 0; i < cp_thread_limit(); i++) {
		struct cp_thread *t = cp_thread_at(i);
		uint64_t samples = cp_wall_of(t)->samples;
		uint32_t state = cp_load_acquire(&t->state);

		if (state == CP_THREAD_LIVE) {
			*cp_wall_of(t) = (struct cp_wall_thread){ .timer = CP_NO_TIMER,
								  .began = cp_wall.began,
								  .samples = samples,
								  .taken = samples };
			cp_wall_exact_begin(t, true);
		} else if (state == CP_THREAD_ENDED) /* it ended before this run */
			cp_store_relaxed(&cp_wall_of(t)->began, 0);
	}
	return 0;
}

/* Begin counting ticks anew. Results of earlier visits count until now; all threads are visited in
 * the first tick. */
void cp_wall_set_frequency(unsigned frequency)
{
	const struct cp_wall was = cp_wall;

	begin_ticks(frequency);
	cp_wall.uncounted = was.uncounted;
	cp_wall.openings = was.openings;
	cp_wall.next_reading = was.next_reading;
	cp_wall.counts = was.counts;
	cp_wall_cause_forget();
	for (uint32_t i = 0; i < cp_thread_limit(); i++) {
		struct cp_wall_thread *w = cp_wall_of(cp_thread_at(i));

		w->until = 0;
		w->still = 0;
		if (w->span)
			w->span = cp_wall.step;
	}
}

void cp_wall_stop(void)
{
	cp_store_seqcst(&cp_wall_running, 0);
	cp_store_relaxed(&cp_wall_next, UINT64_MAX);
	cp_wall.stopped = cp_sys_clock_ns(CLOCK_MONOTONIC);
	cp_wall_timer_disarm_all();
}

/* Take the CPU time spent since *SINCE off the budget. Returns false if the budget is used up. */
static bool can_afford(uint64_t *since)
{
	uint64_t now = cp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);

	cp_wall.budget -= (int64_t)(now - *since);
	*since = now;
	return cp_wall.budget > 0;
}

/* Add to the budget for the time since the last addition: on a busy machine ticks come late, and
 * are few. */
static void earn(uint64_t tick)
{
	int64_t share = (int64_t)(cp_wall.step * cp_wall.tick_ns) / CPU_SHARE;
	uint64_t steps = (tick - cp_wall.earned) / cp_wall.step;

	cp_wall.earned = tick;
	if (steps > BUDGET_TICKS)
		steps = BUDGET_TICKS;
	cp_wall.budget += share * (int64_t)(steps ? steps : 1);
	if (cp_wall.budget > BUDGET_TICKS * share)
		cp_wall.budget = BUDGET_TICKS * share;
}

/* Make room for the due times of LIMIT records. They are kept apart from the records: most threads
 * are not due, and looking through thousands of records would cost more than the visits. 0: the
 * thread was not visited yet. */
static bool have_due_times(uint32_t limit)
{
	while (cp_wall.due.count < limit)
		if (!cp_vec_add(&cp_wall.due))
			return false;
	return true;
}

static bool can_visit(struct cp_thread *t)
{
	return cp_load_acquire(&t->state) == CP_THREAD_LIVE &&
	       cp_load_relaxed(&cp_wall_of(t)->began);
}

/* Count the threads that were visited before, and set *LAZY to how many of them are lazy. */
static uint32_t count_visited(uint32_t limit, uint32_t *lazy)
{
	const uint64_t *due = cp_wall.due.items;
	uint32_t visited = 0, n = 0;

	for (uint32_t i = 0; i < limit; i++) {
		visited += due[i] != 0;
		n += due[i] & CP_WALL_LAZY;
	}
	*lazy = n;
	return visited;
}

/* Return true if the pacer may rest. */
static bool can_rest(uint64_t tick, uint32_t visited, uint32_t lazy)
{
	return visited && visited == lazy && tick >= cp_wall.rest_from &&
	       cp_load_acquire(&cp_wall_begins) == cp_wall.begins &&
	       cp_wall.rest * cp_wall.tick_ns <= REST_NS;
}

/* Prefetch the data that a visit reads of its thread, which has left the caches since the last
 * visit. A whole batch is fetched at once, because fetching one after the other would take as long
 * as the visits. */
static void fetch(const struct cp_thread *t)
{
	__builtin_prefetch(t);
	for (size_t i = 0; i < sizeof(struct cp_wall_thread); i += CACHE_LINE)
		__builtin_prefetch((const char *)cp_wall_of(t) + i);
}

/* A pass over LIMIT records in a tick. */
struct pass {
	uint64_t tick, since; /* SINCE: CPU time at the last check */
	uint64_t last;	      /* latest due time that is served */
	uint32_t limit, left; /* LEFT: records not yet passed */
	bool look_for_new;    /* threads have begun since the last pass */
	bool only_new;
	uint32_t batch[BATCH];
};

/* Gather the next records that are due, from the cursor on. Returns how many. Records without a
 * thread, and those whose thread was not visited yet, are due at 0. */
static uint32_t gather(struct pass *p)
{
	const uint64_t *due = cp_wall.due.items;
	uint32_t n = 0;

	for (; p->left && n < BATCH; p->left--) {
		uint32_t at = cp_wall.cursor < p->limit ? cp_wall.cursor : 0;

		cp_wall.cursor = at + 1;
		if (due[at] ? due[at] > p->last || p->only_new : !p->look_for_new)
			continue;
		p->batch[n++] = at;
		fetch(cp_thread_at(at));
	}
	return n;
}

/* Visit the threads of the batch. Returns false if there is no CPU time left for more. */
static bool visit_batch(struct cp_run *r, struct pass *p, uint32_t n)
{
	uint64_t *due = cp_wall.due.items;

	for (uint32_t i = 0; i < n; i++) {
		struct cp_thread *t = cp_thread_at(p->batch[i]);

		if (can_visit(t) && cp_wall_visit(r, t, p->tick, &due[p->batch[i]]) &&
		    !can_afford(&p->since)) {
			cp_wall.cursor = p->batch[i] + 1;
			return false;
		}
	}
	return can_afford(&p->since);
}

/* Visit the threads that are due, from where the last tick ended. With ONLY_NEW a thread's begin
 * has ended a rest: what the others do at this moment may have to do with it, so they are visited
 * at a random moment of the next tick. */
static void visit_all(struct cp_run *r, uint64_t tick, uint32_t limit, bool only_new)
{
	uint32_t begins = cp_load_acquire(&cp_wall_begins);
	uint64_t last = tick < cp_wall.end ? cp_wall.end - 1 : tick;
	struct pass p = { .tick = tick,
			  .last = CP_WALL_DUE(last, true),
			  .since = cp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID),
			  .limit = limit,
			  .left = limit,
			  .look_for_new = begins != cp_wall.begins,
			  .only_new = only_new };

	while (p.left)
		if (!visit_batch(r, &p, gather(&p)))
			return;
	cp_wall.begins = begins;
}

static void adapt(uint64_t tick, uint32_t threads)
{
	uint32_t n = 2 * threads / VISITED_TWICE, was = cp_wall.stretch, rest;

	cp_wall.step = threads > VISITED_TWICE || cp_wall.period_ns < TWICE_NS ? 2 : 1;
	n += n < REST_OF_FEW ? n % 2 : -n % REST_OF_FEW; /* make it whole rests */
	n = n > STRETCH_MAX ? STRETCH_MAX : n;
	cp_wall.stretch = n > cp_wall.step ? n : cp_wall.step;
	rest = cp_wall.stretch < 2 * REST_OF_MANY ? REST_OF_FEW : REST_OF_MANY;
	/* Visits that are already planned may come late by a rest of the old length only. */
	if (rest != cp_wall.rest)
		cp_wall.rest_from = tick + 2 * was;
	cp_wall.rest = rest;
}

void cp_wall_tick(struct cp_run *r)
{
	uint64_t due = cp_wall_due(), planned = tick_of(due);
	uint64_t tick = tick_of(cp_sys_clock_ns(CLOCK_MONOTONIC));
	uint32_t limit = cp_thread_limit(), visited, lazy;
	bool rest = false, cut = due == CP_WALL_NOW;

	cp_store_relaxed(&cp_wall_resting, 0);
	if (cut)
		cp_wall.end = tick + 1;
	else if (tick > planned)
		cp_wall.counts.late += (tick - planned) / cp_wall.step;
	earn(tick);
	cp_wall.patience = CP_WALL_PATIENCE;
	if (have_due_times(limit)) {
		visit_all(r, tick, limit, cut);
		visited = count_visited(limit, &lazy);
		adapt(tick, visited);
		rest = !cut && can_rest(tick, visited, lazy);
	}
	plan_ticks(tick < cp_wall.end ? cp_wall.end : tick + 1, rest);
	/* A thread that begins sees that the pacer rests, or the pacer sees the thread here. */
	cp_store_seqcst(&cp_wall_resting, cp_wall.length > cp_wall.step);
	if (cp_load_seqcst(&cp_wall_begins) != cp_wall.begins)
		cp_wall_timer_end_rest();
}

void cp_wall_fork_child(struct cp_run *r, struct cp_thread *keep)
{
	cp_wall_strata_forget(true);
	cp_wall_cause_forget();
	cp_wall_timer_fork_child();
	/* The vector is abandoned, not freed: the parent may have been moving it. */
	cp_wall.due = (struct cp_vec){ 0 };
	if (!keep) {
		cp_store_seqcst(&cp_wall_running, 0);
		cp_store_relaxed(&cp_wall_next, UINT64_MAX);
		return;
	}
	begin_ticks(cp_wall.frequency);
	*cp_wall_of(keep) = (struct cp_wall_thread){ .timer = CP_NO_TIMER, .began = cp_wall.began };
	cp_wall_exact_begin(keep, false);
}
