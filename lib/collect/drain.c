/* SPDX-License-Identifier: BSD-3-Clause */
/* Moves ring contents to runs; see collect.h. */
#include "collect/collect.h"

#include <string.h>

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

/* Add RECORD of the thread LABEL to R. */
static void add_record(struct cp_run *r, struct cp_record *record, uint32_t label)
{
	uint64_t weight = record->weight;

	if (r->ops->convert)
		r->ops->convert(record);
	if (label == CP_INDEX_NONE || cp_aggregate_add(&r->aggregate, record, label) < 0)
		cp_count_mode(r->mode, CP_COUNT_LOST_AGGREGATE, weight);
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
		if (runs[m].running && runs[m].ops->thread_label)
			cp_aggregate_thread_ended(&runs[m].aggregate, *kept_label(&runs[m], t));
	}
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
	if (any)
		cp_modules_want(modules);
	for (unsigned m = cp_mode_ops_first(); m < CP_MODES; m = cp_mode_ops_after(m))
		if (runs[m].running && runs[m].ops->collect)
			runs[m].ops->collect(&runs[m]);
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
