/* SPDX-License-Identifier: BSD-3-Clause */
/* Moves ring contents to runs; see collect.h. */
#include "collect/collect.h"

#include <string.h>

#include "sample/diary.h"

static void read_name(const struct cp_thread *t, char *name)
{
	if (t->named)
		memcpy(name, t->name, CP_THREAD_NAME);
	else
		cp_thread_file_name(t->tid, name, CP_THREAD_NAME);
}

/* T's own label in R, plus 1; 0 = none. */
static uint64_t *kept_label(const struct cp_run *r, const struct cp_thread *t)
{
	return cp_thread_part(t, r->ops->thread_label);
}

static void note_birth(struct cp_run *r, const struct cp_thread *t, uint32_t label)
{
	struct cp_times_life *life = t->born ? cp_times_life(&r->times, label) : NULL;

	if (life) {
		life->born = t->born;
		life->begin_ns = cp_times_ns(t->born, r->start_ns);
		life->is_known = life->begin_ns != 0;
	}
}

static void note_end(struct cp_run *r, const struct cp_thread *t, uint32_t label)
{
	struct cp_times_life *life = cp_times_life(&r->times, label);

	if (life)
		life->end_ns = cp_times_ns(t->gone ? t->gone : cp_ticks_moment(), r->start_ns);
}

/* Return T's own label, or one that it shares with threads of the same name. A shared label isn't
 * kept, because T may still get another name. */
static uint32_t find_label(struct cp_run *r, struct cp_thread *t, bool ended)
{
	uint64_t *kept = kept_label(r, t);
	uint32_t label;

	if (*kept)
		return (uint32_t)*kept - 1;
	if (cp_aggregate_shares(&r->aggregate, ended)) {
		char name[CP_THREAD_NAME] = "";

		read_name(t, name);
		return cp_aggregate_shared_thread(&r->aggregate, name);
	}
	label = cp_aggregate_thread(&r->aggregate, t->tid);
	*kept = label == CP_INDEX_NONE ? 0 : (uint64_t)label + 1;
	if (*kept)
		note_birth(r, t, label);
	return label;
}

/* The label gets the present name of the thread, because most threads name themselves soon after
 * they start. */
void cp_drain_name(struct cp_run *r, const struct cp_thread *t)
{
	uint64_t kept = *kept_label(r, t);

	if (kept)
		read_name(t,
			  CP_VEC_AT(&r->aggregate.threads, struct cp_thread_label, kept - 1)->name);
}

uint32_t cp_drain_unnamed(struct cp_run *r, struct cp_thread *t)
{
	return find_label(r, t, cp_load_acquire(&t->state) == CP_THREAD_ENDED);
}

uint32_t cp_drain_label(struct cp_run *r, struct cp_thread *t)
{
	bool had = *kept_label(r, t) != 0;
	uint32_t label = cp_drain_unnamed(r, t);

	if (!had)
		cp_drain_name(r, t);
	return label;
}

/* Return the label of a thread that has ended, and whose record is gone. */
static uint32_t label_of_ended(struct cp_aggregate *a, int32_t tid)
{
	for (size_t i = a->threads.count; i-- > 0;)
		if (CP_VEC_AT(&a->threads, struct cp_thread_label, i)->tid == tid)
			return (uint32_t)i;
	return cp_aggregate_shares(a, true) ? cp_aggregate_shared_thread(a, "(others)")
					    : cp_aggregate_thread(a, tid);
}

uint32_t cp_drain_label_of(struct cp_run *r, uint64_t who)
{
	struct cp_thread *t = cp_thread_at((uint32_t)who);
	bool is_there =
		t && cp_load_acquire(&t->state) != CP_THREAD_FREE && cp_thread_who(t) == who;

	return is_there ? cp_drain_label(r, t)
			: label_of_ended(&r->aggregate, (int32_t)(who >> 32));
}

void cp_drain_event(struct cp_run *r, const struct cp_record *record, struct cp_time_event e)
{
	uint64_t end = record->when ? cp_times_ns(record->when, r->start_ns) : 0;

	if (!record->when)
		return;
	e.duration_ns = e.duration_ns < end ? e.duration_ns : end;
	e.begin_ns = end - e.duration_ns;
	cp_times_add(&r->times, &e);
}

void cp_drain_wait(struct cp_run *r, const struct cp_record *record, struct cp_time_event e)
{
	uint32_t waker = CP_INDEX_NONE;

	cp_drain_event(r, record, e);
	if (record->when && record->more && r->times.budget)
		waker = cp_drain_label_of(r, record->more);
	if (waker != CP_INDEX_NONE)
		cp_times_wake(&r->times, &e, cp_times_ns(record->when, r->start_ns), waker);
}

/* Add RECORD of the thread LABEL to R. */
static void add_record(struct cp_run *r, struct cp_record *record, uint32_t label)
{
	uint64_t weight = record->weight;
	uint32_t row = CP_INDEX_NONE;

	if (r->ops->convert)
		r->ops->convert(record);
	if (label != CP_INDEX_NONE)
		row = cp_aggregate_add(&r->aggregate, record, label);
	if (row == CP_INDEX_NONE)
		cp_count_mode(r->mode, CP_COUNT_LOST_AGGREGATE, weight);
	else if (r->ops->waits)
		cp_drain_wait(r, record,
			      (struct cp_time_event){ .duration_ns = record->weight / record->count,
						      .weight = record->weight,
						      .thread = label,
						      .row = row,
						      .count = (uint32_t)record->count });
	else
		cp_drain_event(r, record,
			       (struct cp_time_event){ .weight = record->weight,
						       .thread = label,
						       .row = row,
						       .count = (uint32_t)record->count });
}

bool cp_drain_again(struct cp_run *r, struct cp_thread *t, uint64_t weight, uint64_t count)
{
	/* Guarded by the collector's lock. */
	static uint64_t words[CP_RECORD_WORDS(CP_RECORD_DEPTH_MOST)];
	struct cp_record *again = (struct cp_record *)words;
	const struct cp_ring *ring = cp_load_acquire(&t->ring);

	if (!ring || !cp_ring_copy_last(ring, again))
		return false;
	again->mode = (uint8_t)r->mode;
	again->weight = weight;
	again->count = count;
	again->tag = again->more = 0;
	cp_modules_want(r->aggregate.modules);
	add_record(r, again, cp_drain_label(r, t));
	return true;
}

/* Move the contents of RING to the running runs. Returns the modes that got something, as bits. */
static uint32_t drain_records(struct cp_run *runs, struct cp_thread *t, struct cp_ring *ring,
			      bool ended)
{
	uint32_t label[CP_MODES], any = 0;
	struct cp_record *record;

	while ((record = cp_ring_next_marked(ring))) {
		unsigned m = record->mode;

		if (runs[m].running && runs[m].ops->record) {
			runs[m].ops->record(&runs[m], t, record);
		} else if (runs[m].running) {
			if (!(any & 1u << m))
				label[m] = find_label(&runs[m], t, ended);
			any |= 1u << m;
			add_record(&runs[m], record, label[m]);
		}
		cp_ring_release(ring, record);
	}
	return any;
}

static bool holds_any(const struct cp_ring *ring)
{
	return ring && cp_load_acquire(&ring->head) != cp_load_relaxed(&ring->tail);
}

static bool mark_ring(struct cp_ring *ring)
{
	if (ring)
		cp_ring_mark(ring);
	return holds_any(ring);
}

/* Mark the present contents of the rings: the drain takes these and no more. The modules are read
 * next, and a later sample may be in a module that is loaded too late for that. Returns true if
 * there is any content. */
static bool mark_all(struct cp_run *runs)
{
	bool any = false;

	/* The depot's entries of its blocks are older. */
	cp_diary_mark();
	for (unsigned m = cp_mode_ops_first(); m < CP_MODES; m = cp_mode_ops_after(m))
		if (runs[m].running && runs[m].ops->mark)
			runs[m].ops->mark();
	for (unsigned m = cp_mode_ops_first(); m < CP_MODES; m = cp_mode_ops_after(m))
		if (runs[m].running && runs[m].ops->totals)
			runs[m].ops->totals(&runs[m]);
	for (uint32_t i = 0; i < cp_thread_limit(); i++) {
		const struct cp_thread *t = cp_thread_at(i);

		any |= mark_ring(cp_load_acquire(&t->ring));
		any |= mark_ring(cp_load_acquire(&t->hook_ring));
	}
	return any;
}

bool cp_drain_has_more(const struct cp_thread *t)
{
	return (t && (holds_any(t->ring) || holds_any(t->hook_ring))) || cp_mode_ops_has_more();
}

/* Moments are converted by the clock of now. */
static void look_at_clock(const struct cp_run *runs)
{
	for (unsigned m = cp_mode_ops_first(); m < CP_MODES; m = cp_mode_ops_after(m))
		if (runs[m].running && runs[m].times.budget) {
			cp_times_clock(&runs[m].start_ticks);
			return;
		}
}

/* Before the records of ended threads are given up, and after the depot's entries have rows. */
static void drain_diary(struct cp_run *runs)
{
	struct cp_run *heap = &runs[CPROF_HEAP];
	struct cp_diary_entry e;

	while (cp_diary_next(&e)) {
		uint32_t thread = cp_shared_times_thread(e.thread, e.tid);

		if (e.kind == CP_DIARY_SPAN)
			cp_shared_times_span_add(
				&(struct cp_times_span){ e.begin_ns, e.end_ns - e.begin_ns,
							 (uint32_t)e.size, thread, e.what });
		else if (heap->running)
			heap->ops->block(heap, &e, thread);
	}
}

static void drain_thread(struct cp_run *runs, struct cp_thread *t, bool ended)
{
	struct cp_ring *rings[2] = { cp_load_acquire(&t->ring), cp_load_acquire(&t->hook_ring) };
	uint32_t any = 0;

	for (int i = 0; i < 2; i++)
		if (rings[i])
			any |= drain_records(runs, t, rings[i], ended);
	for (; any; any &= any - 1)
		cp_drain_name(&runs[__builtin_ctz(any)], t);
}

static void release_record(struct cp_run *runs, struct cp_thread *t)
{
	struct cp_ring *ring = t->ring, *hook_ring = t->hook_ring;

	for (unsigned m = cp_mode_ops_first(); m < CP_MODES; m = cp_mode_ops_after(m)) {
		if (runs[m].running && runs[m].ops->thread_released)
			runs[m].ops->thread_released(&runs[m], t);
		if (runs[m].running && runs[m].ops->thread_label) {
			uint64_t kept = *kept_label(&runs[m], t);

			cp_aggregate_thread_ended(&runs[m].aggregate, kept);
			if (kept)
				note_end(&runs[m], t, (uint32_t)kept - 1);
		}
	}
	cp_shared_times_thread_ended(t);
	t->ring = t->hook_ring = NULL;
	cp_ring_give(ring);
	cp_ring_give(hook_ring);
	cp_thread_free(t);
}

void cp_drain_all(struct cp_run *runs, struct cp_modules *modules)
{
	bool any;

	cp_collect_ends_drained();
	any = mark_all(runs);
	/* Modes that collect events outside of rings read the modules at their first new row. */
	modules->stale = true;
	if (any) {
		look_at_clock(runs);
		cp_modules_want(modules);
	}
	for (unsigned m = cp_mode_ops_first(); m < CP_MODES; m = cp_mode_ops_after(m))
		if (runs[m].running && runs[m].ops->collect)
			runs[m].ops->collect(&runs[m]);
	drain_diary(runs);
	for (uint32_t i = 0; i < cp_thread_limit(); i++) {
		struct cp_thread *t = cp_thread_at(i);
		/* Read the state before the rings: an ended thread adds nothing afterwards. */
		bool ended = cp_load_acquire(&t->state) == CP_THREAD_ENDED;

		drain_thread(runs, t, ended);
		/* A thread with samples after the mark waits for the next drain. */
		if (ended && !holds_any(t->ring) && !holds_any(t->hook_ring))
			release_record(runs, t);
	}
	for (unsigned m = cp_mode_ops_first(); m < CP_MODES; m = cp_mode_ops_after(m))
		if (runs[m].running && runs[m].ops->drained)
			runs[m].ops->drained(&runs[m]);
}

void cp_drain_forget(const struct cp_run *r, struct cp_run *runs, struct cp_modules *modules)
{
	cp_drain_all(runs, modules);
	for (uint32_t i = 0; i < cp_thread_limit(); i++) {
		struct cp_thread *t = cp_thread_at(i);

		if (r->ops->thread_label)
			*kept_label(r, t) = 0;
		/* The last stack of either ring does not belong to the new run. */
		if (t->ring)
			cp_ring_forget(t->ring);
		if (t->hook_ring)
			cp_ring_forget(t->hook_ring);
	}
}
