/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores the durations of the latest spans; see labels_signal.h. */
#include "labels/signal/labels_signal.h"

#include <errno.h>

#include "base/atomic.h"
#include "base/sys.h"

#define KEPT UINT32_C(65536)

static uint64_t threshold; /* 0 = off */
static uint32_t newest;
static uint64_t
	*ended; /* [serial % KEPT]: upper half: serial; lower half: ms + 1, or 0 if not slow */

int cp_slow_spans_configure(uint64_t threshold_ns)
{
	if (threshold_ns && !ended) {
		ended = cp_sys_map(KEPT * sizeof(*ended));
		if (!ended)
			return -ENOMEM;
	}
	/* Release: pairs with the load in cp_slow_spans_begin, which every user of ENDED runs
	 * first. */
	cp_store_release(&threshold, threshold_ns);
	return 0;
}

uint32_t cp_slow_spans_begin(void)
{
	uint32_t serial;

	if (!cp_load_acquire(&threshold))
		return 0;
	serial = cp_add_relaxed(&newest, 1) + 1;
	return serial ? serial : cp_add_relaxed(&newest, 1) + 1;
}

void cp_slow_spans_end(uint32_t serial, uint64_t lasted_ns)
{
	uint64_t least = cp_load_acquire(&threshold), ms = lasted_ns / 1000000;

	if (!serial || !ended)
		return;
	if (ms >= UINT32_MAX - 1)
		ms = UINT32_MAX - 2;
	cp_store_release(&ended[serial % KEPT],
			 (uint64_t)serial << 32 | (least && lasted_ns >= least ? ms + 1 : 0));
}

enum cp_slow_spans_state cp_slow_spans_look(uint32_t serial, uint32_t *ms)
{
	uint64_t e = ended ? cp_load_acquire(&ended[serial % KEPT]) : 0;
	uint32_t whose = (uint32_t)(e >> 32);

	if (whose != serial)
		/* The slot holds an earlier span: SERIAL hasn't ended. The slot holds a later
		 * span: SERIAL ended long ago. */
		return (int32_t)(whose - serial) < 0 || !whose ? CP_SLOW_SPANS_OPEN
							       : CP_SLOW_SPANS_NO;
	if (!(uint32_t)e)
		return CP_SLOW_SPANS_NO;
	*ms = (uint32_t)e - 1;
	return CP_SLOW_SPANS_YES;
}
