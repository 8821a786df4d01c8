/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts the usual call, with few instructions: one on something whose kind is known, in a thread
 * that has made such a call before. io_event.c handles the others, and uses the same steps. Any
 * context.
 */
#ifndef CP_IO_HOT_H
#define CP_IO_HOT_H

#include "modes/io/signal/io_event.h"

/* What is left to do for a call. */
enum cp_io_left {
	CP_IO_NOT_COUNTED,  /* all of it: cp_io_event_ended */
	CP_IO_NOT_SETTLED,  /* its stack, or the sums of short calls: cp_io_event_settle */
	CP_IO_LEFT_NOTHING, /* nothing */
};

/* Count a call in CELL, whose histogram is D. */
static inline void cp_io_hot_count(struct cp_io_cell *cell, struct cp_io_delays *d, uint64_t ticks,
				   uint64_t bytes, bool failed)
{
	cp_add_local(&cell->calls, 1);
	cp_add_local(&cell->ticks, ticks);
	cp_add_local(&cell->bytes, bytes);
	cp_add_local(&cell->errors, failed);
	/* A handler in between may have seen a longer one: that one is lost as the longest. */
	if (__builtin_expect(ticks > cp_load_relaxed(&cell->longest), 0))
		cp_store_relaxed(&cell->longest, ticks);
	if (__builtin_expect(d != NULL, 1))
		cp_add_local(&d->bucket[cp_io_counts_bucket(ticks)], 1);
}

/* Count a call down. Returns false if it has to be settled. */
static inline bool cp_io_hot_pass(struct cp_io_sampler *s, uint64_t ticks, uint64_t bytes,
				  uint64_t now)
{
	if (__builtin_expect(ticks < cp_load_relaxed(&cp_io_state.threshold), 0))
		return false;
	cp_add_local((uint64_t *)&s->left, -cp_io_sample_measure(s, ticks, bytes));
	return __builtin_expect(cp_load_relaxed(&s->left) > 0 && now < s->attention, 1);
}

/* The call OP, which moved BYTES, began at BEGAN and ended at NOW. KNOWN: the kind of
 * what it was made on, plus 1; 0: not known. The thread's TLS is libc's. */
static inline enum cp_io_left cp_io_hot_ended(uint64_t began, uint64_t now, unsigned op,
					      unsigned known, uint64_t bytes, bool failed)
{
	const struct cp_self *self = &cp_self;
	struct cp_thread *t = self->thread;
	uint64_t ticks = now - began;
	struct cp_io_thread *mine;
	struct cp_io_delays *d;
	struct cp_io_block *b;
	struct cp_io_cell *cell;

	if (__builtin_expect(!known || !t || (self->in_capture | self->heap.guard) != 0 ||
				     began < cp_io_state.since || (int64_t)ticks <= 0,
			     0))
		return CP_IO_NOT_COUNTED;
	mine = cp_thread_part(t, &cp_io_thread_part);
	b = cp_load_relaxed(&mine->block);
	if (__builtin_expect(cp_load_relaxed(&t->paused) != 0 || !b, 0))
		return CP_IO_NOT_COUNTED;
	cell = &b->cell[op][known - 1];
	d = cp_load_relaxed(&cell->delays);
	if (__builtin_expect(!d, 0))
		return CP_IO_NOT_COUNTED;
	cp_io_hot_count(cell, d, ticks, bytes, failed);
	return cp_io_hot_pass(&mine->sampler, ticks, bytes, now) ? CP_IO_LEFT_NOTHING
								 : CP_IO_NOT_SETTLED;
}

#endif
