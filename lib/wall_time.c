/* From time to rows; see wall.h.
 *
 * Per thread: given - began = what rows got + owed + unsampled, at any time. Time is given to
 * the state of the last visit; rows are kept by number, so that a thread that goes on waiting
 * costs an addition.
 */
#include <time.h>

#include "drain.h"
#include "mode.h"
#include "sigsafe/atomic.h"
#include "sigsafe/gate.h"
#include "sigsafe/unwind.h"
#include "wall.h"
#include "wall_slow.h"

/* A reading of the modules may take at most this part of the time. */
#define READING_SHARE 100

static bool is_mapped(const struct cp_modules *m, uint64_t pc)
{
	uint32_t n = cp_modules_find(m, pc);

	return n != CP_NO_MAPPING && cp_modules_at(m, n)->live;
}

static bool all_mapped(const struct cp_modules *m, const struct cp_raw_stack *s)
{
	for (uint32_t i = 0; i < s->depth; i++)
		if (!is_mapped(m, s->pcs[i]))
			return false;
	return true;
}

static void read_modules(struct cp_modules *m)
{
	uint64_t began = cp_run_clock(CLOCK_MONOTONIC), end;

	cp_wall.openings = cp_gate_openings();
	cp_modules_refresh(m);
	end = cp_run_clock(CLOCK_MONOTONIC);
	cp_wall.next_reading = end + READING_SHARE * (end - began);
}

/* Addresses get their module when a stack is first seen. What was unloaded since the list was read
 * is seen by the gate, what was loaded by an address in no module. */
static void freshen(struct cp_modules *m, const struct cp_raw_stack *s)
{
	if (cp_wall.openings != cp_gate_openings() || !m->readings)
		read_modules(m);
	else if (!all_mapped(m, s) && cp_run_clock(CLOCK_MONOTONIC) >= cp_wall.next_reading)
		read_modules(m);
}

/* A thread of libc's leaves its name when it ends, and is asked for it at each dump; another one
 * may be gone by then. To ask costs a third of a first visit. */
static uint32_t label_of(struct cp_run *r, struct cp_thread *t)
{
	return t->foreign ? cp_drain_label(r, t) : cp_drain_unnamed(r, t);
}

static void set_row(struct cp_run *r, struct cp_thread *t, enum cp_wall_state state,
		    struct cp_raw_stack *s)
{
	uint32_t row = CP_INDEX_NONE;

	freshen(r->aggregate.modules, s);
	s->tag = state;
	s->thread = label_of(r, t);
	if (s->thread != CP_NO_THREAD)
		row = cp_aggregate_row(&r->aggregate, s);
	if (row == CP_INDEX_NONE)
		cp_count_mode(CP_MODE_WALL, CP_COUNT_LOST_AGGREGATE, 1);
	t->wall.row[state] = row == CP_INDEX_NONE ? 0 : row + 1;
	t->wall.in_span[state] = 0;
}

void cp_wall_set_row(struct cp_run *r, struct cp_thread *t, enum cp_wall_state state,
		     const struct cp_record *record)
{
	struct cp_raw_stack s = { .pcs = record->pcs,
				  .depth = record->depth,
				  .end = record->end,
				  .labels = record->labels };

	set_row(r, t, state, &s);
	t->wall.in_span[state] = record->span;
}

void cp_wall_pay(struct cp_run *r, struct cp_thread *t, enum cp_wall_state state)
{
	struct cp_wall_thread *w = &t->wall;
	uint64_t ns = w->owed[state], periods;
	struct cp_stack *s;

	if (!ns || !w->row[state])
		return;
	s = cp_aggregate_row_at(&r->aggregate, w->row[state] - 1);
	periods = (cp_wall.uncounted + ns) / cp_wall.period_ns;
	cp_wall.uncounted = (cp_wall.uncounted + ns) % cp_wall.period_ns;
	w->owed[state] = 0;
	s->values[0] += periods;
	s->values[1] += ns;
	r->aggregate.records++;
	r->aggregate.weight += ns;
	cp_wall.counts.given += ns;
	if (w->in_span[state])
		cp_wall_slow_note(r, w->in_span[state], w->row[state] - 1, periods, ns);
}

void cp_wall_give(struct cp_run *r, struct cp_thread *t, uint64_t until)
{
	struct cp_wall_thread *w = &t->wall;
	uint64_t ns = until - w->given;

	if (w->state == CP_WALL_UNSEEN || until <= w->given)
		return;
	w->given = until;
	if (w->state == CP_WALL_PAUSED) {
		cp_count_mode(CP_MODE_WALL, CP_COUNT_LOST_PAUSED, ns);
		return;
	}
	w->owed[w->state] += ns;
	if (!w->unanswered || w->state != CP_WALL_RUNNING)
		cp_wall_pay(r, t, w->state);
}

/* Rows of the same thread: running where it waited last. Addresses stand for themselves. */
static void copy_row(struct cp_run *r, struct cp_thread *t, enum cp_wall_state from,
		     enum cp_wall_state to)
{
	static uint64_t pcs[4096]; /* under the collector's lock */
	const struct cp_stack *s = cp_aggregate_row_at(&r->aggregate, t->wall.row[from] - 1);
	struct cp_raw_stack raw = { .pcs = pcs, .end = CP_UNWIND_COMPLETE, .labels = s->labels };

	for (uint32_t i = 0; i < s->depth && raw.depth < 4096; i++) {
		uint32_t l = s->locations[i];

		if (l == CP_LOCATION_TRUNCATED)
			raw.end = CP_UNWIND_TRUNCATED;
		else if (l == CP_LOCATION_INCOMPLETE)
			raw.end = CP_UNWIND_INCOMPLETE;
		else
			pcs[raw.depth++] =
				CP_VEC_AT(&r->aggregate.locations, struct cp_location, l)->address;
	}
	if (raw.depth)
		set_row(r, t, to, &raw);
}

/* A stack for STATE where none was seen: that of the other state, or the thread's function. */
static void make_row(struct cp_run *r, struct cp_thread *t, enum cp_wall_state state)
{
	enum cp_wall_state other = state == CP_WALL_RUNNING ? CP_WALL_WAITING : CP_WALL_RUNNING;
	uint64_t start = (uint64_t)(uintptr_t)t->start;
	struct cp_raw_stack s = { .pcs = &start, .depth = 1, .end = CP_UNWIND_COMPLETE };

	if (t->wall.row[other])
		copy_row(r, t, other, state);
	else if (start)
		set_row(r, t, state, &s);
}

static void pay_somehow(struct cp_run *r, struct cp_thread *t, enum cp_wall_state state)
{
	struct cp_wall_thread *w = &t->wall;

	if (!w->owed[state])
		return;
	if (w->unanswered || !w->row[state])
		cp_wall.counts.unanswered += w->owed[state];
	if (!w->row[state])
		make_row(r, t, state);
	cp_wall_pay(r, t, state);
}

void cp_wall_settle(struct cp_run *r, struct cp_thread *t, uint64_t until)
{
	uint64_t ended = cp_load_acquire(&t->wall.ended);

	cp_wall_give(r, t, ended && ended < until ? ended : until);
	pay_somehow(r, t, CP_WALL_RUNNING);
	pay_somehow(r, t, CP_WALL_WAITING);
	if (t->names[CP_MODE_WALL])
		cp_drain_name(r, t);
}

/* T began and ended between two visits: its CPU clock tells how long it ran. */
static void settle_unseen(struct cp_run *r, struct cp_thread *t)
{
	struct cp_wall_thread *w = &t->wall;
	uint64_t lived = w->ended > w->began ? w->ended - w->began : 0;
	uint64_t ran = w->ended_cpu < lived ? w->ended_cpu : lived;

	if (!t->start) {
		cp_wall.counts.unsampled += lived;
		return;
	}
	cp_wall.counts.unvisited += lived;
	w->owed[CP_WALL_RUNNING] = ran;
	w->owed[CP_WALL_WAITING] = lived - ran;
	for (enum cp_wall_state s = CP_WALL_RUNNING; s <= CP_WALL_WAITING; s++) {
		if (w->owed[s])
			make_row(r, t, s);
		cp_wall_pay(r, t, s);
	}
	cp_drain_name(r, t);
}

void cp_wall_gone(struct cp_run *r, struct cp_thread *t)
{
	struct cp_wall_thread *w = &t->wall;

	if (!w->began)
		return;
	if (!w->ended)
		w->ended = cp_run_clock(CLOCK_MONOTONIC);
	if (w->state == CP_WALL_UNSEEN)
		settle_unseen(r, t);
	else
		cp_wall_settle(r, t, w->ended);
	w->began = 0;
	/* The next thread with this record is met at once. */
	if (t->index < cp_wall.due.count)
		*CP_VEC_AT(&cp_wall.due, uint64_t, t->index) = 0;
}
