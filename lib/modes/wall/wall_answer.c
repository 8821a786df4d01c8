/* SPDX-License-Identifier: BSD-3-Clause */
/* Running threads whose stack is missing or comes late; see wall.h.
 *
 * A thread that was found running is asked for its stack by a timer, which the kernel checks when
 * its tick finds the thread running. Where threads share a processor, that may be many ticks later;
 * by then the thread may serve another request. So an answer counts for what was seen up to one
 * kernel tick before. Time that was seen earlier, under other labels, goes to the last stack with
 * those, if there is one. Time that is still owed when a dump comes, or when
 * the thread has ended, goes to some stack all the same.
 */
#include <string.h>

#include "base/libc.h"
#include "collect/collect.h"
#include "modes/wall/wall.h"

/* Give T's state TO the stack and labels of its state FROM: running where it waited last, or the
 * reverse. The row's addresses are used as they are. */
static void copy_row(struct cp_run *r, struct cp_thread *t, enum cp_wall_state from,
		     enum cp_wall_state to)
{
	static uint64_t pcs[CP_RECORD_DEPTH_MOST]; /* guarded by the collector's lock */
	const struct cp_stack *s = cp_aggregate_row_at(&r->aggregate, cp_wall_of(t)->row[from] - 1);
	struct cp_raw_stack raw = { .pcs = pcs, .end = CP_UNWIND_COMPLETE, .labels = s->labels };

	for (uint32_t i = 0; i < s->depth && raw.depth < CP_RECORD_DEPTH_MOST; i++) {
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
		cp_wall_time_set_stack(r, t, to, &raw);
}

/* Return T's start function. Main starts at the program's entry point. For threads unknown to libc
 * the start is unknown: 0. */
static uint64_t start_of(const struct cp_thread *t)
{
	if (t->start)
		return (uint64_t)(uintptr_t)t->start;
	return !t->foreign && t->tid == cp_sys_getpid() ? cp_libc_auxval(AT_ENTRY) : 0;
}

uint32_t cp_wall_answer_labels_now(const struct cp_thread *t)
{
	const struct cp_labels *labels = cp_load_acquire(&t->labels);

	struct cp_trace_ids ids;
	uint32_t set = CP_LABELSET_LOST;

	if (cp_trace_context_at && cp_trace_context_read(t->tls, &ids))
		set = cp_labels_of_other(labels, &ids);
	if (set == CP_LABELSET_LOST)
		set = cp_labels_of_other(labels, NULL);
	return set;
}

/* Return true if T's last stack in STATE has the labels for which time is owed. */
static bool has_row(struct cp_run *r, const struct cp_wall_thread *w, enum cp_wall_state state)
{
	return w->row[state] &&
	       cp_aggregate_row_at(&r->aggregate, w->row[state] - 1)->labels == w->asked_labels;
}

/* A thread that takes no signals can't be asked where it runs. */
static bool leave_unsampled(struct cp_thread *t)
{
	struct cp_wall_thread *w = cp_wall_of(t);

	if (!cp_load_relaxed(&t->unsignalled))
		return false;
	cp_wall.counts.unsampled += w->owed[CP_WALL_RUNNING] + w->owed[CP_WALL_RUNNABLE];
	w->lost += w->owed[CP_WALL_RUNNING] + w->owed[CP_WALL_RUNNABLE];
	w->owed[CP_WALL_RUNNING] = w->owed[CP_WALL_RUNNABLE] = 0;
	return true;
}

void cp_wall_answer_woken(struct cp_run *r, struct cp_thread *t, uint64_t ns)
{
	struct cp_wall_thread *w = cp_wall_of(t);
	struct cp_wall_stretch *s = &w->open[CP_WALL_WAITING];
	uint32_t kept = w->row[CP_WALL_RUNNABLE];
	uint64_t end = ns < s->ns ? ns : s->ns;

	if (!w->row[CP_WALL_WAITING])
		return;
	copy_row(r, t, CP_WALL_WAITING, CP_WALL_RUNNABLE);
	if (w->row[CP_WALL_RUNNABLE]) {
		cp_wall_strata_sample(r, t, CP_WALL_RUNNABLE, w->row[CP_WALL_RUNNABLE] - 1, ns);
		s->ns -= end;
		if (end)
			cp_wall_time_event(r, t, w->row[CP_WALL_RUNNABLE] - 1, s->begin + s->ns,
					   end, end);
	}
	w->row[CP_WALL_RUNNABLE] = kept;
}

void cp_wall_answer_ran_again(struct cp_run *r, struct cp_thread *t)
{
	uint64_t ns = cp_wall_of(t)->unmoved ? cp_wall_exact_woken(t) : 0;

	if (ns) {
		cp_wall.counts.runnable++;
		cp_wall_answer_woken(r, t, ns);
	}
}

void cp_wall_answer_was_woken(struct cp_run *r, struct cp_thread *t)
{
	struct cp_wall_thread *w = cp_wall_of(t);

	if (!w->row[CP_WALL_WAITING])
		return;
	copy_row(r, t, CP_WALL_WAITING, CP_WALL_RUNNABLE);
	cp_wall_time_pay(r, t, CP_WALL_RUNNABLE);
	w->unanswered &= w->owed[CP_WALL_RUNNING] != 0;
}

static void pay_as_seen(struct cp_run *r, struct cp_thread *t)
{
	struct cp_wall_thread *w = cp_wall_of(t);

	if (leave_unsampled(t))
		return;
	if (!has_row(r, w, CP_WALL_RUNNING) && has_row(r, w, CP_WALL_WAITING))
		copy_row(r, t, CP_WALL_WAITING, CP_WALL_RUNNING);
	if (!has_row(r, w, CP_WALL_RUNNING))
		return;
	if (w->owed[CP_WALL_RUNNABLE])
		copy_row(r, t, CP_WALL_RUNNING, CP_WALL_RUNNABLE);
	cp_wall.counts.unanswered += w->owed[CP_WALL_RUNNING] + w->owed[CP_WALL_RUNNABLE];
	cp_wall_time_pay(r, t, CP_WALL_RUNNING);
	cp_wall_time_pay(r, t, CP_WALL_RUNNABLE);
}

/* Give time that has been owed for a long time to the stack where it was spent, if T is doing
 * something else now. */
static void pay_late(struct cp_run *r, struct cp_thread *t, uint32_t labels)
{
	if (cp_wall_of(t)->late && labels != cp_wall_of(t)->asked_labels)
		pay_as_seen(r, t);
}

void cp_wall_answer_ask(struct cp_thread *t, uint32_t labels, uint64_t now)
{
	struct cp_wall_thread *w = cp_wall_of(t);

	if (!w->unanswered || (w->late && labels != w->asked_labels)) {
		w->asked = now;
		w->late = false;
	}
	w->unanswered = true;
	w->asked_labels = labels;
	cp_wall_timer_arm(t);
}

void cp_wall_answer_still_unanswered(struct cp_run *r, struct cp_thread *t, uint32_t labels,
				     uint64_t now)
{
	struct cp_wall_thread *w = cp_wall_of(t);

	w->late = w->unanswered && now - w->asked >= cp_wall.kernel_tick_ns;
	pay_late(r, t, labels);
}

void cp_wall_answer_came(struct cp_run *r, struct cp_thread *t, const struct cp_record *answer)
{
	pay_late(r, t, answer->labels);
	cp_wall_of(t)->unanswered = cp_wall_of(t)->late = false;
}

/* Return true if T was seen somewhere, or its start is known. */
static bool is_known(const struct cp_thread *t)
{
	bool known = start_of(t) != 0;

	for (unsigned state = 0; state < CP_WALL_STATES; state++)
		known |= cp_wall_of(t)->row[state] != 0;
	return known;
}

/* Make a row for T's STATE that says that there is no sample. */
static void make_row(struct cp_run *r, struct cp_thread *t, enum cp_wall_state state)
{
	uint64_t pcs[2] = { CP_PC_NOT_SAMPLED, start_of(t) };
	struct cp_raw_stack s = { .pcs = pcs, .depth = pcs[1] ? 2 : 1, .end = CP_UNWIND_COMPLETE };

	cp_wall_time_set_stack(r, t, state, &s);
}

/* Report that T spent NS in STATE. If no visit has found T there, they go to T's last stack in
 * STATE, or to [not sampled]. */
static void tell_time(struct cp_run *r, struct cp_thread *t, enum cp_wall_state state, uint64_t ns)
{
	struct cp_wall_thread *w = cp_wall_of(t);

	if (!ns)
		return;
	if (!w->sampled[state]) {
		if (!w->row[state])
			make_row(r, t, state);
		if (w->row[state])
			cp_wall_strata_sample(r, t, state, w->row[state] - 1, ns);
		/* Its whole life is known; of other threads, nobody knows when this was. */
		if (w->row[state] && w->state == CP_WALL_UNSEEN)
			cp_wall_time_event(r, t, w->row[state] - 1, w->given - ns, ns, ns);
		if (state != CP_WALL_WAITING && w->state != CP_WALL_UNSEEN)
			cp_wall.counts.unanswered += ns;
	}
	cp_wall_strata_exact(r, t, state, ns);
}

/* Report the exact totals of T's time until it was given last. */
static void tell_all(struct cp_run *r, struct cp_thread *t)
{
	struct cp_wall_thread *w = cp_wall_of(t);
	struct cp_wall_spent spent;

	/* Until T was seen somewhere, or if its start is unknown, its time is reported later. */
	if (!cp_wall_exact_untold(t) || !is_known(t))
		return;
	spent = cp_wall_exact_tell(t);
	for (enum cp_wall_state s = 0; s < CP_WALL_STATES; s++)
		tell_time(r, t, s, spent.ns[s]);
	memset(w->sampled, 0, sizeof(w->sampled));
	memset(w->owed, 0, sizeof(w->owed));
}

void cp_wall_answer_settle(struct cp_run *r, struct cp_thread *t, uint64_t until)
{
	struct cp_wall_thread *w = cp_wall_of(t);
	uint64_t ended = cp_load_acquire(&w->ended);

	cp_wall_time_give(r, t, ended && ended < until ? ended : until);
	cp_wall_answer_ran_again(r, t);
	if (w->unanswered)
		pay_as_seen(r, t);
	else
		leave_unsampled(t);
	for (enum cp_wall_state s = CP_WALL_RUNNING; s < CP_WALL_STATES; s++)
		cp_wall_time_pay(r, t, s);
	cp_wall_time_close(r, t);
	tell_all(r, t);
	cp_drain_name(r, t);
}

/* T began and ended between two visits: its CPU clock tells how long it ran. */
static void settle_unseen(struct cp_run *r, struct cp_thread *t)
{
	struct cp_wall_thread *w = cp_wall_of(t);
	uint64_t lived = w->ended > w->began ? w->ended - w->began : 0;

	if (!t->start) {
		cp_wall.counts.unsampled += lived;
		return;
	}
	cp_wall.counts.unvisited += lived;
	w->given = w->ended;
	tell_all(r, t);
	cp_drain_name(r, t);
}

void cp_wall_answer_ended(struct cp_run *r, struct cp_thread *t)
{
	struct cp_wall_thread *w = cp_wall_of(t);

	if (!w->began)
		return;
	/* The end of a thread that ended after the stop is not known. */
	if (!w->ended)
		w->ended = cp_wall.stopped ? cp_wall.stopped : cp_sys_clock_ns(CLOCK_MONOTONIC);
	if (w->state == CP_WALL_UNSEEN)
		settle_unseen(r, t);
	else
		cp_wall_answer_settle(r, t, w->ended);
	cp_wall.counts.unsampled += cp_wall_exact_untold(t);
	w->began = 0;
	/* The next thread with this record is visited at once. */
	if (t->index < cp_wall.due.count)
		*CP_VEC_AT(&cp_wall.due, uint64_t, t->index) = 0;
}
