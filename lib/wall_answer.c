/* Running threads whose stack doesn't come, or comes late; see wall.h.
 *
 * A thread that was found running is asked for its stack by a timer, which the kernel looks at when
 * its tick finds the thread running. Where threads share a processor, that may be many ticks later;
 * by then the thread may serve another request. So an answer stands for what was seen up to one
 * kernel tick before, and what was seen earlier, under other labels or in another span, goes to the
 * last stack under those, if there is one. And what is still owed when a dump comes, or the thread
 * has ended, goes to a stack all the same.
 */
#include <sys/auxv.h>
#include <time.h>

#include "drain.h"
#include "mode.h"
#include "sigsafe/atomic.h"
#include "sigsafe/labels.h"
#include "sigsafe/labelset.h"
#include "sigsafe/sys.h"
#include "sigsafe/unwind.h"
#include "wall.h"

/* Rows of the same thread: running where it waited last. Addresses stand for themselves. */
static void copy_row(struct cp_run *r, struct cp_thread *t, enum cp_wall_state from,
		     enum cp_wall_state to, uint32_t span)
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
		cp_wall_set_stack(r, t, to, &raw, span);
}

/* Main begins where the program does; of threads unknown to libc nobody knows. */
static uint64_t start_of(const struct cp_thread *t)
{
	if (t->start)
		return (uint64_t)(uintptr_t)t->start;
	return !t->foreign && t->tid == cp_sys_getpid() ? getauxval(AT_ENTRY) : 0;
}

static void make_row(struct cp_run *r, struct cp_thread *t, enum cp_wall_state state)
{
	enum cp_wall_state other = state == CP_WALL_RUNNING ? CP_WALL_WAITING : CP_WALL_RUNNING;
	uint64_t start = start_of(t);
	struct cp_raw_stack s = { .pcs = &start, .depth = 1, .end = CP_UNWIND_COMPLETE };

	if (t->wall.row[other])
		copy_row(r, t, other, state, 0);
	else if (start)
		cp_wall_set_stack(r, t, state, &s, 0);
}

struct cp_wall_seen cp_wall_seen_now(const struct cp_thread *t)
{
	const struct cp_labels *labels = cp_load_acquire(&t->labels);

	return (struct cp_wall_seen){ .labels = cp_labels_of_other(labels),
				      .span = labels ? cp_load_relaxed(&labels->span) : 0 };
}

static bool is_same(struct cp_wall_seen a, struct cp_wall_seen b)
{
	return a.labels == b.labels && a.span == b.span;
}

/* T's last stack in STATE was taken when it was seen as it is owed for. */
static bool has_row(struct cp_run *r, const struct cp_wall_thread *w, enum cp_wall_state state)
{
	struct cp_wall_seen of = { .span = w->in_span[state] };

	if (!w->row[state])
		return false;
	of.labels = cp_aggregate_row_at(&r->aggregate, w->row[state] - 1)->labels;
	return is_same(of, w->asked_in);
}

static void pay_as_seen(struct cp_run *r, struct cp_thread *t)
{
	struct cp_wall_thread *w = &t->wall;

	if (!has_row(r, w, CP_WALL_RUNNING) && has_row(r, w, CP_WALL_WAITING))
		copy_row(r, t, CP_WALL_WAITING, CP_WALL_RUNNING, w->asked_in.span);
	if (!has_row(r, w, CP_WALL_RUNNING))
		return;
	cp_wall.counts.unanswered += w->owed[CP_WALL_RUNNING];
	cp_wall_pay(r, t, CP_WALL_RUNNING);
}

/* What is owed since long goes to where it was spent, if T does something else now. */
static void pay_late(struct cp_run *r, struct cp_thread *t, struct cp_wall_seen now)
{
	if (t->wall.late && !is_same(now, t->wall.asked_in))
		pay_as_seen(r, t);
}

void cp_wall_ask(struct cp_thread *t, struct cp_wall_seen seen, uint64_t now)
{
	struct cp_wall_thread *w = &t->wall;

	if (!w->unanswered || (w->late && !is_same(seen, w->asked_in))) {
		w->asked = now;
		w->late = false;
	}
	w->unanswered = true;
	w->asked_in = seen;
	cp_wall_arm(t);
}

void cp_wall_still_unanswered(struct cp_run *r, struct cp_thread *t, struct cp_wall_seen seen,
			      uint64_t now)
{
	struct cp_wall_thread *w = &t->wall;

	w->late = w->unanswered && now - w->asked >= cp_wall.kernel_tick_ns;
	pay_late(r, t, seen);
}

void cp_wall_answered(struct cp_run *r, struct cp_thread *t, const struct cp_record *answer)
{
	struct cp_wall_seen seen = { .labels = answer->labels, .span = answer->span };

	pay_late(r, t, seen);
	t->wall.unanswered = t->wall.late = false;
}

static void pay_somehow(struct cp_run *r, struct cp_thread *t, enum cp_wall_state state)
{
	struct cp_wall_thread *w = &t->wall;
	bool guessed = w->unanswered;

	if (state == CP_WALL_RUNNING && w->unanswered)
		pay_as_seen(r, t);
	if (w->owed[state] && !w->row[state]) {
		guessed = true;
		make_row(r, t, state);
	}
	/* Without a start, as long as nobody has seen it anywhere, it stays owed. */
	if (!w->row[state])
		return;
	cp_wall.counts.unanswered += guessed ? w->owed[state] : 0;
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

uint64_t cp_wall_unpaid(const struct cp_thread *t)
{
	return t->wall.owed[CP_WALL_RUNNING] + t->wall.owed[CP_WALL_WAITING];
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
		w->ended = cp_sys_clock_ns(CLOCK_MONOTONIC);
	if (w->state == CP_WALL_UNSEEN)
		settle_unseen(r, t);
	else
		cp_wall_settle(r, t, w->ended);
	cp_wall.counts.unsampled += cp_wall_unpaid(t);
	w->owed[CP_WALL_RUNNING] = w->owed[CP_WALL_WAITING] = 0;
	w->began = 0;
	/* The next thread with this record is met at once. */
	if (t->index < cp_wall.due.count)
		*CP_VEC_AT(&cp_wall.due, uint64_t, t->index) = 0;
}
