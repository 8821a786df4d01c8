/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes the event mode's samples in the handler of SIGPROF; see event_hit.h. */
#include "modes/event/signal/event_hit.h"

#include "base/start_data.h"
#include "base/sys.h"

struct cp_event_state cp_event_state CP_START_DATA;

const struct cp_perf cp_event_thread_part = { .fd = -1 };

/* Record HITS of T's event at UC. */
static void record_hits(struct cp_thread *t, const ucontext_t *uc, uint64_t hits,
			const struct cp_kernel_frames *kernel)
{
	const struct cp_event e = { .mode = CPROF_EVENT,
				    .count = hits,
				    .weight = cp_perf_event_weight(cp_event_of(t), hits) };
	uint64_t began = cp_timing_begin();
	struct cp_regs regs;

	cp_count_mode(CPROF_EVENT, CP_COUNT_SIGNALS, 1);
	if (cp_load_relaxed(&t->paused)) {
		cp_count_mode(CPROF_EVENT, CP_COUNT_LOST_PAUSED, e.weight);
		return;
	}
	cp_regs_of_context(&regs, uc);
	cp_capture_in_kernel(t, &e, &regs, kernel);
	cp_timing_end(CPROF_EVENT, began);
}

/* Give T's event another period, when it has had this one for long. */
static void keep_going(struct cp_thread *t)
{
	struct cp_perf *p = cp_event_of(t);
	uint64_t began;

	if (p->left)
		return;
	began = cp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	if (cp_perf_event_renew(p, cp_load_relaxed(&t->tid), cp_event_state.period) < 0)
		cp_count_mode(CPROF_EVENT, CP_COUNT_EVENT_FAILURES, 1);
	cp_count_mode(CPROF_EVENT, CP_COUNT_EVENT_NS,
		      cp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID) - began);
}

/* Leave out the hits from now on back to the last that was read: they are the profiler's own, such
 * as the faults of a ring's fresh pages. */
static void leave_own_out(struct cp_perf *p)
{
	struct cp_kernel_frames kernel;
	uint64_t tail;
	unsigned hits;

	while (p->pages && (hits = cp_perf_event_next(p, &kernel, &tail)) > 0) {
		cp_count_mode(CPROF_EVENT, CP_COUNT_OWN_HITS, hits);
		cp_perf_event_release(p, tail);
	}
}

/* Take all hits since the last signal. Several are in one call of the kernel, so the program's
 * stack is the same for all. Returns false if there was no hit. */
static bool take_hits(struct cp_thread *t, const ucontext_t *uc)
{
	struct cp_perf *p = cp_event_of(t);
	uint64_t before = p->pages ? cp_perf_event_written(p) : 0, tail;
	struct cp_kernel_frames kernel;
	bool any = false;
	unsigned hits;

	while (p->pages && (hits = cp_perf_event_next(p, &kernel, &tail)) > 0 && tail <= before) {
		any = true;
		record_hits(t, uc, hits, &kernel);
		cp_perf_event_release(p, tail);
		p->left -= p->left > 0;
	}
	if (any)
		keep_going(t);
	leave_own_out(p);
	return any;
}

/* Take the hits of T's event. T is the calling thread's record. Returns false if its event has not
 * hit. */
static bool take_busy(struct cp_thread *t, const ucontext_t *uc)
{
	struct cp_perf *p = cp_event_of(t);
	bool taken;

	/* Pairs with the stop: either the stop sees BUSY, or this handler sees that the mode has
	 * stopped. */
	cp_store_seqcst(&p->busy, 1);
	taken = cp_load_seqcst(&cp_event_state.running) && take_hits(t, uc);
	cp_store_release(&p->busy, 0);
	return taken;
}

/* Look for hits at any SIGPROF: while one is pending for a thread, the kernel drops perf's. */
static void take_unannounced(struct cp_thread *t, const ucontext_t *uc)
{
	take_busy(t, uc);
}

/* Handle a signal of an event. Returns false if the signal is the program's. */
static bool from_event(const siginfo_t *si, const ucontext_t *uc)
{
	struct cp_thread *t;
	bool taken = false;

	if (!cp_load_relaxed(&cp_event_state.used) || !cp_perf_signal_may_be(si))
		return false;
	/* Threads that have or had an event were made by libc. */
	t = cp_thread_self()->thread;
	if (t && cp_perf_signal_fits(cp_event_of(t), si))
		taken = take_busy(t, uc);
	return taken || !cp_perf_signal_is_programs(si);
}

static void event_expired(struct cp_thread *t, const siginfo_t *si, const ucontext_t *uc)
{
	/* The mode has no timers. */
}

const struct cp_sigprof_source cp_event_hit_source = {
	.running = &cp_event_state.running,
	.expired = event_expired,
	.take = from_event,
	.look = take_unannounced,
	.looks = &cp_event_state.used,
};
