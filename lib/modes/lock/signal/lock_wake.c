/* SPDX-License-Identifier: BSD-3-Clause */
/* Wakes of waiting threads; see lock_signal.h. */
#include "modes/lock/signal/lock_signal.h"

/* Return the calling thread's TLS; NULL if it has none of libc's, or if the profiler itself makes
 * the call: libunwind while it walks a stack, or libc for a thread or a library. */
static const struct cp_self *program_self(unsigned flags)
{
	const struct cp_self *self =
		flags & CP_LOCK_ANY_THREAD ? cp_thread_libc_self() : cp_thread_self();

	return self && (self->in_capture || self->heap.guard) ? NULL : self;
}

void cp_lock_wake_wait(struct cp_wakes_wait *w, const void *object, struct cp_lock_moment began,
		       unsigned flags)
{
	const struct cp_self *self = program_self(flags);

	cp_wakes_begin(w, self ? self->thread : NULL, CP_WAKES_OF_LOCK, cp_wakes_key(object),
		       began);
}

static void add_tail(struct cp_record *record, unsigned depth, const void *call)
{
	cp_lock_event_tail(call, record, depth);
}

void cp_lock_wake(const void *object, uint32_t most, const void *function,
		  const struct cp_lock_unlock_call *call, unsigned flags)
{
	const struct cp_self *self = program_self(flags);
	const struct cp_wakes_wake w = { .key = cp_wakes_key(object),
					 .most = most,
					 .of = CP_WAKES_OF_LOCK,
					 .function = function,
					 .change = call ? add_tail : NULL,
					 .arg = call };

	cp_wakes_wake(self ? self->thread : NULL, &w);
}

/* Record a stack of only the thread's start function, which has returned. */
static void put_start(struct cp_record *record, unsigned depth, const void *start)
{
	record->pcs[0] = (uint64_t)(uintptr_t)start;
	record->depth = 1;
	record->end = CP_UNWIND_COMPLETE;
}

void cp_lock_wake_by_end(struct cp_thread *t, const void *joined)
{
	const void *start = (const void *)t->start;
	const struct cp_wakes_wake w = { .key = cp_wakes_key(joined),
					 .most = 1,
					 .of = CP_WAKES_OF_LOCK,
					 .change = start ? put_start : NULL,
					 .arg = start };

	if (cp_lock_wake_is_awaited(joined))
		cp_wakes_wake(t, &w);
}
