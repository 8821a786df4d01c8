/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes a running thread's sample for the wall clock; see wall_signal.h. */
#include "modes/wall/signal/wall_signal.h"

#include "base/start_data.h"

uint32_t cp_wall_running CP_START_DATA;

const struct cp_wall_thread cp_wall_thread_part = { .timer = CP_NO_TIMER };

static void from_thread_timer(struct cp_thread *t, const siginfo_t *si, const ucontext_t *uc)
{
	struct cp_event e = { .mode = CPROF_WALL };
	struct cp_regs regs;

	/* Ignored after a stop, or from a deleted timer. */
	if (!cp_load_relaxed(&cp_wall_running) || !t ||
	    cp_load_relaxed(&cp_wall_of(t)->timer) != si->si_timerid || cp_load_relaxed(&t->paused))
		return;
	cp_count_mode(CPROF_WALL, CP_COUNT_SIGNALS, 1);
	/* The pacer determines the sample's weight, because it knows since when the thread ran. */
	e.tag = ++cp_wall_of(t)->samples;
	cp_regs_of_context(&regs, uc);
	cp_capture(t, &e, &regs);
}

const struct cp_sigprof_source cp_wall_event_source = {
	.running = &cp_wall_running,
	.expired = from_thread_timer,
};
