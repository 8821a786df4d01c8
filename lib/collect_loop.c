/* What the collector does all the time: it sleeps, serves, looks for threads that nobody announced,
 * and sees when it is the last one. See collect.h.
 */
#include <time.h>

#include "collect_state.h"
#include "cpu.h"
#include "own_time.h"
#include "sigsafe/atomic.h"
#include "sigsafe/cfi_module.h"
#include "sigsafe/lock_clock.h"
#include "sigsafe/sys.h"
#include "sweep.h"
#include "threads.h"
#include "tick_rate.h"
#include "worker.h"

/* How often threads that nobody announced are looked for: soon after the start and
 * when there is one, else at leisure. */
#define SWEEP_FIRST_NS UINT64_C(100000000)
#define SWEEP_NS UINT64_C(1000000000)
/* While main has ended and others run, a thread may vanish without a word to us. */
#define END_CHECK_NS UINT64_C(20000000)
#define JOINING_NS UINT64_C(10000000)
/* A sweep may take at most this part of the time: with many threads it comes less often. */
#define SWEEP_SHARE 500
#define SWEEP_MAX_NS UINT64_C(2000000000) /* but not less often than this */

/* Under the lock they are taken: what was asked is either still there, or being done. */
static void serve_all(void *tick)
{
	cp_collector.work->serve(cp_collect_take(~CP_REQUEST_QUIT) | *(uint32_t *)tick);
}

static struct cp_sweep_ours ours(void)
{
	return (struct cp_sweep_ours){ { cp_load_relaxed(&cp_collector.thread_tid), cp_worker_tid(),
					 0 } };
}

bool cp_collect_only_caller(void)
{
	struct cp_sweep_ours tasks = ours();

	tasks.tid[2] = cp_sys_gettid();
	return cp_sweep_all_gone(&tasks);
}

/* Every thread of the program has ended, main before the process: it lives only because of us.
 * libc would now run exit(0) in the last thread; returning from the thread function makes ours that
 * thread, so it does just that. Where a thread ended unknown to libc, libc counts it still, and
 * does nothing; nor with ours. */
static bool only_we_are_left(void)
{
	struct cp_sweep_ours tasks = ours();

	return cp_threads_main_ended() && cp_sweep_all_gone(&tasks);
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void sleep_until(uint32_t rung, uint64_t deadline)
{
	uint64_t now = cp_sys_clock_ns(CLOCK_MONOTONIC), left;
	struct timespec timeout;

	if (now >= deadline)
		return;
	left = deadline - now;
	timeout = (struct timespec){ (time_t)(left / 1000000000u), (long)(left % 1000000000u) };
	cp_sys_futex_wait(&cp_collector.bell, rung, &timeout);
}

/* For the length of waits, and of holds; the first look was at the begin of the loop. */
static void look_at_counter(struct cp_tick_watch *w)
{
	struct cp_tick_pair now = cp_tick_pair();

	if (cp_tick_is_constant())
		cp_tick_watch_look(w, &now);
	cp_lock_clock_set(w->rate);
	cp_lock_clock_set_rough(w->rough);
}

static uint64_t sweep(struct cp_tick_watch *watch)
{
	/* CPU time: a sweep that others interrupt costs no more for it. */
	uint64_t began = cp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID), cost, again;
	struct cp_sweep_ours tasks = ours();

	cp_cpu_check_handler();
	cp_cfi_modules_poll();
	look_at_counter(watch);
	again = cp_sweep_threads(&tasks) ? SWEEP_FIRST_NS : SWEEP_NS;
	cost = cp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID) - began;
	if (cost > again / SWEEP_SHARE)
		again = min_u64(cost * SWEEP_SHARE, SWEEP_MAX_NS);
	return cp_sys_clock_ns(CLOCK_MONOTONIC) + again;
}

void cp_collect_end_as_last(void)
{
	if (cp_threads_ended_raw())
		cp_sys1(SYS_exit, cp_threads_last_status());
}

/* Without a thread that would see to it. */
static void end_bare(void)
{
	uint32_t running = CP_COLLECTOR_RUNNING;

	if (cp_load_relaxed(&cp_collector.bare) &&
	    cp_cas_acqrel(&cp_collector.state, &running, CP_COLLECTOR_NONE))
		cp_collect_end_as_last();
}

static bool loop(void)
{
	uint64_t next_sweep = cp_sys_clock_ns(CLOCK_MONOTONIC) + SWEEP_FIRST_NS;
	/* Anew in each loop: a fork may have come amid a change of its parent's. Until this one has
	 * found the rate, it is the one that was known before. */
	struct cp_tick_watch watch = { .since = cp_tick_pair() };
	for (;;) {
		/* Read before the requests: a request after this changes it, and the wait
		 * below returns at once. */
		uint32_t rung = cp_load_seqcst(&cp_collector.bell);
		uint32_t bits = cp_load_seqcst(&cp_collector.requests), tick;
		uint64_t now = cp_sys_clock_ns(CLOCK_MONOTONIC), deadline;

		if (bits & CP_REQUEST_QUIT) {
			cp_collect_serve_rest(cp_collect_take(~0u));
			return true;
		}
		if (only_we_are_left()) {
			if (cp_threads_ended_raw())
				cp_collector.work->last();
			end_bare();
			return true;
		}
		if (cp_worker_is_stale())
			return false;
		tick = now >= cp_collector.work->due() ? CP_REQUEST_TICK : 0;
		if (bits | tick)
			cp_collect_run(serve_all, &tick);
		if (now >= next_sweep)
			next_sweep = cp_load_acquire(&cp_collector.joining) ? now + JOINING_NS
									    : sweep(&watch);
		deadline = min_u64(next_sweep, cp_collector.work->due());
		if (cp_threads_main_ended())
			deadline = min_u64(deadline, now + END_CHECK_NS);
		sleep_until(rung, deadline);
	}
}

bool cp_collect_loop(void)
{
	bool done;

	cp_own_time_task_begin();
	done = loop();
	cp_own_time_task_end();
	return done;
}
