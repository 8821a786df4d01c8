/* SPDX-License-Identifier: BSD-3-Clause */
/* A visit: finds out what a thread is doing; see wall.h. */

#include "base/sys.h"
#include "modes/wall/wall.h"

/* Room for the deepest stack; guarded by the collector's lock. */
static uint64_t found_words[CP_RECORD_WORDS(CP_RECORD_DEPTH_MOST)];
#define FOUND ((struct cp_record *)found_words)

/* A thread that runs for less than this part of the kernel's tick between two visits. */
#define BRIEF 4
/* The same for a thread that was found waiting in the same place this many times more. A thread
 * that waits there for three quarters of its time is found there so often in a row in 1 of 100
 * cases. */
#define IN_ONE_PLACE 16

/* The kernel's tick divided by this; the tick hardly ever finds a thread that runs for less. */
#define WORTH_A_STACK 16

/* A thread that isn't visited for more ticks than this may meanwhile work and wait again. */
#define LONG_SPAN 64u

/* The time that T gets to leave the processor again. */
#define MOMENT_NS 50000

#define IO_URING_ENTER 426

static uint64_t begin_of(uint64_t tick)
{
	return cp_wall.began + tick * cp_wall.tick_ns;
}

/* Return where the time of the previous visit ends and the time of this visit begins. If this visit
 * comes late, because a dump took long, the two visits share the time between them, because nothing
 * is known of that time. */
static uint64_t boundary(const struct cp_wall_thread *w, uint64_t tick)
{
	uint64_t from = w->until;

	if (tick >= from + w->span)
		from += (tick - from - w->span + 1) / 2;
	return begin_of(from);
}

/* Plan the next visit, which counts for SPAN ticks and is at a random one of them. SPAN does not
 * depend on what that visit will find, so the visit stays unbiased. Long spans end where the
 * pacer's rests do, so that the next span consists of whole rests. A visit at a random place in a
 * rest is then at a random place in its span as well. */
static uint64_t plan_visit(struct cp_wall_thread *w, uint64_t tick, uint32_t span)
{
	uint64_t end = w->until + w->span, places;
	bool lazy;

	w->until = cp_wall_aligned(end > tick ? end : tick + 1);
	lazy = span >= cp_wall.rest && w->until % cp_wall.rest == 0;
	if (span >= cp_wall.rest)
		span -= (w->until + span) % cp_wall.rest;
	w->span = span;
	places = span / cp_wall.step;
	return CP_WALL_DUE(w->until + (places > 1 ? cp_wall_draw() % places * cp_wall.step : 0),
			   lazy);
}

/* Return true if T ran so little since the last visit that T can only be ready to run, if it is,
 * because it was woken. */
static bool runs_for_moments(const struct cp_wall_thread *w)
{
	return w->ran < cp_wall.kernel_tick_ns / BRIEF;
}

/* Return true if T is woken where it was found waiting, time and again. Stacks of such a thread
 * while it runs are few, and don't tell where it is woken. */
static bool waits_in_one_place(const struct cp_wall_thread *w)
{
	return w->same >= IN_ONE_PLACE && runs_for_moments(w);
}

void cp_wall_visit_record(struct cp_run *r, struct cp_thread *t, const struct cp_record *record)
{
	struct cp_wall_thread *w = cp_wall_of(t);
	bool asked = w->unanswered;

	if (record->tag <= w->taken)
		return;
	w->taken = record->tag;
	cp_wall_answer_came(r, t, record);
	cp_wall_time_set_row(r, t, CP_WALL_RUNNING, record, 0);
	cp_wall_time_pay(r, t, CP_WALL_RUNNING);
	if (!waits_in_one_place(w) &&
	    ((w->state == CP_WALL_RUNNABLE && asked) || w->owed[CP_WALL_RUNNABLE])) {
		cp_wall_time_set_row(r, t, CP_WALL_RUNNABLE, record, 0);
		cp_wall_time_pay(r, t, CP_WALL_RUNNABLE);
	}
	/* Nothing shows where the thread waits; its last running stack is the best guess. */
	if (cp_wall.blind) {
		cp_wall_time_set_row(r, t, CP_WALL_WAITING, record, 0);
		cp_wall_time_pay(r, t, CP_WALL_WAITING);
	}
}

/* Called before the drain reads the samples, so that the previous visit gets its stack. */
void cp_wall_visit_take(struct cp_run *r, struct cp_thread *t)
{
	struct cp_ring *ring = cp_load_acquire(&t->ring);
	const struct cp_record *record;

	if (!ring || cp_wall_of(t)->taken == cp_load_relaxed(&cp_wall_of(t)->samples))
		return;
	while ((record = cp_ring_look(ring, &cp_wall_of(t)->looked)))
		if (record->mode == CPROF_WALL)
			cp_wall_visit_record(r, t, record);
}

/* The thread runs if its clock moves between two readings, one directly after the other: a thread
 * that wakes up between them was waiting. */
static enum cp_wall_doing glance(struct cp_wall_thread *w, int tid)
{
	uint64_t before = cp_wall_stack_clock_of(tid), now = cp_wall_stack_clock_of(tid);

	if (now == UINT64_MAX)
		return CP_WALL_ENDED;
	w->clock = now;
	return now == before ? CP_WALL_HIDDEN : CP_WALL_RUNS;
}

/* Return true if T was ready to run for longer than visits have found so far. */
static bool was_ready_for_longer(const struct cp_thread *t)
{
	const struct cp_wall_thread *w = cp_wall_of(t);
	uint64_t delay, found = w->sampled[CP_WALL_RUNNABLE] + w->owed[CP_WALL_RUNNABLE];

	return !w->delay_unknown && cp_wall_exact_delay(t, &delay) && delay > w->told_delay + found;
}

/* T, which runs for moments only, was found ready to run. Perhaps its wait ended with the pacer's
 * sleep, because the kernel lets timers expire together, or later, because this thread has the
 * processor. Let T go on, and look once more. If it waits again, that is where it was. Nothing
 * tells whether it was ready when the look was planned, and a look that finds it waiting may have
 * missed that it was. So the kernel's count of the time that T was ready to run decides, over all
 * looks. Returns QUEUES: still unknown, WOKEN: it was ready, or WAITS. */
static enum cp_wall_doing look_again(struct cp_thread *t, struct cp_wall_call *call)
{
	static const struct timespec moment = { .tv_nsec = MOMENT_NS };

	if (!cp_wall.patience)
		return CP_WALL_QUEUES;
	cp_wall.patience--;
	cp_sys4(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &moment, NULL);
	if (cp_wall_stack_look(t->tid, FOUND, cp_capture_settings.max_depth, &cp_wall_of(t)->clock,
			       call) != CP_WALL_WAITS)
		return CP_WALL_QUEUES;
	return was_ready_for_longer(t) ? CP_WALL_WOKEN : CP_WALL_WAITS;
}

/* Find out what T is doing. /proc costs more, and a descriptor for a moment, so it is read only for
 * threads that may wait. */
static enum cp_wall_doing look_at_thread(struct cp_thread *t, struct cp_wall_call *call)
{
	enum cp_wall_doing doing = glance(cp_wall_of(t), t->tid);

	if (doing != CP_WALL_HIDDEN || cp_wall.blind)
		return doing;
	doing = cp_wall_stack_look(t->tid, FOUND, cp_capture_settings.max_depth,
				   &cp_wall_of(t)->clock, call);
	if (doing == CP_WALL_WAITS && call->number == IO_URING_ENTER)
		cp_wall_of(t)->uring = true;
	if (doing == CP_WALL_DENIED) {
		cp_wall.blind = true;
		doing = CP_WALL_HIDDEN;
	}
	/* Unknown this time because no descriptor was free: the next visit asks again. */
	if (doing == CP_WALL_HIDDEN && !cp_wall.blind)
		cp_wall_of(t)->clock = 0;
	cp_wall.counts.hidden += doing == CP_WALL_HIDDEN;
	return doing;
}

static void found_running(struct cp_thread *t, uint32_t labels, uint64_t now)
{
	cp_wall.counts.running++;
	cp_wall_of(t)->state = CP_WALL_RUNNING;
	cp_wall_answer_ask(t, labels, now);
}

static void found_runnable(struct cp_thread *t, uint32_t labels, uint64_t now)
{
	cp_wall.counts.runnable++;
	cp_wall_of(t)->state = CP_WALL_RUNNABLE;
	cp_wall_answer_ask(t, labels, now);
}

static void found_waiting(struct cp_run *r, struct cp_thread *t, uint32_t labels,
			  const struct cp_wall_call *call, uint64_t tick)
{
	struct cp_wall_thread *w = cp_wall_of(t);
	uint32_t row = w->row[CP_WALL_WAITING];

	cp_wall.counts.walked++;
	w->state = CP_WALL_WAITING;
	if (FOUND->end == CP_UNWIND_TRUNCATED)
		cp_count_mode(CPROF_WALL, CP_COUNT_TRUNCATED, 1);
	else if (FOUND->end == CP_UNWIND_INCOMPLETE)
		cp_count_mode(CPROF_WALL, CP_COUNT_INCOMPLETE, 1);
	FOUND->labels = labels;
	if (FOUND->labels == CP_LABELSET_LOST) {
		cp_count_mode(CPROF_WALL, CP_COUNT_LOST_LABELS, 1);
		FOUND->labels = CP_LABELSET_NONE;
	}
	cp_wall_time_set_row(r, t, CP_WALL_WAITING, FOUND,
			     cp_wall_cause_of(call, t->tid, FOUND->pcs, FOUND->depth, tick,
					      2 * cp_wall.frequency));
	w->same = row != w->row[CP_WALL_WAITING] ? 0
		  : w->same < IN_ONE_PLACE	 ? w->same + 1
						 : w->same;
	if (w->owed[CP_WALL_RUNNABLE] && waits_in_one_place(w))
		cp_wall_answer_was_woken(r, t);
}

/* Return true if a timer must be armed for the waiting thread: the thread ran for so long that the
 * kernel's tick may find it when it runs again. The timer then provides a stack for that running
 * time. A timer that is armed only when a visit finds the thread running would come too late for a
 * thread that runs for less than a tick at a time; most of that thread's running time would be
 * attributed to the place where it waits. */
static bool is_worth_a_stack(const struct cp_wall_thread *w, uint64_t before)
{
	return before && !w->row[CP_WALL_RUNNING] && w->timer == CP_NO_TIMER &&
	       w->clock - before >= cp_wall.kernel_tick_ns / WORTH_A_STACK;
}

static void found_ended(struct cp_wall_thread *w)
{
	if (!w->ended)
		w->ended = cp_sys_clock_ns(CLOCK_MONOTONIC);
}

/* Find out what T is doing. T ran since the last visit, or this is the first one. */
static void find_out(struct cp_run *r, struct cp_thread *t, uint64_t tick)
{
	struct cp_wall_thread *w = cp_wall_of(t);
	uint64_t before = w->state == CP_WALL_UNSEEN ? 0 : w->clock, now = 0;
	struct cp_wall_call call;
	uint32_t labels;
	enum cp_wall_doing doing;

	cp_wall_visit_take(r, t);
	cp_wall_time_give(r, t, boundary(w, tick));
	cp_wall_answer_ran_again(r, t);
	if (cp_load_relaxed(&t->paused)) {
		w->state = CP_WALL_PAUSED;
		return;
	}
	doing = look_at_thread(t, &call);
	w->ran = w->clock > before ? w->clock - before : 0;
	if (doing == CP_WALL_QUEUES && runs_for_moments(w))
		doing = look_again(t, &call);
	if (w->moves)
		cp_wall_exact_look(t);
	labels = cp_wall_answer_labels_now(t);
	/* The clock is a system call, which visits of waiting threads avoid. */
	if (doing == CP_WALL_RUNS || doing == CP_WALL_QUEUES || w->unanswered)
		now = cp_sys_clock_ns(CLOCK_MONOTONIC);
	if (w->unanswered)
		cp_wall_answer_still_unanswered(r, t, labels, now);
	switch (doing) {
	case CP_WALL_RUNS: found_running(t, labels, now); break;
	case CP_WALL_QUEUES: found_runnable(t, labels, now); break;
	case CP_WALL_WOKEN:
	case CP_WALL_WAITS:
		/* A thread that waits for the collector's lock, which this thread holds, stays
		 * where it was. */
		if (!cp_load_acquire(&t->finishing))
			found_waiting(r, t, labels, &call, tick);
		if (doing == CP_WALL_WOKEN && w->row[CP_WALL_WAITING]) {
			cp_wall_answer_was_woken(r, t);
			w->state = CP_WALL_RUNNABLE;
		}
		if (is_worth_a_stack(w, before))
			cp_wall_timer_arm(t);
		break;
	case CP_WALL_ENDED: found_ended(w); break;
	default:
		w->state = CP_WALL_WAITING;
		/* Provides a stack when the thread runs. */
		cp_wall_timer_arm(t);
	}
}

static void begin_visits(struct cp_wall_thread *w, uint64_t tick)
{
	w->given = w->began;
	w->until = tick - tick % cp_wall.step;
	w->span = cp_wall.step;
}

/* T, which waits, hasn't run since the last visit. How long it is ready to run after the wait, the
 * kernel counts when T runs again (cp_wall_answer_ran_again). A thread that was found to have run
 * once only, as idle ones are, isn't asked. */
static void note_delay(struct cp_thread *t)
{
	struct cp_wall_thread *w = cp_wall_of(t);

	if (!w->unmoved && (w->moves < 2 || !cp_wall_exact_delay(t, &w->still_delay)))
		w->still_delay = UINT64_MAX;
	w->unmoved += w->unmoved < UINT32_MAX;
}

static bool has_not_moved(const struct cp_thread *t, uint64_t clock)
{
	return cp_wall_of(t)->state == CP_WALL_WAITING && cp_wall_of(t)->clock == clock &&
	       !cp_load_relaxed(&t->paused);
}

/* Return the ticks until the next visit. The longer the thread hasn't run, the rarer its visits: if
 * there are many threads, and in any case after a long time. */
static uint32_t span_of(struct cp_wall_thread *w, bool moved)
{
	uint32_t most = cp_wall.stretch;

	w->still = moved ? 0 : w->still + w->span;
	if (moved)
		return cp_wall.step;
	if (w->still >= CP_WALL_IDLE * cp_wall.rest) {
		w->still = CP_WALL_IDLE * cp_wall.rest;
		most = most > cp_wall.rest ? most : cp_wall.rest;
	}
	return 2 * w->span < most ? 2 * w->span : most;
}

bool cp_wall_visit(struct cp_run *r, struct cp_thread *t, uint64_t tick, uint64_t *due)
{
	struct cp_wall_thread *w = cp_wall_of(t);
	uint64_t clock = cp_wall_stack_clock_of(t->tid);
	uint32_t span;
	bool moved;

	cp_wall.counts.visits++;
	if (!w->span)
		begin_visits(w, tick);
	moved = clock != UINT64_MAX && !has_not_moved(t, clock);
	if (clock == UINT64_MAX)
		found_ended(w);
	else if (moved)
		find_out(r, t, tick);
	else
		note_delay(t);
	w->moves += moved;
	if (moved)
		w->unmoved = 0;
	cp_wall.counts.unmoved += !moved;
	span = span_of(w, moved);
	/* A thread that has worked before may do so again. */
	if (span > LONG_SPAN && w->span <= LONG_SPAN && w->moves > 1)
		cp_wall_timer_arm(t);
	*due = w->ended ? UINT64_MAX : plan_visit(w, tick, span);
	return moved;
}
