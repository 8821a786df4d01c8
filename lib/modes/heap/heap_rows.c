/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of the heap mode; see heap.h. */
#include "modes/heap/heap.h"

#include "modes/heap/signal/heap_signal.h"
#include "base/sys.h"
#include "sample/diary.h"

#define UNPLACED CP_HEAP_VIEWS_UNPLACED

_Static_assert(CP_STACK_DEPOT_MARK == CP_PC_FREED, "the mark has a location");

/* The heap, the program's own mappings, lifetimes, and pages. */
static struct source {
	struct cp_heap_sums sums;
	uint32_t placed; /* id of the newest entry that has a row; all entries before it have one,
			    too */
	bool waits;	 /* some entries got no row yet */
	bool summed;	 /* SUMS and the rows' values are newer than the last collect */
	bool shows_peak; /* the rows hold the peak's values */
} sources[4];

static struct source *source_of(const struct cp_run *r)
{
	switch (r->mode) {
	case CPROF_HEAP_MMAP: return &sources[1];
	case CPROF_HEAP_LIFETIMES: return &sources[2];
	case CPROF_HEAP_FRAGMENTATION: return &sources[3];
	default: return &sources[0];
	}
}

const struct cp_heap_sums *cp_heap_rows_sums(const struct cp_run *r)
{
	return &source_of(r)->sums;
}

uint64_t cp_heap_rows_whole(uint64_t objects)
{
	return (objects + CP_POISSON_ONE / 2) >> CP_POISSON_ONE_SHIFT;
}

/* Give a new stack its row, while its modules are mapped. */
static uint32_t find_row(struct cp_aggregate *a, const struct cp_stack_depot_entry *e)
{
	bool freed = e->interval & CP_STACK_DEPOT_FREED;
	uint32_t row;

	cp_modules_want(a->modules);
	row = cp_heap_views_row_of(a, e, freed ? CP_LABELSET_NONE : e->labels,
				   freed ? e->labels : 0);
	return row == CP_INDEX_NONE ? UNPLACED : row + 1;
}

/* If there is no memory for its row, an entry waits for the next drain. It waits as long as its
 * modules can be identified, that is, as long as look-ups in the depot find it. */
static void place_entry(struct cp_stack_depot_entry *e, void *arg)
{
	struct cp_run *r = arg;
	bool waits = e->row == UNPLACED;

	if (!cp_heap_views_belongs(e, r) || (e->row && !(waits && cp_stack_depot_is_found(e))))
		return;
	e->row = find_row(&r->aggregate, e);
	if ((e->row == UNPLACED) != waits)
		cp_count_mode(r->mode, CP_COUNT_LOST_AGGREGATE, waits ? (uint64_t)-1 : 1);
	source_of(r)->waits |= e->row == UNPLACED;
}

void cp_heap_rows_collect(struct cp_run *r)
{
	struct source *s = source_of(r);
	uint32_t newest;

	s->summed = s->waits = false;
	r->aggregate.aside.size = sizeof(struct cp_heap_row);
	newest = cp_stack_depot_each(s->placed, place_entry, r);
	if (!s->waits)
		s->placed = newest;
}

void cp_heap_rows_block(struct cp_run *r, const struct cp_diary_entry *e, uint32_t thread)
{
	const struct cp_stack_depot_entry *d = cp_stack_depot_at(e->what);
	uint64_t objects, bytes, whole;

	/* A block of an earlier run, or of a fork's parent. */
	if (e->begin_ns < r->start_ns || !cp_heap_views_belongs(d, r) || !d->row ||
	    d->row == UNPLACED)
		return;
	cp_poisson_stands_for(e->size, d->interval, &objects, &bytes);
	whole = cp_heap_rows_whole(objects);
	cp_times_add(&r->times, &(struct cp_time_event){ .begin_ns = e->end_ns - r->start_ns,
							 .duration_ns = e->end_ns - e->begin_ns,
							 .weight = bytes,
							 .thread = thread,
							 .row = d->row - 1,
							 .count = whole ? (uint32_t)whole : 1,
							 .is_death = e->kind == CP_DIARY_DEATH });
}

static void add_amount(struct cp_stack_depot_amount *sum, const struct cp_stack_depot_amount *a)
{
	sum->objects += a->objects;
	sum->bytes += a->bytes;
}

/* During summing, rows hold fractions of objects. */
static void add_to_row(struct cp_stack_depot_entry *e, void *arg)
{
	struct cp_run *r = arg;
	struct cp_heap_sums *sums = &source_of(r)->sums;
	struct cp_stack_depot_amount use, peak, all;
	struct cp_heap_row *aside;
	uint64_t *v;

	if (!cp_heap_views_belongs(e, r))
		return;
	/* Read the amount in use first: see cp_stack_depot_in_use. */
	use = cp_stack_depot_in_use(e);
	peak = cp_stack_depot_at_peak(e);
	all = (struct cp_stack_depot_amount){ cp_load_relaxed(&e->allocated.objects),
					      cp_load_relaxed(&e->allocated.bytes) };
	add_amount(&sums->allocated, &all);
	add_amount(&sums->in_use, &use);
	add_amount(&sums->peak, &peak);
	sums->stacks++;
	if (!e->row || e->row == UNPLACED)
		return;
	v = cp_aggregate_row_at(&r->aggregate, e->row - 1)->values;
	aside = cp_heap_views_row(&r->aggregate, e->row - 1);
	/* In an entry of lifetimes, the objects in use are freed blocks, and none is freed. */
	if (r->mode == CPROF_HEAP_LIFETIMES) {
		aside->exact += use.objects;
	} else {
		aside->exact += all.objects;
		v[1] += all.bytes;
		v[2] += use.objects;
	}
	v[3] += use.bytes;
	aside->objects += peak.objects;
	aside->bytes += peak.bytes;
}

static bool is_sum(const struct cp_run *r, unsigned value)
{
	return !(r->ops->moments & 1u << value);
}

/* Values of the moment begin at 0, and so do the bytes of sums. The objects of sums are kept,
 * because they never get less (round_sum). */
static void clear_rows(const struct cp_run *r)
{
	for (uint32_t i = 0; i < r->aggregate.stacks.count; i++) {
		uint64_t *v = cp_aggregate_row_at(&r->aggregate, i)->values;
		struct cp_heap_row *aside = cp_heap_views_row(&r->aggregate, i);

		v[0] = is_sum(r, 0) ? v[0] : 0;
		v[2] = is_sum(r, 2) ? v[2] : 0;
		v[1] = v[3] = 0;
		*aside = (struct cp_heap_row){ .rounded = aside->rounded };
	}
}

/* ---- whole objects ----
 *
 * A sampled object stands for several, seldom a whole number. If one row is rounded up, the next is
 * rounded down, so that the sum over any number of rows is right to an object. */

#define ONE CP_POISSON_ONE
#define HALF ((int64_t)ONE / 2)

/* Returns EXACT + *REST rounded to whole objects, and sets *REST to the rest; both in 1/ONE. */
static uint64_t carry(uint64_t exact, int64_t *rest)
{
	int64_t whole = ((int64_t)exact + *rest + HALF) >> CP_POISSON_ONE_SHIFT;

	whole = whole > 0 ? whole : 0;
	*rest += (int64_t)exact - whole * (int64_t)ONE;
	return (uint64_t)whole;
}

/* Rounds the objects at the peak, and in use of all ages. PEAK_IS_NOW: the memory in use now is the
 * peak. */
static void round_peak(struct cp_aggregate *a, bool peak_is_now)
{
	int64_t rest = 0, peak_rest = 0;

	for (uint32_t i = 0; i < a->stacks.count; i++) {
		const uint64_t *v = cp_aggregate_row_at(a, i)->values;
		struct cp_heap_row *aside = cp_heap_views_row(a, i);

		aside->base = i;
		aside->all_objects = carry(v[2], &rest);
		aside->all_bytes = v[3];
		/* The rows of the stack's ages get as many (round_ages). */
		aside->rest = (int32_t)((int64_t)(aside->all_objects * ONE) - (int64_t)v[2]);
		aside->objects =
			peak_is_now ? aside->all_objects : carry(aside->objects, &peak_rest);
		if (peak_is_now)
			aside->bytes = aside->all_bytes;
	}
}

/* Rounds objects in use so that the rows of all ages of a stack have as many as the stack. */
static void round_ages(struct cp_aggregate *a)
{
	for (uint32_t i = 0; i < a->stacks.count; i++) {
		uint64_t *v = cp_aggregate_row_at(a, i)->values;
		struct cp_heap_row *base = cp_heap_views_row(a, cp_heap_views_row(a, i)->base);
		int64_t rest = base->rest;

		if (!v[2])
			continue;
		v[2] = carry(v[2], &rest);
		base->rest = (int32_t)rest;
	}
}

static void round_moment(struct cp_aggregate *a, unsigned value)
{
	int64_t rest = 0;

	for (uint32_t i = 0; i < a->stacks.count; i++) {
		uint64_t *v = &cp_aggregate_row_at(a, i)->values[value];

		*v = carry(*v, &rest);
	}
}

/* Adds whole objects to a sum, which never gets less. A row without a new object keeps its value,
 * so a window has no objects where nothing was allocated; the others get the whole number below or
 * above their own, so that the sum over all rows is right. */
static void round_sum(struct cp_aggregate *a, unsigned value)
{
	int64_t all = 0; /* sum of the amounts that the rows lack */

	for (uint32_t i = 0; i < a->stacks.count; i++)
		all += (int64_t)(cp_heap_views_row(a, i)->rounded -
				 cp_aggregate_row_at(a, i)->values[value] * ONE);
	for (uint32_t i = 0; i < a->stacks.count; i++) {
		uint64_t *v = &cp_aggregate_row_at(a, i)->values[value];
		struct cp_heap_row *aside = cp_heap_views_row(a, i);
		int64_t rest = (int64_t)(aside->exact - *v * ONE), whole;

		if (aside->exact == aside->rounded)
			continue;
		all += (int64_t)(aside->exact - aside->rounded);
		aside->rounded = aside->exact;
		/* It was rounded up earlier to more than it has now. */
		if (rest <= 0)
			continue;
		whole = rest >> CP_POISSON_ONE_SHIFT;
		whole += rest > whole * (int64_t)ONE && all - whole * (int64_t)ONE >= HALF;
		all -= whole * (int64_t)ONE;
		*v += (uint64_t)whole;
	}
}

/* The sizes of the objects that were sampled: those in use where only these are in the row. */
static void set_sizes(struct cp_aggregate *a)
{
	for (uint32_t i = 0; i < a->stacks.count; i++) {
		const struct cp_stack *s = cp_aggregate_row_at(a, i);
		struct cp_heap_row *aside = cp_heap_views_row(a, i);
		uint64_t objects = s->tag ? s->values[2] : aside->exact,
			 bytes = s->values[s->tag ? 3 : 1];

		if (objects)
			aside->size =
				(uint64_t)(((__uint128_t)bytes * ONE + objects / 2) / objects);
	}
}

static void round_rows(struct cp_run *r)
{
	struct cp_aggregate *a = &r->aggregate;

	for (unsigned value = 0; value <= 2; value += 2)
		if (is_sum(r, value))
			round_sum(a, value);
		else if (r->mode == CPROF_HEAP)
			round_ages(a);
		else
			round_moment(a, value);
}

/* The blocks that are still in use, in the profile of lifetimes. */

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
	*r = (struct recent){ e->id, class, cp_heap_views_row_of(a, e, CP_LABELSET_NONE, class) };
	if (r->row == CP_INDEX_NONE)
		r->id = 0;
	else
		cp_heap_views_row(a, r->row)->base = r->row;
	return r->row;
}

static void add_alive(uint64_t address, const struct cp_live_block *b, void *alive)
{
	struct alive *x = alive;
	struct cp_stack_depot_entry *e = cp_stack_depot_at(b->id);
	uint64_t born = cp_lifetimes_born_ns(b->born), objects, bytes;
	uint32_t row;

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

/* Adds a row of R, the run of the lifetimes, for each stack and age of the live blocks: their
 * objects and bytes, not rounded. Stacks whose modules have gone away are left out. Call with the
 * collector's lock held. */
static void heap_alive_add(struct cp_run *r)
{
	struct alive x = { .run = r, .now = cp_sys_clock_ns(CLOCK_MONOTONIC) };

	cp_modules_want(r->aggregate.modules);
	cp_live_each(add_alive, &x);
}

static void sum_rows(struct cp_run *r)
{
	struct cp_aggregate *a = &r->aggregate;
	struct source *s = source_of(r);
	struct cp_heap_sums *sums = &s->sums;
	bool peak_is_now;

	*sums = (struct cp_heap_sums){ 0 };
	clear_rows(r);
	cp_stack_depot_each(0, add_to_row, r);
	/* Peaks are marked in steps of a tenth, so the memory in use now may exceed the last mark.
	 */
	peak_is_now = r->mode == CPROF_HEAP && sums->in_use.bytes > sums->peak.bytes;
	if (peak_is_now) {
		cp_stack_depot_mark_peak();
		sums->peak = sums->in_use;
	}
	round_peak(a, peak_is_now);
	if (r->mode == CPROF_HEAP && (sums->allocated.objects || r->owner))
		cp_heap_views_split(r);
	else if (r->mode == CPROF_HEAP)
		cp_heap_views_skip();
	if (r->mode == CPROF_HEAP_LIFETIMES)
		heap_alive_add(r);
	if (r->mode == CPROF_HEAP_FRAGMENTATION)
		a->records = a->weight = cp_heap_census_add(r);
	set_sizes(a);
	round_rows(r);
	/* Change with every event, to show whether there is something new to write. */
	if (r->mode != CPROF_HEAP_FRAGMENTATION) {
		a->records = cp_heap_rows_whole(2 * sums->allocated.objects - sums->in_use.objects);
		a->weight = sums->allocated.bytes;
	}
	s->summed = true;
	s->shows_peak = false;
}

static void show_other(struct cp_aggregate *a)
{
	for (uint32_t i = 0; i < a->stacks.count; i++) {
		uint64_t *v = cp_aggregate_row_at(a, i)->values;
		struct cp_heap_row *aside = cp_heap_views_row(a, i);
		uint64_t objects = v[2], bytes = v[3];

		v[2] = aside->objects;
		v[3] = aside->bytes;
		aside->objects = objects;
		aside->bytes = bytes;
	}
}

void cp_heap_rows_show(const struct cp_run *r)
{
	struct source *s = source_of(r);
	bool peak = r->mode == CPROF_HEAP_PEAK;

	if (s->shows_peak != peak)
		show_other(&r->rows->aggregate);
	s->shows_peak = peak;
}

void cp_heap_rows_count(const struct cp_run *r, struct cp_vec *to)
{
	const struct cp_heap_sums *s = cp_heap_rows_sums(r);

	if (!cp_vec_extend(to, CP_HEAP_COUNTS))
		return;
	*CP_VEC_AT(to, uint64_t, CP_HEAP_ALLOCATED_OBJECTS) = s->allocated.objects;
	*CP_VEC_AT(to, uint64_t, CP_HEAP_ALLOCATED_BYTES) = s->allocated.bytes;
	*CP_VEC_AT(to, uint64_t, CP_HEAP_MAPPINGS_LOST) = cp_mappings_lost();
}

void cp_heap_rows_settle(struct cp_run *r)
{
	if (!source_of(r)->summed)
		sum_rows(r->rows);
	cp_heap_rows_show(r);
}
