/* Rows of the heap mode; see heap_rows.h. */
#include "heap_rows.h"

#include <string.h>

#include "sigsafe/counters.h"
#include "sigsafe/heap_event.h"
#include "sigsafe/poisson.h"

#define UNPLACED UINT32_MAX /* there was no memory for its row */

/* Of the heap, and of the program's own mappings. */
static struct cp_heap_sums all_sums[2];

static struct cp_heap_sums *sums_of(const struct cp_run *r)
{
	return &all_sums[r->mode == CP_MODE_MMAP];
}

const struct cp_heap_sums *cp_heap_rows_sums(const struct cp_run *r)
{
	return sums_of(r);
}

uint64_t cp_heap_rows_whole(uint64_t objects)
{
	return (objects + CP_POISSON_ONE / 2) >> CP_POISSON_ONE_SHIFT;
}

/* A stack that is new gets its row while its modules are mapped. */
static uint32_t find_row(struct cp_run *r, const struct cp_depot_entry *e)
{
	uint32_t row =
		cp_aggregate_row(&r->aggregate, &(struct cp_raw_stack){ .pcs = e->pcs,
									.depth = e->depth,
									.end = e->end,
									.labels = e->labels,
									.thread = CP_NO_THREAD });

	if (row != CP_INDEX_NONE)
		return row + 1;
	return UNPLACED;
}

/* Without memory for its row an entry waits for the next drain, for as long as its modules can be
 * told: while it is found. */
static void place(struct cp_run *r, struct cp_depot_entry *e, uint32_t *row)
{
	bool waits = *row == UNPLACED;

	if (*row && !(waits && cp_depot_is_found(e)))
		return;
	*row = find_row(r, e);
	if ((*row == UNPLACED) != waits)
		cp_count_mode(r->mode, CP_COUNT_LOST_AGGREGATE, waits ? (uint64_t)-1 : 1);
}

static void add(struct cp_depot_amount *sum, const struct cp_depot_amount *a)
{
	sum->objects += a->objects;
	sum->bytes += a->bytes;
}

/* While summing, rows hold fractions of objects. */
static void add_to_row(struct cp_depot_entry *e, void *arg)
{
	struct cp_run *r = arg;
	unsigned which = r->mode == CP_MODE_PEAK;
	struct cp_heap_sums *sums = sums_of(r);
	struct cp_depot_amount use, peak, all, *shown;
	uint64_t *v;

	if (e->epoch < cp_heap_totals.first_epoch ||
	    (e->interval == CP_DEPOT_MAPPING) != (r->mode == CP_MODE_MMAP))
		return;
	place(r, e, &e->rows[which]);
	/* In use first: see cp_depot_in_use. */
	use = cp_depot_in_use(e);
	peak = cp_depot_at_peak(e);
	all = (struct cp_depot_amount){ cp_load_relaxed(&e->allocated.objects),
					cp_load_relaxed(&e->allocated.bytes) };
	add(&sums->allocated, &all);
	add(&sums->in_use, &use);
	add(&sums->peak, &peak);
	sums->stacks++;
	if (e->rows[which] == UNPLACED)
		return;
	shown = which ? &peak : &use;
	v = cp_aggregate_row_at(&r->aggregate, e->rows[which] - 1)->values;
	v[0] += all.objects;
	v[1] += all.bytes;
	v[2] += shown->objects;
	v[3] += shown->bytes;
}

static void round_row(struct cp_stack *s)
{
	s->values[0] = cp_heap_rows_whole(s->values[0]);
	s->values[2] = cp_heap_rows_whole(s->values[2]);
}

static void sum_rows(struct cp_run *r)
{
	struct cp_aggregate *a = &r->aggregate;

	memset(sums_of(r), 0, sizeof(struct cp_heap_sums));
	for (uint32_t i = 0; i < a->stacks.count; i++)
		memset(cp_aggregate_row_at(a, i)->values, 0, sizeof(uint64_t[CP_VALUES]));
	cp_depot_each(add_to_row, r);
	for (uint32_t i = 0; i < a->stacks.count; i++)
		round_row(cp_aggregate_row_at(a, i));
}

void cp_heap_rows_collect(struct cp_run *r)
{
	struct cp_heap_sums *sums = sums_of(r);

	sum_rows(r);
	/* The high water is marked in steps of a tenth; what is in use now may be more. */
	if (r->mode != CP_MODE_MMAP && sums->in_use.bytes > sums->peak.bytes) {
		cp_depot_mark_peak();
		sums->peak = sums->in_use;
		if (r->mode == CP_MODE_PEAK)
			sum_rows(r);
	}
	/* Changes with every event: is there something new to write? */
	r->aggregate.records =
		cp_heap_rows_whole(2 * sums->allocated.objects - sums->in_use.objects);
	r->aggregate.weight = sums->allocated.bytes;
}
