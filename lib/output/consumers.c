/* SPDX-License-Identifier: BSD-3-Clause */
/* The clients that take windows of a run; see output.h. */
#include "output/output.h"

#include <errno.h>
#include <string.h>

#include "base/sys.h"
#include "labels/spans.h"

static struct cp_consumer *at(const struct cp_run *r, size_t i)
{
	return CP_VEC_AT(&r->consumers, struct cp_consumer, i);
}

struct cp_consumer *cp_consumers_find(struct cp_run *r, uint64_t id)
{
	for (size_t i = 0; i < r->consumers.count; i++)
		if (at(r, i)->id == id)
			return at(r, i);
	return NULL;
}

static struct cp_run_begin begin_of(const struct cp_run *r)
{
	struct cp_run_begin b = { .utc_ns = r->start_utc_ns,
				  .ns = r->start_ns,
				  .ticks = r->start_ticks,
				  .cpu_ns = r->start_cpu_ns,
				  .own_ns = r->own_base_ns,
				  .own = { .size = sizeof(uint64_t) },
				  .spans = { .size = sizeof(uint64_t) } };

	memcpy(b.counted, r->base, sizeof(b.counted));
	return b;
}

static void note_now(const struct cp_run *r, struct cp_run_begin *b)
{
	b->utc_ns = cp_dump_moment.utc_ns;
	b->ns = cp_dump_moment.now.ns;
	b->ticks = cp_tick_rate_pair();
	b->cpu_ns = cp_dump_moment.now.cpu_ns;
	b->own_ns = cp_own_time();
	b->records = r->aggregate.records;
	b->weight = r->aggregate.weight;
	for (int i = 0; i < CP_COUNTS; i++)
		b->counted[i] = cp_counted_mode(r->mode, (enum cp_count)i);
	b->refused = cp_counted(CP_COUNT_LABELS_REFUSED);
	b->lost_spans = cp_counted(CP_COUNT_LOST_SPANS);
	b->own.count = b->spans.count = 0;
	if (r->ops->count)
		r->ops->count(r, &b->own);
	cp_spans_count(&b->spans);
}

struct cp_consumer *cp_consumers_add(struct cp_run *r, uint64_t id)
{
	struct cp_consumer *c =
		r->consumers.count < CP_RUN_CONSUMERS ? cp_vec_add(&r->consumers) : NULL;

	if (!c)
		return NULL;
	*c = (struct cp_consumer){ .id = id,
				   .base = { .size = sizeof(struct cp_aggregate_base) },
				   .written = { .size = sizeof(struct cp_aggregate_base) },
				   .begin = begin_of(r),
				   .next = { .own = { .size = sizeof(uint64_t) },
					     .spans = { .size = sizeof(uint64_t) } } };
	return c;
}

static bool is_gone(int pid)
{
	return pid > 0 && cp_sys2(SYS_kill, pid, 0) == -ESRCH;
}

struct cp_consumer *cp_consumers_take_over(struct cp_run *r, uint64_t id)
{
	for (size_t i = 0; i < r->consumers.count; i++)
		if (at(r, i)->follows && is_gone(at(r, i)->peer)) {
			at(r, i)->id = id;
			return at(r, i);
		}
	return NULL;
}

void cp_consumers_remove(struct cp_run *r, struct cp_consumer *c)
{
	cp_run_release_consumer(c);
	*c = *at(r, --r->consumers.count);
}

void cp_consumers_expire(struct cp_run *r, uint64_t now)
{
	for (size_t i = r->consumers.count; i-- > 0;)
		if (at(r, i)->until <= now)
			cp_consumers_remove(r, at(r, i));
}

uint64_t cp_consumers_until(const struct cp_run *r)
{
	uint64_t last = 0;

	for (size_t i = 0; i < r->consumers.count; i++)
		last = at(r, i)->until > last ? at(r, i)->until : last;
	return last;
}

void cp_consumers_view(const struct cp_run *r, const struct cp_consumer *c, struct cp_run *view)
{
	*view = *r;
	view->window = c;
	view->start_utc_ns = c->begin.utc_ns;
	view->start_ns = c->begin.ns;
	view->start_ticks = c->begin.ticks;
	view->start_cpu_ns = c->begin.cpu_ns;
	view->own_base_ns = c->begin.own_ns;
	view->aggregate.records -= c->begin.records;
	view->aggregate.weight -= c->begin.weight;
	memcpy(view->base, c->begin.counted, sizeof(view->base));
}

const struct cp_vec *cp_consumers_base(const struct cp_run *r)
{
	return r->window ? &r->window->base : NULL;
}

int cp_consumers_end_window(const struct cp_run *r, struct cp_consumer *c)
{
	const struct cp_aggregate *a = &r->rows->aggregate;

	c->written.count = 0;
	if (!cp_vec_extend(&c->written, a->stacks.count))
		return -ENOMEM;
	for (uint32_t i = 0; i < a->stacks.count; i++) {
		const uint64_t *now = cp_aggregate_row_at(a, i)->values;
		uint64_t *base = CP_VEC_AT(&c->written, struct cp_aggregate_base, i)->values;

		for (unsigned v = 0; v < CP_VALUES; v++)
			base[v] = r->ops->moments & 1u << v ? 0 : now[v];
	}
	note_now(r, &c->next);
	return 0;
}

void cp_consumers_confirm(struct cp_consumer *c, bool received)
{
	struct cp_vec base = c->base;
	struct cp_run_begin begin = c->begin;

	if (!c->next.ns)
		return;
	if (received) {
		c->base = c->written;
		c->written = base;
		c->begin = c->next;
		c->next = begin;
	}
	c->written.count = 0;
	c->next.ns = 0;
}

bool cp_consumers_need(const struct cp_run *r, uint32_t number)
{
	bool need = false;

	for (size_t i = 0; i < r->consumers.count && !need; i++)
		for (unsigned v = 0; v < CP_VALUES && !need; v++)
			need = cp_aggregate_since(&r->aggregate, number, v, &at(r, i)->base) != 0;
	return need;
}

static void keep_base(struct cp_vec *base, bool (*kept)(uint32_t row, const void *arg),
		      const void *arg)
{
	struct cp_aggregate_base *items = base->items;
	size_t count = 0;

	for (uint32_t i = 0; i < base->count; i++)
		if (kept(i, arg))
			items[count++] = items[i];
	base->count = count;
}

void cp_consumers_rows_moved(struct cp_run *r, bool (*kept)(uint32_t row, const void *arg),
			     const void *arg)
{
	for (size_t i = 0; i < r->consumers.count; i++) {
		keep_base(&at(r, i)->base, kept, arg);
		keep_base(&at(r, i)->written, kept, arg);
	}
}
