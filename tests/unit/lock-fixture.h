/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread whose unlocks are told of, with stacks of one frame, and the test's own time; for the
 * tests of lock_event.c. */
#ifndef LOCK_FIXTURE_H
#define LOCK_FIXTURE_H

#include <time.h>

#include "sample/capture.h"
#include "modes/lock/signal/lock_event.h"
#include "sample/thread.h"
#include "sample/unwinder.h"

static unsigned one_frame(const struct cp_unwind_input *in, uint64_t *pcs, unsigned max,
			  enum cp_unwind_end *how)
{
	(void)in;
	(void)max;
	pcs[0] = 1;
	*how = CP_UNWIND_COMPLETE;
	return 1;
}

static const struct cp_unwinder unwinder = { .name = "one frame", .walk = one_frame };

static struct cp_thread *begin_unlocks(int (*clock)(clockid_t, struct timespec *))
{
	struct cp_thread *t = cp_thread_claim();

	cp_capture_settings.max_depth = 4;
	cp_capture_settings.unwinder = &unwinder;
	cp_thread_enter(t);
	cp_lock_clock.read = clock;
	cp_lock_state.stratum_ns = cp_lock_stratum(100);
	return t;
}

#endif
