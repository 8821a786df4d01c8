/* SPDX-License-Identifier: BSD-3-Clause */
/* The collector's lock and requests; see collect.h. */
#include "collect/collect.h"

#include <errno.h>

/* The demanglers recurse. Only touched pages are resident. */
#define WORK_STACK ((size_t)1 << 20)

struct cp_collector cp_collector;
static char *work_stack;

int cp_collect_init(const struct cp_collect_work *w)
{
	cp_collector.work = w;
	if (!work_stack)
		work_stack = cp_pages_stack_and_reserve(WORK_STACK);
	return work_stack ? 0 : -ENOMEM;
}

bool cp_collect_is_raw_task(void)
{
	return cp_load_acquire(&cp_collector.state) == CP_COLLECTOR_RUNNING &&
	       cp_load_relaxed(&cp_collector.raw_task);
}

bool cp_collect_alive(void)
{
	uint32_t now = cp_load_acquire(&cp_collector.state);

	return now == CP_COLLECTOR_STARTING || now == CP_COLLECTOR_RUNNING;
}

/* Requests that the program or its user makes, not the profiler. */
#define ASKED (CP_REQUEST_DRAIN | CP_REQUEST_DUMP | CP_REQUEST_TOGGLE)

/* Run FN with the lock, on the collector's stack. */
static void run_unsampled(void (*fn)(void *), void *arg)
{
	cp_reserve_open(cp_load_relaxed(&cp_collector.lock.holder) & ~CP_FUTEX_LOCK_WAITED);
	cp_call_on_stack(fn, arg, work_stack + WORK_STACK);
	cp_reserve_close();
}

static void serve_requests(void *arg)
{
	cp_collector.work->serve(*(uint32_t *)arg);
}

uint32_t cp_collect_take(uint32_t which)
{
	return cp_and_seqcst(&cp_collector.requests, ~which) & which;
}

/* Serve requests where no collector runs: the requesting thread serves, or the thread that has the
 * lock, when it releases the lock. One of the two sees the request: the first writes it before it
 * tries the lock, and the second reads it after releasing the lock. */
static void serve_here(void)
{
	while ((cp_load_seqcst(&cp_collector.requests) & ASKED) && !cp_collect_alive() &&
	       !cp_futex_lock_is_mine(&cp_collector.lock) &&
	       cp_futex_lock_try(&cp_collector.lock)) {
		uint32_t bits = cp_collect_take(ASKED);

		run_unsampled(serve_requests, &bits);
		cp_futex_lock_release(&cp_collector.lock);
	}
}

bool cp_collect_run(void (*fn)(void *), void *arg)
{
	if (cp_futex_lock_is_mine(&cp_collector.lock))
		return false;
	cp_futex_lock_acquire(&cp_collector.lock);
	run_unsampled(fn, arg);
	cp_futex_lock_release(&cp_collector.lock);
	serve_here();
	cp_worker_write_rest();
	return true;
}

void cp_collect_serve_now(uint32_t bits)
{
	bits &= ASKED;
	if (bits)
		cp_collect_run(serve_requests, &bits);
}

void cp_collect_wake(void)
{
	cp_add_seqcst(&cp_collector.wakeups, 1);
	cp_task_sleep_wake(&cp_collector.wakeups);
}

void cp_collect_post(uint32_t bits)
{
	cp_or_seqcst(&cp_collector.requests, bits);
	cp_collect_wake();
}

void cp_collect_request(uint32_t bits)
{
	if (!cp_collect_alive()) {
		if (work_stack) {
			cp_or_seqcst(&cp_collector.requests, bits & ASKED);
			serve_here();
		}
		return;
	}
	cp_collect_post(bits);
}
