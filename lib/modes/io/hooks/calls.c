/* SPDX-License-Identifier: BSD-3-Clause */
/* Begin and end of a measured call; see calls.h. */
#include "modes/io/hooks/calls.h"

uint64_t calls_began(void)
{
	return calls_measured() ? cp_io_event_now() : 0;
}

void calls_ended(uint64_t began, int64_t result, unsigned what, struct cp_io_on on,
		 const void *function)
{
	struct cp_io_call c = { .began = began,
				.op = (enum cp_io_op)(what & 0xff),
				.kind = (enum cp_io_kind)(what >> 16),
				.bytes = (what & CALLS_MOVES) && result > 0 ? (uint64_t)result : 0,
				.error = result == -1 ? errno : 0,
				.function = function,
				.on = on };

	if (on.fd >= 0)
		c.kind = cp_io_kind_of(on.fd);
	cp_io_event_ended(&c);
}
