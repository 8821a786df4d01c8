/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes one sample, from registers to ring; see sample.h. */
#include "sample/sample.h"

#include "base/sys.h"

struct cp_capture_settings cp_capture_settings;

struct walk {
	struct cp_record *record;
	const struct cp_thread *thread;
	const struct cp_regs *regs;
	unsigned max_depth;
	unsigned before; /* number of frames that the record already has */
	struct cp_stackmem_room *room;
};

/* Returns the set with the trace that T works on, or CP_LABELSET_NONE. */
static uint32_t traced(const struct cp_thread *t)
{
	struct cp_trace_ids ids;

	return cp_trace_context_read(t->tls, &ids) ? cp_labels_traced(t->labels, &ids)
						   : CP_LABELSET_NONE;
}

/* Sets the record's labels. If the label store is full, counts the loss and stores no
 * labels, or those without the trace. */
static void label(struct cp_record *record, const struct cp_thread *t)
{
	struct cp_labels *labels = t->labels;
	uint32_t set = CP_LABELSET_NONE;

	if (__builtin_expect(cp_trace_context_at != 0, 0))
		set = traced(t);
	if (set == CP_LABELSET_LOST)
		cp_count_mode(record->mode, CP_COUNT_LOST_LABELS, 1);
	record->labels = set == CP_LABELSET_NONE || set == CP_LABELSET_LOST
				 ? cp_labels_current(labels)
				 : set;
	if (record->labels != CP_LABELSET_LOST)
		return;
	cp_count_mode(record->mode, CP_COUNT_LOST_LABELS, 1);
	record->labels = CP_LABELSET_NONE;
}

/* The kernel's frames are at most one part in KERNEL_SHARE of a stack. */
#define KERNEL_SHARE 2

/* Runs on the stack that belongs to the ring. */
static void walk_stack(void *arg)
{
	const struct walk *w = arg;
	struct cp_unwind_input in = { .regs = *w->regs,
				      .stack_low = w->thread->stack_low,
				      .stack_high = w->thread->stack_high,
				      .own_tls = w->thread->own_tls,
				      .room = w->room };
	enum cp_unwind_end end = CP_UNWIND_INCOMPLETE;
	unsigned phase = cp_gate_enter(&in.stable_modules);

	w->record->depth = (uint16_t)(w->before + cp_capture_settings.unwinder->walk(
							  &in, w->record->pcs + w->before,
							  w->max_depth - w->before, &end));
	cp_gate_leave(phase);
	w->record->end = (uint8_t)end;
	label(w->record, w->thread);
	if (end == CP_UNWIND_TRUNCATED)
		cp_count_mode(w->record->mode, CP_COUNT_TRUNCATED, 1);
	else if (end == CP_UNWIND_INCOMPLETE)
		cp_count_mode(w->record->mode, CP_COUNT_INCOMPLETE, 1);
}

/* Marks the thread as capturing and returns the previous mark. libunwind calls functions that the
 * profiler interposes; the mark says that such a call is not the program's. A thread without TLS
 * of its own is skipped: there cp_self belongs to another thread, and no such function is
 * called. */
static bool mark_capture(const struct cp_thread *t, bool in_capture)
{
	struct cp_self *self = t->own_tls ? cp_thread_self() : NULL;
	bool before = self && self->in_capture;

	if (self)
		self->in_capture = in_capture;
	cp_signal_fence();
	return before;
}

/* Returns *RING and takes a ring if it is NULL; NULL without memory. The caller reads *RING once
 * per record, so a record is committed to the ring that it was reserved in, even if the thread's
 * record was meanwhile considered ended. */
static struct cp_ring *take_ring(struct cp_ring **ring)
{
	struct cp_ring *had = cp_load_relaxed(ring), *taken;

	if (had)
		return had;
	taken = cp_ring_take();
	/* Release: the drain sees an initialized ring. A handler may have taken a ring
	 * meanwhile. */
	if (!taken || cp_cas_acqrel(ring, &had, taken))
		return taken;
	cp_ring_give(taken);
	return had;
}

/* Returns room for a record of *DEPTH frames in RING, and sets *DEPTH. RING may be NULL. Returns
 * NULL if there is no room, and counts the loss. */
static struct cp_record *reserve(struct cp_ring *ring, const struct cp_event *e, unsigned *depth)
{
	struct cp_record *record;

	if (!ring) {
		cp_count_mode(e->mode, CP_COUNT_LOST_MEMORY, e->weight);
		return NULL;
	}
	/* Read once: the depth that is reserved is the depth that may be written, even if the
	 * setting changes. */
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
	record->more = e->more;
	record->when = cp_capture_settings.times ? cp_ticks_moment() : 0;
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
	bool before = mark_capture(w->thread, true);

	w->room = cp_ring_room(ring);
	cp_call_on_stack(walk_stack, w, cp_ring_stack(ring));
	mark_capture(w->thread, before);
}

static void walk_from(struct cp_thread *t, const struct cp_regs *regs, struct cp_record *record,
		      unsigned depth, struct cp_ring *ring)
{
	struct walk w = { .record = record, .thread = t, .regs = regs, .max_depth = depth };

	walk_marked(&w, ring);
}

bool cp_capture_repeat(struct cp_thread *t, const struct cp_event *e, uint64_t pc)
{
	struct cp_ring *ring = take_ring(&t->ring);
	unsigned room = 0;
	struct cp_record *record = reserve(ring, e, &room);
	const struct cp_record *last = record ? cp_ring_last(ring) : NULL;

	if (!record)
		return false;
	record->labels = last ? last->labels : CP_LABELSET_NONE;
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

/* Records E in *TO, a ring of T. FUNCTION, if not NULL, becomes the leaf. */
static bool capture_in(struct cp_thread *t, struct cp_ring **to, const struct cp_event *e,
		       const struct cp_regs *regs, const void *function)
{
	struct cp_ring *ring = take_ring(to);
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

bool cp_capture(struct cp_thread *t, const struct cp_event *e, const struct cp_regs *regs)
{
	return capture_in(t, &t->ring, e, regs, NULL);
}

bool cp_capture_hook(struct cp_thread *t, const struct cp_event *e, const struct cp_regs *regs,
		     const void *function)
{
	return capture_in(t, &t->hook_ring, e, regs, function);
}

bool cp_capture_stack(struct cp_thread *t, const struct cp_regs *regs, struct cp_record *record,
		      unsigned depth)
{
	struct cp_ring *ring = take_ring(&t->hook_ring);

	if (ring)
		walk_from(t, regs, record, depth, ring);
	return ring != NULL;
}

/* The most frames that cp_capture_here unwinds, and the number for which every stack has room. */
#define HERE_MAX 4096u
#define HERE_SMALL 136u

/* Unwinds with all signals blocked. Otherwise a handler could jump away, and the gate would wait
 * forever. */
static unsigned walk_here(const struct cp_regs *regs, uint64_t *pcs, unsigned max)
{
	const uint64_t all = CP_SIGSET_ALL;
	struct cp_self *self = cp_tls_is_libc() ? cp_thread_self() : NULL;
	const struct cp_thread *t = self ? self->thread : NULL;
	struct cp_unwind_input in = { .regs = *regs, .own_tls = self != NULL };
	enum cp_unwind_end end;
	bool before = self && self->in_capture;
	unsigned phase, n;
	uint64_t mask;

	if (t) {
		in.stack_low = t->stack_low;
		in.stack_high = t->stack_high;
	}
	cp_sys_sigmask(SIG_SETMASK, &all, &mask);
	phase = cp_gate_enter(&in.stable_modules);
	if (self)
		self->in_capture = true;
	n = cp_capture_settings.unwinder->walk(&in, pcs, max, &end);
	if (self)
		self->in_capture = before;
	cp_gate_leave(phase);
	cp_sys_sigmask(SIG_SETMASK, &mask, NULL);
	return n;
}

unsigned cp_capture_here(const struct cp_regs *regs, unsigned skip, void **to, unsigned max)
{
	unsigned room, depth, n = 0;
	uint64_t small[HERE_SMALL], *pcs = small;

	if (!cp_capture_settings.unwinder || skip >= HERE_MAX ||
	    cp_load_relaxed(&cp_capture_settings.restricted))
		return 0;
	room = max < HERE_MAX - skip ? max + skip : HERE_MAX;
	/* Mapped memory, because a handler's stack may be too small for the addresses. */
	if (room > HERE_SMALL)
		pcs = cp_sys_map(room * sizeof(*pcs));
	if (!pcs)
		return 0;
	depth = walk_here(regs, pcs, room);
	for (unsigned i = skip; i < depth; i++)
		to[n++] = (void *)(uintptr_t)(pcs[i] + 1);
	if (pcs != small)
		cp_sys_unmap(pcs, room * sizeof(*pcs));
	return n;
}

bool cp_capture_put(struct cp_thread *t, const struct cp_event *e, const struct cp_record *record)
{
	struct cp_ring *ring = take_ring(&t->hook_ring);
	unsigned room = 0;
	struct cp_record *to = reserve(ring, e, &room);

	if (!to)
		return false;
	to->labels = record->labels;
	to->when = record->when ? record->when : to->when;
	to->end = record->depth > room ? CP_UNWIND_TRUNCATED : record->end;
	to->depth = record->depth > room ? (uint16_t)room : record->depth;
	for (unsigned i = 0; i < to->depth; i++)
		to->pcs[i] = record->pcs[i];
	commit(ring, to);
	return true;
}

/* Stores kernel frames at the start of RECORD, return addresses in the form of the unwinders.
 * Returns their number. The rest of DEPTH is left for the program's frames. */
static unsigned put_kernel_frames(struct cp_record *record, unsigned depth,
				  const struct cp_kernel_frames *k)
{
	unsigned most = depth / KERNEL_SHARE, n = k->count < most ? k->count : most;

	for (unsigned i = 0; i < n; i++)
		record->pcs[i] = k->words[(k->at + i) & k->mask] - (i > 0);
	return n;
}

/* Stores the stack of BELOW, as much as fits into half of DEPTH, and MARK at the start of RECORD.
 * Returns their number. */
static unsigned put_below(struct cp_record *record, unsigned depth, const struct cp_record *below,
			  uint64_t mark)
{
	unsigned most = depth / 2, n = 0;

	if (most < 1)
		return 0;
	for (; below && n < below->depth && n + 2 < most; n++)
		record->pcs[n] = below->pcs[n];
	if (n && (n < below->depth || below->end == CP_UNWIND_TRUNCATED))
		record->pcs[n++] = CP_PC_TRUNCATED;
	else if (n && below->end == CP_UNWIND_INCOMPLETE)
		record->pcs[n++] = CP_PC_INCOMPLETE;
	record->pcs[n++] = mark;
	return n;
}

bool cp_capture_below(struct cp_thread *t, const struct cp_event *e, const struct cp_regs *regs,
		      const void *function, const struct cp_record *below, uint64_t mark)
{
	struct cp_ring *ring = take_ring(&t->hook_ring);
	struct walk w = { .thread = t, .regs = regs };

	w.record = reserve(ring, e, &w.max_depth);
	if (!w.record)
		return false;
	w.before = put_below(w.record, w.max_depth, below, mark);
	walk_marked(&w, ring);
	w.record->pcs[w.before] = (uint64_t)(uintptr_t)function;
	commit(ring, w.record);
	return true;
}

bool cp_capture_in_kernel(struct cp_thread *t, const struct cp_event *e, const struct cp_regs *regs,
			  const struct cp_kernel_frames *k)
{
	struct cp_ring *ring = take_ring(&t->ring);
	struct walk w = { .thread = t, .regs = regs };

	w.record = reserve(ring, e, &w.max_depth);
	if (!w.record)
		return false;
	w.before = put_kernel_frames(w.record, w.max_depth, k);
	walk_marked(&w, ring);
	commit(ring, w.record);
	return true;
}
