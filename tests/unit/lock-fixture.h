/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread whose unlocks are recorded, with stacks of one frame, and the test's own time; for the
 * tests of lock_event.c and lock_holder.c. */
#ifndef LOCK_FIXTURE_H
#define LOCK_FIXTURE_H

#include <stdbool.h>
#include <time.h>

#include "sample/sample.h"
#include "modes/lock/signal/lock_signal.h"
#include "sample/thread.h"

#define US UINT64_C(1000)

static uint64_t now, reads;

static int read_clock(clockid_t clock, struct timespec *t)
{
	t->tv_sec = (time_t)(now / 1000000000);
	t->tv_nsec = (long)(now % 1000000000);
	reads += clock == CLOCK_MONOTONIC;
	return 0;
}

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

static void not_now(void)
{
}

static struct cp_thread *begin(void)
{
	struct cp_thread *t = cp_thread_claim();

	cp_capture_settings.max_depth = 4;
	cp_capture_settings.unwinder = &unwinder;
	cp_capture_settings.wake = not_now;
	cp_thread_enter(t);
	now = 0;
	cp_lock_clock.read = read_clock;
	cp_lock_state.rates = cp_lock_sample_rates(100);
	cp_lock_holder_pace = 1000;
	cp_lock_on = cp_lock_holders_on = 1;
	cp_lock_holder_forget();
	now = 1000000 * US;
	return t;
}

static void end(struct cp_thread *t)
{
	cp_lock_on = cp_lock_holders_on = 0;
	cp_lock_state.threshold_ns = 0;
	cp_lock_event_thread_end(t);
	cp_lock_holder_fork_child();
	cp_ring_discard(t->hook_ring);
	t->hook_ring = NULL;
	cp_thread_free(t);
}

#endif
