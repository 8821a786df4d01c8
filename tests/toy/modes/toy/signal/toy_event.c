/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts and samples calls of getpid; see toy_event.h. */
#include "modes/toy/signal/toy_event.h"

#include <signal.h>

#include "base/arch.h"
#include "base/atomic.h"
#include "base/sys.h"
#include "sample/sample.h"
#include "sample/thread.h"

struct cp_toy_state cp_toy_state;

extern const struct cp_toy_thread cp_toy_thread_part CP_THREAD_PART;
const struct cp_toy_thread cp_toy_thread_part = { 0 };

/* All signals are blocked: a handler could call getpid, too, or jump away. */
static void sample(struct cp_thread *t, struct cp_toy_thread *mine)
{
	const struct cp_event e = { .mode = CPROF_TOY,
				    .count = 1,
				    .weight = mine->calls,
				    .tag = mine->sampled ? CP_TOY_LATER : CP_TOY_FIRST };
	uint64_t began = cp_timing_begin();
	struct cp_regs regs = { 0 };

	cp_regs_here(&regs);
	cp_capture_hook(t, &e, &regs, cp_toy_state.leaf);
	mine->sampled++;
	cp_timing_end(CPROF_TOY, began);
}

static void count(struct cp_thread *t)
{
	struct cp_toy_thread *mine = cp_thread_part(t, &cp_toy_thread_part);

	cp_add_relaxed(&cp_toy_state.calls, 1);
	if (cp_load_relaxed(&t->paused)) {
		cp_count_mode(CPROF_TOY, CP_COUNT_LOST_PAUSED, 1);
		return;
	}
	if (++mine->calls < cp_load_relaxed(&cp_toy_state.every))
		return;
	sample(t, mine);
	mine->calls = 0;
}

void cp_toy_event_called(void)
{
	const uint64_t all = CP_SIGSET_ALL;
	const struct cp_self *self;
	uint64_t mask;

	if (!cp_load_relaxed(&cp_toy_state.running))
		return;
	self = cp_thread_libc_self();
	/* A vfork's child has its parent's record in TLS. */
	if (!self || !self->thread || cp_load_relaxed(&self->thread->tid) != cp_sys_gettid()) {
		cp_count_mode(CPROF_TOY, CP_COUNT_LOST_THREAD, 1);
		return;
	}
	cp_sys_sigmask(SIG_SETMASK, &all, &mask);
	count(self->thread);
	cp_sys_sigmask(SIG_SETMASK, &mask, NULL);
}
