/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts the usual call, with few instructions: one on something whose kind is known, in a thread
 * that has made such a call before. io_event.c handles the others, and uses the same steps. Any
 * context.
 */
#ifndef CP_IO_HOT_H
#define CP_IO_HOT_H

#include "modes/io/signal/io_signal.h"

/* The work that is left for a call. */
enum cp_io_left {
	CP_IO_NOT_COUNTED,  /* everything: call cp_io_event_ended */
	CP_IO_NOT_SETTLED,  /* its stack may be wanted: call cp_io_event_settle */
	CP_IO_LEFT_NOTHING, /* nothing is left */
};

/* Count a call in CELL, whose histogram is D. */
static inline void cp_io_hot_count(struct cp_io_cell *cell, struct cp_io_delays *d, uint64_t ticks,
				   uint64_t bytes, bool failed)
{
	cp_add_local(&cell->sums[CP_IO_CALLS], 1);
	cp_add_local(&cell->sums[CP_IO_TICKS], ticks);
	cp_add_local(&cell->sums[CP_IO_BYTES], bytes);
	cp_add_local(&cell->sums[CP_IO_ERRORS], failed);
	/* A handler in between may have stored a longer time, which is then lost. */
	if (__builtin_expect(ticks > cp_load_relaxed(&cell->longest), 0))
		cp_store_relaxed(&cell->longest, ticks);
	if (__builtin_expect(d != NULL, 1))
		cp_add_local(&d->bucket[cp_io_counts_bucket(ticks)], 1);
}

/* Is there no sampling point on the call that CELL has just counted, and that ended at NOW? */
static inline bool cp_io_hot_passes(const struct cp_io_cell *cell, uint64_t now)
{
	const struct cp_io_points *p = &cell->points;
	uint64_t below = now - cp_load_relaxed(&p->time);

	/* Each difference below 0 has the highest bit set. */
#pragma GCC unroll 4
	for (unsigned i = 0; i < CP_IO_SUMS; i++)
		below &= cp_load_relaxed(&cell->sums[i]) - cp_load_relaxed(&p->next[i]);
	return __builtin_expect((int64_t)below < 0, 1);
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
	return cp_io_hot_passes(cell, now) ? CP_IO_LEFT_NOTHING : CP_IO_NOT_SETTLED;
}

#endif
