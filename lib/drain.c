/* From rings to runs; see drain.h. */
#include "drain.h"

#include <string.h>

#include "mode.h"
#include "sigsafe/atomic.h"
#include "sigsafe/counters.h"
#include "sigsafe/depot.h"
#include "sigsafe/ring.h"
#include "sigsafe/sys.h"
#include "sigsafe/text.h"

static void read_name(const struct cp_thread *t, char *name)
{
	char path[64];
	long got;
	int fd;

	if (t->named) {
		memcpy(name, t->name, CP_THREAD_NAME);
		return;
	}
	cp_format(path, sizeof(path), "/proc/self/task/%d/comm", t->tid);
	fd = cp_sys_open(path, O_RDONLY, 0);
	if (fd < 0)
		return;
	got = cp_sys_read(fd, name, CP_THREAD_NAME - 1);
	cp_sys_close(fd);
	if (got > 0 && name[got - 1] == '\n')
		got--;
	memset(name + (got > 0 ? got : 0), 0, CP_THREAD_NAME - (size_t)(got > 0 ? got : 0));
}

/* T's own label, or one that it shares with its namesakes: that isn't kept, for T may still get
 * another name. */
static uint32_t find_label(struct cp_run *r, struct cp_thread *t, bool ended)
{
	uint32_t *kept = &t->names[r->mode], label;

	if (*kept)
		return *kept - 1;
	if (cp_aggregate_shares(&r->aggregate, ended)) {
		char name[CP_THREAD_NAME] = "";

		read_name(t, name);
		return cp_aggregate_shared_thread(&r->aggregate, name);
	}
	label = cp_aggregate_thread(&r->aggregate, t->tid);
	*kept = label == CP_INDEX_NONE ? 0 : label + 1;
	return label;
}

/* The name is what the thread is called now: most name themselves soon after they start. */
void cp_drain_name(struct cp_run *r, const struct cp_thread *t)
{
	uint32_t kept = t->names[r->mode];

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
	bool had = t->names[r->mode] != 0;
	uint32_t label = cp_drain_unnamed(r, t);

	if (!had)
		cp_drain_name(r, t);
	return label;
}

/* What RING holds goes to the runs that are on. The modes that got something, as bits. */
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
			if (label[m] == CP_INDEX_NONE ||
			    cp_aggregate_add(&runs[m].aggregate, record, label[m]) < 0)
				cp_count_mode(m, CP_COUNT_LOST_AGGREGATE, record->weight);
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

/* What there is now is drained, and no more: the modules are read next, and what is sampled
 * meanwhile may be in one that comes too late for that. Is there anything? */
static bool mark_all(const struct cp_run *runs)
{
	bool any = false;

	for (unsigned m = 0; m < CP_MODES; m++)
		if (runs[m].running && runs[m].ops->mark)
			runs[m].ops->mark();
	for (uint32_t i = 0; i < cp_thread_limit(); i++) {
		const struct cp_thread *t = cp_thread_at(i);

		any |= mark_ring(cp_load_acquire(&t->ring));
		any |= mark_ring(cp_load_acquire(&t->hook_ring));
	}
	return any;
}

bool cp_drain_has_more(const struct cp_thread *t)
{
	return (t && (holds_any(t->ring) || holds_any(t->hook_ring))) || cp_depot_has_fresh();
}

static bool any_collects(const struct cp_run *runs)
{
	for (unsigned m = 0; m < CP_MODES; m++)
		if (runs[m].running && runs[m].ops->collect)
			return true;
	return false;
}

static void drain_thread(struct cp_run *runs, struct cp_thread *t, bool ended)
{
	struct cp_ring *rings[2] = { cp_load_acquire(&t->ring), cp_load_acquire(&t->hook_ring) };
	uint32_t any = 0;

	for (int i = 0; i < 2; i++)
		if (rings[i])
			any |= drain_records(runs, t, rings[i], ended);
	for (unsigned m = 0; m < CP_MODES; m++)
		if (any & 1u << m)
			cp_drain_name(&runs[m], t);
}

static void bury(struct cp_run *runs, struct cp_thread *t)
{
	struct cp_ring *ring = t->ring, *hook_ring = t->hook_ring;

	for (unsigned m = 0; m < CP_MODES; m++) {
		if (runs[m].running && runs[m].ops->gone)
			runs[m].ops->gone(&runs[m], t);
		if (runs[m].running && t->names[m])
			cp_aggregate_thread_ended(&runs[m].aggregate);
	}
	t->ring = t->hook_ring = NULL;
	cp_ring_give(ring);
	cp_ring_give(hook_ring);
	cp_thread_free(t);
}

void cp_drain_all(struct cp_run *runs, struct cp_modules *modules)
{
	bool any = mark_all(runs);

	if (any || any_collects(runs))
		cp_modules_refresh(modules);
	for (unsigned m = 0; m < CP_MODES; m++)
		if (runs[m].running && runs[m].ops->collect)
			runs[m].ops->collect(&runs[m]);
	for (uint32_t i = 0; i < cp_thread_limit(); i++) {
		struct cp_thread *t = cp_thread_at(i);
		/* Before the rings are read: an ended thread adds nothing afterwards. */
		bool ended = cp_load_acquire(&t->state) == CP_THREAD_ENDED;

		drain_thread(runs, t, ended);
		/* With what it sampled after the mark it waits for the next drain. */
		if (ended && !holds_any(t->ring) && !holds_any(t->hook_ring))
			bury(runs, t);
	}
	for (unsigned m = 0; m < CP_MODES; m++)
		if (runs[m].running && runs[m].ops->drained)
			runs[m].ops->drained(&runs[m]);
}

void cp_drain_forget(const struct cp_run *r, struct cp_run *runs, struct cp_modules *modules)
{
	cp_drain_all(runs, modules);
	for (uint32_t i = 0; i < cp_thread_limit(); i++) {
		struct cp_thread *t = cp_thread_at(i);

		t->names[r->mode] = 0;
		/* Neither ring's last stack is one of the new run. */
		if (t->ring)
			cp_ring_forget(t->ring);
		if (t->hook_ring)
			cp_ring_forget(t->hook_ring);
	}
}
