/* The lock, and what the collector is asked for; see collect.h. */
#include "collect.h"

#include <errno.h>

#include "collect_state.h"
#include "sigsafe/arch.h"
#include "sigsafe/atomic.h"
#include "sigsafe/sys.h"
#include "worker.h"

/* The demanglers recurse; only touched pages are resident. */
#define WORK_STACK ((size_t)1 << 20)

struct cp_collector cp_collector;
static char *work_stack;

int cp_collect_init(const struct cp_collect_work *w)
{
	cp_collector.work = w;
	if (!work_stack) {
		work_stack = cp_sys_map(WORK_STACK);
		if (!work_stack)
			return -ENOMEM;
		/* A runaway recursion must fault, not write into the mapping below. */
		cp_sys3(SYS_mprotect, work_stack, 4096, PROT_NONE);
	}
	return 0;
}

bool cp_collect_is_bare(void)
{
	return cp_load_acquire(&cp_collector.state) == CP_COLLECTOR_RUNNING &&
	       cp_load_relaxed(&cp_collector.bare);
}

bool cp_collect_alive(void)
{
	uint32_t now = cp_load_acquire(&cp_collector.state);

	return now == CP_COLLECTOR_STARTING || now == CP_COLLECTOR_RUNNING;
}

/* What the program or its user asks for, as opposed to what we ask ourselves. */
#define ASKED (CP_REQUEST_DRAIN | CP_REQUEST_DUMP | CP_REQUEST_TOGGLE)

static void serve(void *arg)
{
	cp_collector.work->serve(*(uint32_t *)arg);
}

uint32_t cp_collect_take(uint32_t which)
{
	return cp_and_seqcst(&cp_collector.requests, ~which) & which;
}

/* Without a collector: who asks serves, or else who has the lock, when it gives it back. One of
 * them sees what was asked, for the one writes it before it tries the lock, and the other reads it
 * after giving the lock back. */
static void serve_here(void)
{
	while ((cp_load_seqcst(&cp_collector.requests) & ASKED) && !cp_collect_alive() &&
	       !cp_lock_is_mine(&cp_collector.lock) && cp_lock_try(&cp_collector.lock)) {
		uint32_t bits = cp_collect_take(ASKED);

		cp_call_on_stack(serve, &bits, work_stack + WORK_STACK);
		cp_lock_release(&cp_collector.lock);
	}
}

bool cp_collect_run(void (*fn)(void *), void *arg)
{
	if (cp_lock_is_mine(&cp_collector.lock))
		return false;
	cp_lock_acquire(&cp_collector.lock);
	cp_call_on_stack(fn, arg, work_stack + WORK_STACK);
	cp_lock_release(&cp_collector.lock);
	serve_here();
	cp_worker_write_rest();
	return true;
}

void cp_collect_serve_rest(uint32_t bits)
{
	bits &= ASKED;
	if (bits)
		cp_collect_run(serve, &bits);
}

void cp_collect_ring(void)
{
	cp_add_seqcst(&cp_collector.bell, 1);
	cp_sys_futex_wake(&cp_collector.bell, 1);
}

void cp_collect_post(uint32_t bits)
{
	cp_or_seqcst(&cp_collector.requests, bits);
	cp_collect_ring();
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
