/* SPDX-License-Identifier: BSD-3-Clause */
/* See thread.h. */
#include "sample/thread.h"

#include <string.h>

#include "base/sys.h"

int64_t cp_trace_context_at;

/* The record's header, as OTEP 4947 lays it out: no padding. */
struct header {
	struct cp_trace_ids ids;
	uint8_t valid, flags;
	uint16_t more;
};

_Static_assert(sizeof(struct header) == 28, "as published");

#define VALID 1

static bool any(const uint8_t *bytes, size_t n)
{
	uint8_t all = 0;

	for (size_t i = 0; i < n; i++)
		all |= bytes[i];
	return all != 0;
}

bool cp_trace_context_read(uint64_t tls, struct cp_trace_ids *to)
{
	int64_t at = cp_load_relaxed(&cp_trace_context_at);
	uint64_t record = 0;
	struct header h;

	if (!at || !tls || cp_sys_peek(&record, tls + (uint64_t)at, sizeof(record)) < 0 ||
	    !record || record & 1)
		return false;
	if (cp_sys_peek(&h, record, sizeof(h)) < 0 || h.valid != VALID)
		return false;
	if (!any(h.ids.trace, sizeof(h.ids.trace)) || !any(h.ids.span, sizeof(h.ids.span)))
		return false;
	*to = h.ids;
	return true;
}
