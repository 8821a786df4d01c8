/* SPDX-License-Identifier: BSD-3-Clause */
/* The collector's loop: it sleeps, serves requests, looks for unannounced threads, and notices when
 * it is the last task. See collect.h.
 */

#include "collect/collect.h"
#include "host/host.h"
#include "unwind/signal/unwind_signal.h"
#include "unwind/unwind.h"

/* Intervals of the sweep for unannounced threads: the first is used after the start and while such
 * a thread was seen, the second otherwise. */
#define SWEEP_FIRST_NS UINT64_C(100000000)
#define SWEEP_NS UINT64_C(1000000000)
/* The interval while no mode is on. It finds programs whose threads have all ended by unseen system
 * calls, and which only the collector keeps alive. */
#define SWEEP_IDLE_NS UINT64_C(60000000000)
/* After main has ended, other threads may end unnoticed, so look this often. */
#define END_CHECK_NS UINT64_C(20000000)
#define JOINING_NS UINT64_C(10000000)
/* A sweep may take at most 1/SWEEP_SHARE of the time; with many threads it comes less often. */
#define SWEEP_SHARE 500
#define SWEEP_MAX_NS UINT64_C(2000000000) /* upper limit of the interval */

/* Requests are taken under the lock, so a request is either still there or being served. */
static void serve_all(void *tick)
{
	cp_collector.work->serve(cp_collect_take(~CP_REQUEST_QUIT) | *(uint32_t *)tick);
}

static struct cp_sweep_ours ours(void)
{
	return (struct cp_sweep_ours){ { cp_load_relaxed(&cp_collector.thread_tid), cp_worker_tid(),
					 0 } };
}

bool cp_collect_loop_is_ours(int tid)
{
	struct cp_sweep_ours tasks = ours();

	return tid == tasks.tid[0] || tid == tasks.tid[1];
}

bool cp_collect_loop_only_caller(void)
{
	struct cp_sweep_ours tasks = ours();

	tasks.tid[2] = cp_sys_gettid();
	return cp_sweep_all_gone(&tasks);
}

/* Return true if every thread of the program has ended, main before the process, so that only the
 * collector keeps the process alive. libc would now run exit(0) in the last thread. When the
 * collector's thread returns from its thread function, libc takes it as the last thread and runs
 * exit(0) there. If a thread ended unknown to libc, libc still counts it and does not exit, even
 * when the collector's thread ends. */
static bool only_we_are_left(void)
{
	struct cp_sweep_ours tasks = ours();

	return cp_threads_main_ended() && cp_sweep_all_gone(&tasks);
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void sleep_until(uint32_t seen, uint64_t deadline)
{
	uint64_t now = cp_sys_clock_ns(CLOCK_MONOTONIC), left;
	struct timespec timeout;

	deadline = min_u64(deadline, cp_control_socket_due());
	if (now >= deadline)
		return;
	left = deadline - now;
	timeout = (struct timespec){ (time_t)(left / 1000000000u), (long)(left % 1000000000u) };
	if (cp_control_socket_is_open())
		cp_control_socket_sleep(&cp_collector.wakeups, seen, &timeout);
	else
		cp_sys_futex_wait(&cp_collector.wakeups, seen, &timeout);
}

static void add_path(void *unused)
{
	struct cp_control_place place;
	int err;

	cp_collector.work->control_place(&place);
	if (!place.path)
		return;
	err = cp_control_socket_add_path(&place);
	if (!err)
		return;
	cp_control_path_give_up();
	cp_collector.work->control_failed(&place, err);
}

/* Open the control socket if there is to be one. After a failure, each task tries once. */
static void control(bool young, bool *tried)
{
	if (*tried || !cp_worker_has_own_table() || !cp_collector.work->controlled(young))
		return;
	*tried = true;
	if (!cp_control_socket_open())
		cp_collect_run(add_path, NULL);
}

/* Update the rate of the processor's counter, which measures waits and holds. The first reading was
 * at the begin of the loop. */
static void look_at_counter(struct cp_tick_watch *w)
{
	struct cp_tick_rate_pair now = cp_tick_rate_pair();

	if (cp_tick_rate_is_constant())
		cp_tick_rate_watch_look(w, &now);
	cp_lock_clock_set(w->rate);
	cp_lock_clock_set_rough(w->rough);
}

static void count(void *arg)
{
	cp_times_count();
}

static uint64_t sweep(struct cp_tick_watch *watch)
{
	/* CPU time, so that interruptions don't count as the sweep's cost. */
	uint64_t began = cp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID), cost, again;
	struct cp_sweep_ours tasks = ours();

	cp_sigprof_handler_check();
	cp_cfi_poll();
	look_at_counter(watch);
	if (cp_imports_are_caught())
		cp_worker_call(cp_imports_look);
	if (cp_capture_settings.times && cp_collector.work->busy())
		cp_collect_run(count, NULL);
	if (cp_collect_has_ended())
		cp_collect_post(CP_REQUEST_DRAIN);
	again = cp_sweep_threads(&tasks) ? SWEEP_FIRST_NS : SWEEP_NS;
	cost = cp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID) - began;
	if (cost > again / SWEEP_SHARE)
		again = min_u64(cost * SWEEP_SHARE, SWEEP_MAX_NS);
	/* While no mode is on, each look would be a wake-up for nothing. */
	if (again != SWEEP_FIRST_NS && !cp_collector.work->busy())
		again = SWEEP_IDLE_NS;
	return cp_sys_clock_ns(CLOCK_MONOTONIC) + again;
}

void cp_collect_loop_end_as_last(void)
{
	if (cp_threads_ended_raw())
		cp_sys1(SYS_exit, cp_threads_last_status());
}

/* End the process from a collector that has no libc thread to do so. */
static void end_raw_task(void)
{
	uint32_t running = CP_COLLECTOR_RUNNING;

	if (cp_load_relaxed(&cp_collector.raw_task) &&
	    cp_cas_acqrel(&cp_collector.state, &running, CP_COLLECTOR_NONE))
		cp_collect_loop_end_as_last();
}

static bool collect_rounds(void)
{
	uint64_t next_sweep = cp_sys_clock_ns(CLOCK_MONOTONIC) + SWEEP_FIRST_NS;
	bool busy = cp_collector.work->busy(), tried = false;
	/* New in each loop: a fork may have copied a half-made change of the parent's watch. Until
	 * this watch has found the rate, the rate known before remains in force. */
	struct cp_tick_watch watch = { .since = cp_tick_rate_pair() };

	control(true, &tried);
	for (;;) {
		/* Read before the requests: a later request changes this word, and the wait below
		 * then returns at once. */
		uint32_t seen = cp_load_seqcst(&cp_collector.wakeups);
		uint32_t bits = cp_load_seqcst(&cp_collector.requests), tick;
		uint64_t now = cp_sys_clock_ns(CLOCK_MONOTONIC), deadline;

		if (bits & CP_REQUEST_QUIT) {
			cp_collect_serve_now(cp_collect_take(~0u));
			return true;
		}
		if (only_we_are_left()) {
			if (cp_threads_ended_raw())
				cp_collector.work->last();
			end_raw_task();
			return true;
		}
		if (cp_worker_is_stale())
			return false;
		tick = now >= cp_collector.work->due() ? CP_REQUEST_TICK : 0;
		if (bits | tick)
			cp_collect_run(serve_all, &tick);
		/* The socket was withdrawn for an exec that failed. */
		if (cp_control_path_is_withdrawn())
			cp_collect_run(add_path, NULL);
		cp_control_socket_serve(cp_collector.work->answer, cp_collector.work->answered);
		if (!busy && cp_collector.work->busy())
			next_sweep = now;
		busy = cp_collector.work->busy();
		if (now >= next_sweep) {
			control(false, &tried);
			next_sweep = cp_load_acquire(&cp_collector.joining) ? now + JOINING_NS
									    : sweep(&watch);
		}
		deadline = min_u64(next_sweep, cp_collector.work->due());
		if (cp_threads_main_ended())
			deadline = min_u64(deadline, now + END_CHECK_NS);
		sleep_until(seen, deadline);
	}
}

/* End by ourselves. If another thread is just stopping the collector, that thread joins it. */
static void leave(void)
{
	uint32_t running = CP_COLLECTOR_RUNNING;

	if (!cp_exchange_acqrel(&cp_collector.leaving, 0) ||
	    !cp_cas_acqrel(&cp_collector.state, &running, CP_COLLECTOR_STOPPING))
		return;
	cp_store_relaxed(&cp_collector.requests, 0);
	cp_store_relaxed(&cp_collector.unjoined, !cp_load_relaxed(&cp_collector.raw_task));
	cp_store_release(&cp_collector.state, CP_COLLECTOR_NONE);
}

bool cp_collect_loop(void)
{
	bool done;

	cp_own_time_task_begin();
	done = collect_rounds();
	if (cp_control_socket_is_open())
		cp_control_socket_close();
	cp_own_time_task_end();
	if (done)
		leave();
	return done;
}
