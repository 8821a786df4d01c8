/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows that other processes take; see window.h. */
#include "session/window.h"

#include <errno.h>

#include "session/session.h"

/* Finds the consumer, or makes it known. Returns 0; -EUSERS; or -ESTALE: its window can't begin
 * where its last one ended. */
static int find_window(struct cp_run *r, const struct cp_window_take *t, struct cp_consumer **c)
{
	int err = 0;

	*c = cp_consumers_find(r, t->consumer);
	if (!*c && t->all)
		*c = cp_consumers_take_over(r, t->consumer);
	if (*c)
		return 0;
	*c = cp_consumers_add(r, t->consumer);
	if (!*c)
		return -EUSERS;
	/* The mode has begun anew, by an exec or because somebody turned it off and on, so the
	 * window is the whole time of the mode. */
	if (t->write && (!t->since || t->since > r->start_ns || r->gave_up))
		err = -ESTALE;
	return err;
}

/* A mode with consumers ends no earlier than they do. */
static void extend(const struct cp_run *r, uint64_t until)
{
	uint64_t *end = &cp_session.until[r->ops->parent];

	if (*end && *end < until)
		*end = until;
}

static int write_window(struct cp_run *r, struct cp_window_take *t, struct cp_consumer *c,
			uint64_t *bytes)
{
	struct cp_memory_sink *memory = t->list.memory;
	size_t before = memory->used;
	int err = cp_dump_window(r, c, &cp_session.config, &memory->sink);

	if (err)
		memory->used = before;
	*bytes = memory->used - before;
	t->end = c->next.ns;
	return err;
}

static int take_window(struct cp_run *r, struct cp_window_take *t, uint64_t *bytes)
{
	struct cp_consumer *c;
	int err, begun;

	cp_consumers_expire(r, cp_sys_clock_ns(CLOCK_MONOTONIC));
	err = find_window(r, t, &c);
	if (!c)
		return err;
	c->until = t->until;
	c->last = t->last;
	extend(r, t->until);
	/* An answer without a confirmation did not arrive. */
	cp_consumers_confirm(c, false);
	if (t->write && !err)
		return write_window(r, t, c, bytes);
	/* A new consumer begins with the mode. */
	if (t->all && (c->follows || (c->begin.ns == r->start_ns && !r->gave_up))) {
		t->end = c->begin.ns;
		c->follows = !r->nofile;
		c->peer = t->peer;
		if (c->follows)
			cp_push_note_window(t->peer);
		return 0;
	}
	begun = cp_dump_begin_window(r, c);
	t->end = c->begin.ns;
	return begun ? begun : err;
}

void cp_window_take(void *arg)
{
	struct cp_window_take *t = arg;
	struct cp_window_list *l = &t->list;

	/* A process that is writing its end gets no new followers, because its files are pushed. */
	if (!cp_session.runs[l->modes[0]].running || (t->all && cp_session.finished)) {
		t->result = -ESRCH;
		return;
	}
	cp_own_time_work_begin();
	cp_window_settle(cp_window_list_modes(l));
	t->result = take_window(&cp_session.runs[l->modes[0]], t, &l->bytes[0]);
	/* A client that has been refused ends no window, so it gets none of the companions either.
	 */
	for (unsigned i = 1; i < l->count && (!t->result || t->result == -ESTALE); i++)
		if (cp_session.runs[l->modes[i]].running)
			take_window(&cp_session.runs[l->modes[i]], t, &l->bytes[i]);
	cp_own_time_work_end();
}

static void confirm(struct cp_run *r, const struct cp_window_take *t)
{
	struct cp_consumer *c = r->running ? cp_consumers_find(r, t->consumer) : NULL;

	if (!c)
		return;
	cp_consumers_confirm(c, t->received);
	if (t->received && r->nofile)
		cp_shrink_run(r);
}

void cp_window_take_confirm(void *arg)
{
	const struct cp_window_take *t = arg;

	cp_own_time_work_begin();
	for (unsigned i = 0; i < t->list.count; i++)
		confirm(&cp_session.runs[t->list.modes[i]], t);
	cp_own_time_work_end();
}

void cp_window_take_end(void *arg)
{
	struct cp_window_take *t = arg;
	struct cp_window_call end = { .mode = cp_runs_parent(t->list.modes[0]), .discard = true };
	uint64_t until = 0; /* latest end of the remaining consumers */

	for (unsigned m = cp_mode_ops_first(); m < CP_MODES; m = cp_mode_ops_after(m)) {
		struct cp_run *r = &cp_session.runs[m];
		struct cp_consumer *c;

		if (!r->running || cp_runs_parent(m) != end.mode)
			continue;
		cp_consumers_expire(r, cp_sys_clock_ns(CLOCK_MONOTONIC));
		c = cp_consumers_find(r, t->consumer);
		if (c)
			cp_consumers_remove(r, c);
		until = cp_consumers_until(r) > until ? cp_consumers_until(r) : until;
	}
	if (!cp_session.runs[end.mode].running || !cp_session.runs[end.mode].nofile)
		return;
	if (until) {
		cp_session.until[end.mode] = until;
		return;
	}
	cp_window_end_mode(&end);
	t->result = end.result;
}
