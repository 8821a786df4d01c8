/* SPDX-License-Identifier: BSD-3-Clause */
/* Begin and end of a measured call; see io_hooks.h. */
#include "modes/io/hooks/io_hooks.h"

#include "modes/io/signal/io_signal.h"

uint64_t calls_began_otherwise(void)
{
	return calls_measured() ? cp_io_event_now() : 0;
}

/* COUNTED_AT: the call is counted, and ended then; 0: it isn't. */
SLOW static int64_t ended(uint64_t began, int64_t result, unsigned what, int64_t on,
			  uint64_t counted_at)
{
	void *const *functions = (void *const *)(const void *)&cp_io_real;
	unsigned known = CALLS_KIND_OF(what);
	struct cp_io_call c = { .began = began,
				.op = (enum cp_io_op)(what & 0xff),
				.bytes = (what & CALLS_MOVES) && result > 0 ? (uint64_t)result : 0,
				.error = result == -1 ? errno : 0,
				.function = functions[what >> 24],
				.on = ON_NOTHING };

	c.kind = known ? (enum cp_fd_kind)(known - 1) : cp_io_kind_of((int)on);
	if (!known)
		c.on = ON_FD((int)on);
	else if (c.kind == CP_FD_PATH)
		c.on = ON_PATH((const char *)(intptr_t)on);
	if (counted_at)
		cp_io_event_settle(&c, counted_at);
	else
		cp_io_event_ended(&c);
	return result;
}

int64_t calls_ended(uint64_t began, int64_t result, unsigned what, int64_t on)
{
	unsigned known = CALLS_KIND_OF(what);
	uint64_t now, bytes = (what & CALLS_MOVES) && result > 0 ? (uint64_t)result : 0;
	enum cp_io_left left;

	if (!began)
		return result;
	if (__builtin_expect(!cp_io_event_is_usual(), 0))
		return ended(began, result, what, on, 0);
	now = cp_arch_ticks();
	left = cp_io_hot_ended(began, now, what & 0xff, known ? known : cp_io_kind_known((int)on),
			       bytes, result == -1);
	if (__builtin_expect(left == CP_IO_LEFT_NOTHING, 1))
		return result;
	return ended(began, result, what, on, left == CP_IO_NOT_COUNTED ? 0 : now);
}
