/* One sample from registers to ring; see capture.h. */
#include "sigsafe/capture.h"

#include "sigsafe/arch.h"
#include "sigsafe/atomic.h"
#include "sigsafe/counters.h"
#include "sigsafe/gate.h"

struct cp_capture_settings cp_capture_settings;

struct walk {
	struct cp_record *record;
	const struct cp_thread *thread;
	const struct cp_regs *regs;
	unsigned max_depth;
};

/* Runs on the ring's stack. */
static void walk(void *arg)
{
	const struct walk *w = arg;
	struct cp_unwind_input in = { .regs = *w->regs,
				      .stack_low = w->thread->stack_low,
				      .stack_high = w->thread->stack_high,
				      .own_tls = w->thread->own_tls };
	enum cp_unwind_end end = CP_UNWIND_INCOMPLETE;
	unsigned phase = cp_gate_enter(&in.stable_modules);

	w->record->depth = (uint16_t)cp_capture_settings.unwinder->walk(&in, w->record->pcs,
									w->max_depth, &end);
	cp_gate_leave(phase);
	w->record->end = (uint8_t)end;
	if (end == CP_UNWIND_TRUNCATED)
		cp_count(CP_COUNT_TRUNCATED, 1);
	else if (end == CP_UNWIND_INCOMPLETE)
		cp_count(CP_COUNT_INCOMPLETE, 1);
}

/* libunwind calls functions that we interpose: for them it is not the program. On a thread
 * without a TLS of its own nothing of the kind is called, and cp_self is somebody else's. */
static void mark(const struct cp_thread *t, bool in_capture)
{
	if (t->own_tls)
		cp_self.in_capture = in_capture;
	cp_signal_fence();
}

/* Room for a record of *DEPTH frames in T's ring, which it gets now if it has none; NULL, and the
 * loss is counted. */
static struct cp_record *reserve(struct cp_thread *t, uint64_t weight, unsigned *depth)
{
	struct cp_record *record;

	if (!t->ring) {
		struct cp_ring *ring = cp_ring_take();

		if (!ring) {
			cp_count(CP_COUNT_LOST_MEMORY, weight);
			return NULL;
		}
		/* Release: the drain sees an initialized ring. */
		cp_store_release(&t->ring, ring);
	}
	/* Read once: what is reserved is what may be written, whatever is set meanwhile. */
	*depth = cp_ring_depth(t->ring, cp_load_relaxed(&cp_capture_settings.max_depth));
	record = cp_ring_reserve(t->ring, *depth);
	if (!record) {
		cp_count(CP_COUNT_LOST_RING, weight);
		cp_capture_settings.wake();
	}
	return record;
}

static void commit(struct cp_thread *t, struct cp_record *record)
{
	cp_count(CP_COUNT_SAMPLES, 1);
	cp_count(CP_COUNT_EXPIRIES, record->weight);
	if (cp_ring_commit(t->ring, record))
		cp_capture_settings.wake();
}

void cp_capture_repeat(struct cp_thread *t, enum cp_source source, uint64_t pc, uint64_t weight)
{
	unsigned room = 0;
	struct cp_record *record = reserve(t, weight, &room);
	const struct cp_record *last = record ? cp_ring_last(t->ring) : NULL;

	if (!record)
		return;
	record->source = (uint8_t)source;
	record->weight = weight;
	record->depth = last ? last->depth : 1;
	record->end = last ? last->end : CP_UNWIND_COMPLETE;
	record->pcs[0] = pc;
	if (record->depth > room) {
		record->depth = (uint16_t)room;
		record->end = CP_UNWIND_TRUNCATED;
	}
	for (unsigned i = 0; last && i < record->depth; i++)
		record->pcs[i] = last->pcs[i];
	commit(t, record);
}

void cp_capture(struct cp_thread *t, enum cp_source source, const struct cp_regs *regs,
		uint64_t weight)
{
	struct walk w = { .thread = t, .regs = regs };

	w.record = reserve(t, weight, &w.max_depth);
	if (!w.record)
		return;
	w.record->source = (uint8_t)source;
	w.record->weight = weight;
	mark(t, true);
	cp_call_on_stack(walk, &w, cp_ring_stack(t->ring));
	mark(t, false);
	commit(t, w.record);
}
