/* SPDX-License-Identifier: BSD-3-Clause */
/* The collector's lock and requests; see collect.h. */
#include "collect/collect.h"

#include <errno.h>

#include "base/start_data.h"

/* The demanglers recurse. Only touched pages are resident. */
#define WORK_STACK ((size_t)1 << 20)

struct cp_collector cp_collector CP_START_DATA;
static char *work_stack;
static uint32_t ended; /* threads since the last drain began */

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

/* Serve those of WHICH that are requested, unless another thread has the lock. Returns false if
 * there was nothing to do, or the lock was held. */
static bool serve_some(uint32_t which)
{
	uint32_t bits;

	if (!(cp_load_seqcst(&cp_collector.requests) & which) ||
	    cp_futex_lock_is_mine(&cp_collector.lock) || !cp_futex_lock_try(&cp_collector.lock))
		return false;
	bits = cp_collect_take(which);
	run_unsampled(serve_requests, &bits);
	cp_futex_lock_release(&cp_collector.lock);
	return true;
}

/* Serve requests where no collector runs: the requesting thread serves, or the thread that has the
 * lock, when it releases the lock. One of the two sees the request: the first writes it before it
 * tries the lock, and the second reads it after releasing the lock. */
static void serve_here(void)
{
	while (!cp_collect_alive() && serve_some(ASKED))
		;
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
	/* Whoever has requested the same wakes the collector. To wake it again can take long: the
	 * kernel looks through all waiters of its table's row. */
	if (bits & ~cp_or_seqcst(&cp_collector.requests, bits))
		cp_collect_wake();
}

/* Records and rings of ended threads wait for a drain until there are so many, or a part of all
 * records: a drain reads the list of mappings, which is as long as there are threads. */
#define ENDS_LEAST 64u
#define ENDS_PART 8u

void cp_collect_ended(void)
{
	uint32_t n = cp_add_relaxed(&ended, 1) + 1, most = cp_thread_limit() / ENDS_PART;

	most = most > ENDS_LEAST ? most : ENDS_LEAST;
	if (n >= most || !cp_collect_alive())
		cp_collect_request(CP_REQUEST_DRAIN);
	/* The collector's task waits for a processor as the threads that end do. */
	if (n >= 2 * most && n % ENDS_LEAST == 0)
		serve_some(CP_REQUEST_DRAIN);
}

bool cp_collect_has_ended(void)
{
	return cp_load_relaxed(&ended) != 0;
}

void cp_collect_ends_drained(void)
{
	cp_store_relaxed(&ended, 0);
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
