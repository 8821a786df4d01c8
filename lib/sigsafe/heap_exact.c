/* Where every allocation is a sample: what isn't the short way; see heap_exact.h. */
#include "sigsafe/heap_exact.h"

#include "sigsafe/heap_stack.h"
#include "sigsafe/timing.h"

/* The short way is left after so many bytes, to add them to the totals, and one in so many of those
 * times to take the time of a sample. */
#define ROOM CP_HEAP_BATCH
#define TIMED 8u

static void make_room(struct cp_heap_self *h, size_t room)
{
	h->room = h->room_before = room;
}

/* The next one is timed where there is no room for it. */
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
	uint64_t began = cp_timing_begin();

	make_room(&cp_self.heap, ROOM);
	cp_heap_exact_commit(p, size, *call);
	cp_timing_end(CP_MODE_HEAP, began);
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
	if (!h->own)
		return cp_heap_event_commit_all(p, size, (void *)pc);
	if (!h->room_before)
		return commit_timed(p, size, &call);
	if (size >= h->room)
		add_up(h);
	cp_regs_here(&in.regs);
	cp_heap_event_record(p, size, &call, &in);
	return p;
}
