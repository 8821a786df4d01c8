/* SPDX-License-Identifier: BSD-3-Clause */
/* Frees of sampled blocks; see heap_signal.h. */
#include "modes/heap/signal/heap_signal.h"

#include "sample/sample.h"
#include "sample/thread.h"
#include "sample/lock_clock.h"

#define TID_MASK ((UINT64_C(1) << CP_LIFETIMES_TID_BITS) - 1)

/* 0: the thread has no record. */
static uint64_t own_tid(void)
{
	return cp_self.thread ? (uint64_t)cp_self.thread->tid & TID_MASK : 0;
}

uint64_t cp_lifetimes_birth(void)
{
	uint64_t now = cp_lock_now() >> CP_LIFETIMES_TIME_SHIFT;

	return now << CP_LIFETIMES_TID_BITS | own_tid();
}

static enum cp_lifetimes_thread by_whom(uint64_t birth)
{
	uint64_t maker = birth & TID_MASK, own = own_tid();

	if (!maker || !own)
		return CP_LIFETIMES_UNKNOWN;
	return maker == own ? CP_LIFETIMES_SAME : CP_LIFETIMES_OTHER;
}

void cp_lifetimes_freed(const struct cp_stack_depot_entry *e, const struct cp_live_block *b)
{
	uint64_t now = cp_lock_now(), born = cp_lifetimes_born_ns(b->born);
	uint32_t class = cp_lifetimes_class(now > born ? now - born : 0, by_whom(b->born));
	struct cp_stack_depot_entry *of = cp_heap_stack_find_freed(e, class);
	uint64_t objects, bytes;

	if (!of) {
		cp_count_mode(CPROF_HEAP_LIFETIMES, CP_COUNT_LOST_MEMORY, 1);
		return;
	}
	cp_poisson_stands_for(b->size, e->interval, &objects, &bytes);
	cp_stack_depot_allocated(of, objects, bytes);
}
