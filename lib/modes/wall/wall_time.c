/* SPDX-License-Identifier: BSD-3-Clause */
/* Gives time to rows; see wall.h.
 *
 * Time is given to the state of the last visit. Rows are kept by number, so a thread that goes on
 * waiting costs one addition. The times from visits are shares. The thread's clocks tell how long
 * it really was in a state (wall_exact.c), and a settle makes its rows sum to that. */

#include "base/sys.h"
#include "modes/wall/wall.h"

/* A reading of the modules may take at most 1/READING_SHARE of the time. */
#define READING_SHARE 100

/* Marks, such as [not sampled], are in no module. */
static bool is_mapped(const struct cp_modules *m, uint64_t pc)
{
	uint32_t n = cp_modules_find(m, pc);

	return pc >= CP_PC_SPECIAL || (n != CP_NO_MAPPING && cp_modules_at(m, n)->live);
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
	uint64_t began = cp_sys_clock_ns(CLOCK_MONOTONIC), end;

	cp_wall.openings = cp_gate_openings();
	cp_modules_refresh(m);
	end = cp_sys_clock_ns(CLOCK_MONOTONIC);
	cp_wall.next_reading = end + READING_SHARE * (end - began);
}

/* Read the modules again if needed: addresses get their module when a stack is first seen. The gate
 * shows that a module was unloaded since the last reading; an address in no module shows that one
 * was loaded. */
static void freshen(struct cp_modules *m, const struct cp_raw_stack *s)
{
	if (cp_wall.openings != cp_gate_openings() || !m->readings)
		read_modules(m);
	else if (!all_mapped(m, s) && cp_sys_clock_ns(CLOCK_MONOTONIC) >= cp_wall.next_reading)
		read_modules(m);
}

void cp_wall_time_set_stack(struct cp_run *r, struct cp_thread *t, enum cp_wall_state state,
			    struct cp_raw_stack *s)
{
	uint32_t row = CP_INDEX_NONE;

	freshen(r->aggregate.modules, s);
	s->tag |= state;
	s->thread = cp_wall_strata_label(r, t);
	if (s->thread != CP_NO_THREAD)
		row = cp_aggregate_row(&r->aggregate, s);
	if (row == CP_INDEX_NONE)
		cp_count_mode(CPROF_WALL, CP_COUNT_LOST_AGGREGATE, 1);
	cp_wall_of(t)->row[state] = row == CP_INDEX_NONE ? 0 : row + 1;
}

void cp_wall_time_set_row(struct cp_run *r, struct cp_thread *t, enum cp_wall_state state,
			  const struct cp_record *record, uint32_t wait)
{
	struct cp_raw_stack s = { .pcs = record->pcs,
				  .tag = CP_WALL_ROW_TAG(0, wait),
				  .depth = record->depth,
				  .end = record->end,
				  .labels = record->labels };

	cp_wall_time_set_stack(r, t, state, &s);
}

/* ---- the time index ---- */

void cp_wall_time_event(struct cp_run *r, struct cp_thread *t, uint32_t row, uint64_t begin,
			uint64_t duration, uint64_t ns)
{
	if (!r->times.budget || begin < r->start_ns)
		return;
	cp_times_add(&r->times, &(struct cp_time_event){ .begin_ns = begin - r->start_ns,
							 .duration_ns = duration,
							 .weight = ns,
							 .thread = cp_wall_strata_label(r, t),
							 .row = row,
							 .count = 1 });
}

static void close_stretch(struct cp_run *r, struct cp_thread *t, struct cp_wall_stretch *s)
{
	if (s->ns)
		cp_wall_time_event(r, t, s->row, s->begin, s->ns, s->ns);
	s->ns = 0;
}

void cp_wall_time_close(struct cp_run *r, struct cp_thread *t)
{
	for (unsigned state = 0; state < CP_WALL_STATES; state++)
		close_stretch(r, t, &cp_wall_of(t)->open[state]);
}

/* A thread that goes on waiting at the same place makes one event, however often it is visited. */
static void extend_stretch(struct cp_run *r, struct cp_thread *t, enum cp_wall_state state,
			   uint64_t ns)
{
	struct cp_wall_thread *w = cp_wall_of(t);
	struct cp_wall_stretch *s = &w->open[state];

	if (s->ns && (s->row != w->row[state] - 1 || s->begin + s->ns != w->owed_from[state]))
		close_stretch(r, t, s);
	if (!s->ns)
		*s = (struct cp_wall_stretch){ w->owed_from[state], 0, w->row[state] - 1 };
	s->ns += ns;
}

/* ---- time ---- */

static void owe_state(struct cp_wall_thread *w, enum cp_wall_state state, uint64_t from,
		      uint64_t ns)
{
	if (!w->owed[state])
		w->owed_from[state] = from;
	w->owed[state] += ns;
}

void cp_wall_time_pay(struct cp_run *r, struct cp_thread *t, enum cp_wall_state state)
{
	struct cp_wall_thread *w = cp_wall_of(t);
	uint64_t ns = w->owed[state];

	if (!ns || !w->row[state])
		return;
	w->owed[state] = 0;
	extend_stretch(r, t, state, ns);
	cp_wall_strata_sample(r, t, state, w->row[state] - 1, ns);
}

/* The pacer itself may have taken the processor from T to look at it; with one processor it always
 * does. So a T that is ready to run ran for as long as its CPU clock says. */
static void owe(struct cp_wall_thread *w, uint64_t from, uint64_t ns)
{
	uint64_t ran = w->state == CP_WALL_RUNNABLE ? w->ran : 0;

	if (ran > ns)
		ran = ns;
	w->ran -= ran;
	owe_state(w, CP_WALL_RUNNING, from, ran);
	owe_state(w, w->state, from + ran, ns - ran);
}

void cp_wall_time_give(struct cp_run *r, struct cp_thread *t, uint64_t until)
{
	struct cp_wall_thread *w = cp_wall_of(t);
	uint64_t from = w->given, ns = until - from;

	if (w->state == CP_WALL_UNSEEN || until <= w->given)
		return;
	w->given = until;
	if (w->state == CP_WALL_PAUSED) {
		cp_count_mode(CPROF_WALL, CP_COUNT_LOST_PAUSED, ns);
		w->lost += ns;
		return;
	}
	owe(w, from, ns);
	if (w->unanswered && w->state != CP_WALL_WAITING)
		return;
	cp_wall_time_pay(r, t, w->state);
	if (w->state == CP_WALL_RUNNABLE)
		cp_wall_time_pay(r, t, CP_WALL_RUNNING);
}

void cp_wall_time_rows(struct cp_thread *t, void (*see)(uint32_t *row, void *arg), void *arg)
{
	uint32_t *rows = cp_wall_of(t)->row;

	/* The fields of a released record are no rows. */
	for (unsigned state = 0; state < CP_WALL_STATES; state++)
		if (rows[state] && cp_load_acquire(&t->state) != CP_THREAD_FREE) {
			uint32_t row = rows[state] - 1;

			see(&row, arg);
			rows[state] = row + 1;
		}
}
