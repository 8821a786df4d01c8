/* One sample from registers to ring; see capture.h. */
#include "sigsafe/capture.h"

#include "sigsafe/arch.h"
#include "sigsafe/atomic.h"
#include "sigsafe/counters.h"
#include "sigsafe/gate.h"
#include "sigsafe/labels.h"
#include "sigsafe/labelset.h"

struct cp_capture_settings cp_capture_settings;

struct walk {
	struct cp_record *record;
	const struct cp_thread *thread;
	const struct cp_regs *regs;
	unsigned max_depth;
	unsigned kernel; /* frames of the kernel's that the record begins with */
	struct cp_stackmem_room *room;
};

/* Labels past the bound of what is kept are as if none were set, and counted. */
static void label(struct cp_record *record, struct cp_labels *labels)
{
	record->labels = cp_labels_current(labels);
	record->span = labels ? cp_load_relaxed(&labels->span) : 0;
	if (record->labels != CP_LABELSET_LOST)
		return;
	cp_count_mode(record->mode, CP_COUNT_LOST_LABELS, 1);
	record->labels = CP_LABELSET_NONE;
}

/* At most one part in so many of a stack is the kernel's. */
#define KERNEL_SHARE 2

/* Runs on the ring's stack. */
static void walk(void *arg)
{
	const struct walk *w = arg;
	struct cp_unwind_input in = { .regs = *w->regs,
				      .stack_low = w->thread->stack_low,
				      .stack_high = w->thread->stack_high,
				      .own_tls = w->thread->own_tls,
				      .room = w->room };
	enum cp_unwind_end end = CP_UNWIND_INCOMPLETE;
	unsigned phase = cp_gate_enter(&in.stable_modules);

	w->record->depth = (uint16_t)(w->kernel + cp_capture_settings.unwinder->walk(
							  &in, w->record->pcs + w->kernel,
							  w->max_depth - w->kernel, &end));
	cp_gate_leave(phase);
	w->record->end = (uint8_t)end;
	label(w->record, w->thread->labels);
	if (end == CP_UNWIND_TRUNCATED)
		cp_count_mode(w->record->mode, CP_COUNT_TRUNCATED, 1);
	else if (end == CP_UNWIND_INCOMPLETE)
		cp_count_mode(w->record->mode, CP_COUNT_INCOMPLETE, 1);
}

/* libunwind calls functions that we interpose: for them it is not the program. On a thread
 * without a TLS of its own nothing of the kind is called, and cp_self is somebody else's. */
static bool mark(const struct cp_thread *t, bool in_capture)
{
	struct cp_self *self = t->own_tls ? cp_thread_self() : NULL;
	bool before = self && self->in_capture;

	if (self)
		self->in_capture = in_capture;
	cp_signal_fence();
	return before;
}

/* A signal may come while a hook's record is half written: it has a ring of its own. */
static struct cp_ring **ring_of(struct cp_thread *t, enum cp_mode mode)
{
	return mode == CP_MODE_CPU || mode == CP_MODE_WALL ? &t->ring : &t->hook_ring;
}

/* *RING, or NULL: there is no memory for one. Read once a record: what is reserved in a ring is
 * committed to it, also when the thread's record was taken for one that has ended meanwhile. */
static struct cp_ring *take_ring(struct cp_ring **ring)
{
	struct cp_ring *had = cp_load_relaxed(ring), *taken;

	if (had)
		return had;
	taken = cp_ring_take();
	/* Release: the drain sees an initialized ring. A handler may have taken one meanwhile. */
	if (!taken || cp_cas_acqrel(ring, &had, taken))
		return taken;
	cp_ring_give(taken);
	return had;
}

/* Room for a record of *DEPTH frames in RING, which may be NULL; NULL, and the loss is counted. */
static struct cp_record *reserve(struct cp_ring *ring, const struct cp_event *e, unsigned *depth)
{
	struct cp_record *record;

	if (!ring) {
		cp_count_mode(e->mode, CP_COUNT_LOST_MEMORY, e->weight);
		return NULL;
	}
	/* Read once: what is reserved is what may be written, whatever is set meanwhile. */
	*depth = cp_ring_depth(ring, cp_load_relaxed(&cp_capture_settings.max_depth));
	record = cp_ring_reserve(ring, *depth);
	if (!record) {
		cp_count_mode(e->mode, CP_COUNT_LOST_RING, e->weight);
		cp_capture_settings.wake();
		return NULL;
	}
	record->mode = (uint8_t)e->mode;
	record->count = e->count;
	record->weight = e->weight;
	record->tag = e->tag;
	return record;
}

static void commit(struct cp_ring *ring, struct cp_record *record)
{
	cp_count_mode(record->mode, CP_COUNT_SAMPLES, 1);
	cp_count_mode(record->mode, CP_COUNT_EXPIRIES, record->weight);
	if (cp_ring_commit(ring, record))
		cp_capture_settings.wake();
}

static void walk_marked(struct walk *w, struct cp_ring *ring)
{
	bool before = mark(w->thread, true);

	w->room = cp_ring_room(ring);
	cp_call_on_stack(walk, w, cp_ring_stack(ring));
	mark(w->thread, before);
}

static void walk_from(struct cp_thread *t, const struct cp_regs *regs, struct cp_record *record,
		      unsigned depth, struct cp_ring *ring)
{
	struct walk w = { .record = record, .thread = t, .regs = regs, .max_depth = depth };

	walk_marked(&w, ring);
}

bool cp_capture_repeat(struct cp_thread *t, const struct cp_event *e, uint64_t pc)
{
	struct cp_ring *ring = take_ring(ring_of(t, e->mode));
	unsigned room = 0;
	struct cp_record *record = reserve(ring, e, &room);
	const struct cp_record *last = record ? cp_ring_last(ring) : NULL;

	if (!record)
		return false;
	record->labels = last ? last->labels : CP_LABELSET_NONE;
	record->span = last ? last->span : 0;
	record->depth = last ? last->depth : 1;
	record->end = last ? last->end : CP_UNWIND_COMPLETE;
	record->pcs[0] = pc;
	if (record->depth > room) {
		record->depth = (uint16_t)room;
		record->end = CP_UNWIND_TRUNCATED;
	}
	for (unsigned i = 0; last && i < record->depth; i++)
		record->pcs[i] = last->pcs[i];
	commit(ring, record);
	return true;
}

bool cp_capture(struct cp_thread *t, const struct cp_event *e, const struct cp_regs *regs)
{
	return cp_capture_hook(t, e, regs, NULL);
}

bool cp_capture_hook(struct cp_thread *t, const struct cp_event *e, const struct cp_regs *regs,
		     const void *function)
{
	struct cp_ring *ring = take_ring(ring_of(t, e->mode));
	unsigned depth = 0;
	struct cp_record *record = reserve(ring, e, &depth);

	if (!record)
		return false;
	walk_from(t, regs, record, depth, ring);
	if (function)
		record->pcs[0] = (uint64_t)(uintptr_t)function;
	commit(ring, record);
	return true;
}

bool cp_capture_stack(struct cp_thread *t, const struct cp_regs *regs, struct cp_record *record,
		      unsigned depth)
{
	struct cp_ring *ring = take_ring(&t->hook_ring);

	if (ring)
		walk_from(t, regs, record, depth, ring);
	return ring != NULL;
}

bool cp_capture_put(struct cp_thread *t, const struct cp_record *record)
{
	const struct cp_event e = { .mode = record->mode,
				    .count = record->count,
				    .weight = record->weight,
				    .tag = record->tag };
	struct cp_ring *ring = take_ring(&t->hook_ring);
	unsigned room = 0;
	struct cp_record *to = reserve(ring, &e, &room);

	if (!to)
		return false;
	to->labels = record->labels;
	to->end = record->depth > room ? CP_UNWIND_TRUNCATED : record->end;
	to->depth = record->depth > room ? (uint16_t)room : record->depth;
	for (unsigned i = 0; i < to->depth; i++)
		to->pcs[i] = record->pcs[i];
	commit(ring, to);
	return true;
}

/* Return addresses are stored as the unwinders store them. How many: the rest of DEPTH is for the
 * program's. */
static unsigned put_kernel_frames(struct cp_record *record, unsigned depth,
				  const struct cp_perf_frames *k)
{
	unsigned most = depth / KERNEL_SHARE, n = k->count < most ? k->count : most;

	for (unsigned i = 0; i < n; i++)
		record->pcs[i] = k->words[(k->at + i) & k->mask] - (i > 0);
	return n;
}

bool cp_capture_in_kernel(struct cp_thread *t, const struct cp_event *e, const struct cp_regs *regs,
			  const struct cp_perf_frames *k)
{
	struct cp_ring *ring = take_ring(ring_of(t, e->mode));
	struct walk w = { .thread = t, .regs = regs };

	w.record = reserve(ring, e, &w.max_depth);
	if (!w.record)
		return false;
	w.kernel = put_kernel_frames(w.record, w.max_depth, k);
	walk_marked(&w, ring);
	commit(ring, w.record);
	return true;
}
