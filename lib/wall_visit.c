/* A visit: what is this thread doing? See wall.h. */
#include <time.h>

#include "mode.h"
#include "sigsafe/atomic.h"
#include "sigsafe/capture.h"
#include "sigsafe/labels.h"
#include "sigsafe/labelset.h"
#include "sigsafe/ring.h"
#include "sigsafe/sys.h"
#include "wall.h"
#include "wall_stack.h"

/* Room for the deepest stack; under the collector's lock. */
static uint64_t found_words[CP_RECORD_WORDS(4096)];
#define FOUND ((struct cp_record *)found_words)

/* A part of the kernel's tick; a thread that runs for less is hardly ever found by it. */
#define WORTH_A_STACK 16

static uint64_t begin_of(uint64_t tick)
{
	return cp_wall.began + tick * cp_wall.tick_ns;
}

/* Where the time of the visit before ends and that of this one begins. One that comes late, because
 * a dump took long, shares the time between: nothing is known of it. */
static uint64_t boundary(const struct cp_wall_thread *w, uint64_t tick)
{
	uint64_t from = w->until;

	if (tick >= from + w->span)
		from += (tick - from - w->span + 1) / 2;
	return begin_of(from);
}

/* The next visit stands for SPAN ticks, and is at a random one of them. How many does not depend on
 * what that visit will find, so it stays unbiased. Long spans end where the pacer's rests do, so
 * that the next one is made of whole rests: a visit at a random place in one of those is at a
 * random place in its span as well. */
static uint64_t plan(struct cp_wall_thread *w, uint64_t tick, uint32_t span)
{
	uint64_t end = w->until + w->span, places;
	bool lazy;

	w->until = cp_wall_aligned(end > tick ? end : tick + 1);
	lazy = span >= 2 * CP_WALL_REST && w->until % CP_WALL_REST == 0;
	if (span >= 2 * CP_WALL_REST)
		span -= (w->until + span) % CP_WALL_REST;
	w->span = span;
	places = span / cp_wall.step;
	return CP_WALL_DUE(w->until + (places > 1 ? cp_wall_draw() % places * cp_wall.step : 0),
			   lazy);
}

void cp_wall_record(struct cp_run *r, struct cp_thread *t, const struct cp_record *record)
{
	struct cp_wall_thread *w = &t->wall;

	if (record->tag <= w->taken)
		return;
	w->taken = record->tag;
	cp_wall_answered(r, t, record);
	cp_wall_set_row(r, t, CP_WALL_RUNNING, record);
	cp_wall_pay(r, t, CP_WALL_RUNNING);
	/* Nothing shows where it waits: near where it ran last. */
	if (cp_wall.blind) {
		cp_wall_set_row(r, t, CP_WALL_WAITING, record);
		cp_wall_pay(r, t, CP_WALL_WAITING);
	}
}

/* Before the drain comes to them: the visit before gets its stack. */
void cp_wall_take(struct cp_run *r, struct cp_thread *t)
{
	struct cp_ring *ring = cp_load_acquire(&t->ring);
	const struct cp_record *record;

	if (!ring || t->wall.taken == cp_load_relaxed(&t->wall.samples))
		return;
	while ((record = cp_ring_look(ring, &t->wall.looked)))
		if (record->mode == CP_MODE_WALL)
			cp_wall_record(r, t, record);
}

/* A clock that moves while one looks at it, and stood at BEFORE, is that of a thread that runs. */
static enum cp_wall_doing glance(struct cp_wall_thread *w, int tid, uint64_t before)
{
	w->clock = cp_wall_clock_of(tid);
	return w->clock == UINT64_MAX ? CP_WALL_ENDED
	       : w->clock == before   ? CP_WALL_HIDDEN
				      : CP_WALL_RUNS;
}

/* /proc, which costs more, and a descriptor for a moment, is asked only about those that may wait.
 */
static enum cp_wall_doing look(struct cp_thread *t, uint64_t clock)
{
	enum cp_wall_doing doing = glance(&t->wall, t->tid, clock);

	if (doing != CP_WALL_HIDDEN || cp_wall.blind)
		return doing;
	doing = cp_wall_look(t->tid, FOUND, cp_capture_settings.max_depth, &t->wall.clock,
			     &t->wall.uring);
	if (doing == CP_WALL_DENIED) {
		cp_wall.blind = true;
		doing = CP_WALL_HIDDEN;
	}
	/* Not now, for want of a descriptor: it is asked again next time. */
	if (doing == CP_WALL_HIDDEN && !cp_wall.blind)
		t->wall.clock = 0;
	cp_wall.counts.hidden += doing == CP_WALL_HIDDEN;
	return doing;
}

static void found_running(struct cp_thread *t, struct cp_wall_seen seen, uint64_t now)
{
	cp_wall.counts.running++;
	t->wall.state = CP_WALL_RUNNING;
	cp_wall_ask(t, seen, now);
}

static void found_waiting(struct cp_run *r, struct cp_thread *t, struct cp_wall_seen seen)
{
	cp_wall.counts.walked++;
	t->wall.state = CP_WALL_WAITING;
	if (FOUND->end == CP_UNWIND_TRUNCATED)
		cp_count_mode(CP_MODE_WALL, CP_COUNT_TRUNCATED, 1);
	else if (FOUND->end == CP_UNWIND_INCOMPLETE)
		cp_count_mode(CP_MODE_WALL, CP_COUNT_INCOMPLETE, 1);
	FOUND->labels = seen.labels;
	FOUND->span = seen.span;
	if (FOUND->labels == CP_LABELSET_LOST) {
		cp_count_mode(CP_MODE_WALL, CP_COUNT_LOST_LABELS, 1);
		FOUND->labels = CP_LABELSET_NONE;
	}
	cp_wall_set_row(r, t, CP_WALL_WAITING, FOUND);
}

/* It ran, for so long that the kernel's tick may find it when it does that again: then there is a
 * stack of it by the time it is found running, and that time may go to. Where it runs for less than
 * a tick at a time, most of it would go to where it waits: the timer that it is given then comes
 * too late. */
static bool is_worth_a_stack(const struct cp_wall_thread *w, uint64_t before)
{
	return before && !w->row[CP_WALL_RUNNING] && w->timer == CP_NO_TIMER &&
	       w->clock - before >= cp_wall.kernel_tick_ns / WORTH_A_STACK;
}

static void found_gone(struct cp_wall_thread *w)
{
	if (!w->ended)
		w->ended = cp_sys_clock_ns(CLOCK_MONOTONIC);
}

/* It ran since the last visit, or this is the first. */
static void find_out(struct cp_run *r, struct cp_thread *t, uint64_t tick, uint64_t clock)
{
	struct cp_wall_thread *w = &t->wall;
	uint64_t before = w->state == CP_WALL_UNSEEN ? 0 : w->clock, now = 0;
	struct cp_wall_seen seen;
	enum cp_wall_doing doing;

	cp_wall_take(r, t);
	cp_wall_give(r, t, boundary(w, tick));
	if (cp_load_relaxed(&t->paused)) {
		w->state = CP_WALL_PAUSED;
		return;
	}
	doing = look(t, clock);
	seen = cp_wall_seen_now(t);
	/* A system call, which those that wait do without. */
	if (doing == CP_WALL_RUNS || w->unanswered)
		now = cp_sys_clock_ns(CLOCK_MONOTONIC);
	if (w->unanswered)
		cp_wall_still_unanswered(r, t, seen, now);
	switch (doing) {
	case CP_WALL_RUNS: found_running(t, seen, now); break;
	case CP_WALL_WAITS:
		/* Who waits for our lock, which we hold, stays where it was. */
		if (!cp_load_acquire(&t->finishing))
			found_waiting(r, t, seen);
		if (is_worth_a_stack(w, before))
			cp_wall_arm(t);
		break;
	case CP_WALL_ENDED: found_gone(w); break;
	default:
		w->state = CP_WALL_WAITING;
		/* So that there is a stack, when it runs. */
		cp_wall_arm(t);
	}
}

static void meet(struct cp_wall_thread *w, uint64_t tick)
{
	w->given = w->began;
	w->until = tick - tick % cp_wall.step;
	w->span = cp_wall.step;
}

static bool has_not_moved(const struct cp_thread *t, uint64_t clock)
{
	return t->wall.state == CP_WALL_WAITING && t->wall.clock == clock &&
	       !cp_load_relaxed(&t->paused);
}

/* The longer it hasn't run, the less often it is looked at, as far as there are many. */
static uint32_t span_of(const struct cp_wall_thread *w, bool moved)
{
	if (moved)
		return cp_wall.step;
	return 2 * w->span < cp_wall.stretch ? 2 * w->span : cp_wall.stretch;
}

bool cp_wall_visit(struct cp_run *r, struct cp_thread *t, uint64_t tick, uint64_t *due)
{
	struct cp_wall_thread *w = &t->wall;
	uint64_t clock = cp_wall_clock_of(t->tid);
	bool moved;

	cp_wall.counts.visits++;
	if (!w->span)
		meet(w, tick);
	moved = clock != UINT64_MAX && !has_not_moved(t, clock);
	if (clock == UINT64_MAX)
		found_gone(w);
	else if (moved)
		find_out(r, t, tick, clock);
	else
		cp_wall.counts.unmoved++;
	*due = w->ended ? UINT64_MAX : plan(w, tick, span_of(w, moved));
	return moved;
}
