/* SPDX-License-Identifier: BSD-3-Clause */
/* Live blocks by stack and age; see heap.h. */
#include "modes/heap/heap.h"

#include <time.h>

#include "base/sys.h"
#include "modes/heap/signal/heap_signal.h"
#include "sample/sample.h"
#include "sample/thread.h"

/* Rows that were found a moment ago: blocks that lie together come from the same stacks. */
#define RECENT 256

struct recent {
	uint32_t id, class, row; /* ID 0: empty */
};

struct alive {
	struct cp_run *run;
	uint64_t now;
	struct recent recent[RECENT];
};

static uint32_t row_of(struct alive *x, struct cp_stack_depot_entry *e, uint32_t class)
{
	struct recent *r = &x->recent[(e->id * 31 + class) % RECENT];
	struct cp_aggregate *a = &x->run->aggregate;

	if (r->id == e->id && r->class == class)
		return r->row;
	if (!cp_heap_views_make_room(a))
		return CP_INDEX_NONE;
	*r = (struct recent){ e->id, class,
			      cp_aggregate_row(a,
					       &(struct cp_raw_stack){ .pcs = e->pcs,
								       .depth = e->depth,
								       .end = e->end,
								       .labels = CP_LABELSET_NONE,
								       .tag = class,
								       .thread = CP_NO_THREAD }) };
	if (r->row == CP_INDEX_NONE)
		r->id = 0;
	else
		cp_heap_views_row(a, r->row)->base = r->row;
	return r->row;
}

static void add(uint64_t address, const struct cp_live_block *b, void *alive)
{
	struct alive *x = alive;
	struct cp_stack_depot_entry *e = cp_stack_depot_at(b->id);
	uint64_t born = cp_lifetimes_born_ns(b->born), objects, bytes;
	uint32_t row;

	(void)address;
	if (!b->born || cp_load_relaxed(&e->seen.epoch) < cp_heap_totals.first_epoch ||
	    !cp_stack_depot_is_found(e))
		return;
	row = row_of(x, e,
		     cp_lifetimes_class(x->now > born ? x->now - born : 0, CP_LIFETIMES_ALIVE));
	if (row == CP_INDEX_NONE)
		return;
	cp_poisson_stands_for(b->size, e->interval, &objects, &bytes);
	cp_aggregate_row_at(&x->run->aggregate, row)->values[0] += objects;
	cp_aggregate_row_at(&x->run->aggregate, row)->values[1] += bytes;
}

void cp_heap_alive_add(struct cp_run *r)
{
	struct alive x = { .run = r, .now = cp_sys_clock_ns(CLOCK_MONOTONIC) };

	cp_modules_want(r->aggregate.modules);
	cp_live_each(add, &x);
}
