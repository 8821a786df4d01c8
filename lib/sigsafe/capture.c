/* One sample from registers to ring; see capture.h. */
#include "sigsafe/capture.h"

#include "sigsafe/atomic.h"
#include "sigsafe/counters.h"
#include "sigsafe/gate.h"

struct cp_capture_settings cp_capture_settings;

static void walk(struct cp_record *record, const struct cp_thread *t, const struct cp_regs *regs)
{
	struct cp_unwind_input in = { .regs = *regs,
				      .stack_low = t->stack_low,
				      .stack_high = t->stack_high,
				      .own_tls = t->own_tls };
	enum cp_unwind_end end = CP_UNWIND_INCOMPLETE;
	unsigned phase = cp_gate_enter(&in.stable_modules);

	record->depth = (uint16_t)cp_capture_settings.unwinder->walk(
		&in, record->pcs, cp_capture_settings.max_depth, &end);
	cp_gate_leave(phase);
	record->end = (uint8_t)end;
	if (end == CP_UNWIND_TRUNCATED)
		cp_count(CP_COUNT_TRUNCATED, 1);
	else if (end == CP_UNWIND_INCOMPLETE)
		cp_count(CP_COUNT_INCOMPLETE, 1);
}

void cp_capture(struct cp_thread *t, enum cp_source source, const struct cp_regs *regs,
		uint64_t weight)
{
	struct cp_record *record;

	if (!t->ring) {
		struct cp_ring *ring = cp_ring_take();

		if (!ring) {
			cp_count(CP_COUNT_LOST_MEMORY, weight);
			return;
		}
		/* Release: the drain sees an initialized ring. */
		cp_store_release(&t->ring, ring);
	}
	record = cp_ring_reserve(t->ring, cp_capture_settings.max_depth);
	if (!record) {
		cp_count(CP_COUNT_LOST_RING, weight);
		cp_capture_settings.wake();
		return;
	}
	record->source = (uint8_t)source;
	record->weight = weight;
	walk(record, t, regs);
	cp_count(CP_COUNT_SAMPLES, 1);
	cp_count(CP_COUNT_EXPIRIES, weight);
	if (cp_ring_commit(t->ring, record))
		cp_capture_settings.wake();
}
