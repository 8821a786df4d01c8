/* SPDX-License-Identifier: BSD-3-Clause */
/* The slow path when every allocation is a sample; see heap_exact.h. */
#include "modes/heap/signal/heap_exact.h"

/* The fast path is left after this many bytes, to add them to the totals. One in this many of those
 * times, a sample is timed. */
#define ROOM CP_HEAP_BATCH
#define TIMED 8u

static void make_room(struct cp_heap_self *h, size_t room)
{
	h->room = h->room_before = room;
}

/* Time the next sample: its room is 0, so it takes the slow path. */
static void add_up(struct cp_heap_self *h)
{
	bool timed = !h->untimed;

	h->untimed = (uint8_t)(timed ? TIMED : h->untimed - 1u);
	cp_heap_event_flush();
	make_room(h, timed ? 0 : ROOM);
}

static __attribute__((noinline)) void *commit_timed(void *p, size_t size,
						    const struct cp_call *call)
{
	uint64_t dumps = cp_load_relaxed(&cp_heap_totals.dumps), began = cp_timing_begin();

	make_room(&cp_self.heap, ROOM);
	cp_heap_exact_commit(p, size, *call);
	if (cp_load_relaxed(&cp_heap_totals.dumps) == dumps)
		cp_timing_end(CPROF_HEAP, began);
	return p;
}

__attribute__((noinline)) void *cp_heap_exact_rest(void *p, size_t size, uint64_t pc, uint64_t sp,
						   uint64_t fp)
{
	const struct cp_call call = { pc, sp, fp };
	struct cp_heap_self *h = &cp_self.heap;
	struct cp_unwind_input in;

	if (!p)
		return NULL;
	if (h->own && !h->room_before)
		return commit_timed(p, size, &call);
	h->counted += size;
	if (!h->own)
		return cp_heap_event_commit_all(p, size, (void *)pc);
	if (size >= h->room)
		add_up(h);
	cp_regs_here(&in.regs);
	cp_heap_event_record(p, size, &call, &in);
	return p;
}
