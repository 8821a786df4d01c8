/* SPDX-License-Identifier: BSD-3-Clause */
/* State of a running mode; see output.h. */
#include "output/output.h"

#include <string.h>

#include "base/start_data.h"
#include "base/sys.h"

#define TOGETHER_NS UINT64_C(60000000000)

struct cp_dump_moment cp_dump_moment CP_START_DATA;

/* Runs that begin in the same minute share one pair, also those of a forked child and its parent:
 * measuring it takes some twenty system calls. */
static struct cp_tick_rate_pair pair_at(uint64_t ns)
{
	static struct cp_tick_rate_pair newest;

	if (ns - newest.ns > TOGETHER_NS)
		newest = cp_tick_rate_pair();
	return newest;
}

static void begin_at_the_same_time(struct cp_run *r, const struct cp_run *with)
{
	r->start_utc_ns = with->start_utc_ns;
	r->start_ns = with->start_ns;
	r->start_ticks = with->start_ticks;
	r->start_cpu_ns = with->start_cpu_ns;
}

static void begin_now(struct cp_run *r)
{
	r->start_utc_ns = cp_sys_clock_ns(CLOCK_REALTIME);
	r->start_ns = cp_sys_clock_ns(CLOCK_MONOTONIC);
	r->start_ticks = pair_at(r->start_ns);
	r->start_cpu_ns = cp_sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

void cp_run_begin(struct cp_run *r, struct cp_modules *modules, const struct cp_run *with)
{
	r->rows = r;
	cp_aggregate_init(&r->aggregate, modules);
	cp_names_init(&r->names);
	if (with)
		begin_at_the_same_time(r, with);
	else
		begin_now(r);
	r->own_base_ns = cp_own_time();
	r->written_ns = 0;
	r->said_lacks = false;
	r->written_records = 0;
	r->consumers = (struct cp_vec){ .size = sizeof(struct cp_consumer) };
	r->change_count = 0;
	r->gave_up = false;
	r->window = NULL;
	cp_times_begin(&r->times, 0, 0, 0);
	for (int i = 0; i < CP_COUNTS; i++)
		r->base[i] = cp_counted_mode(r->mode, (enum cp_count)i);
}

void cp_run_release_consumer(struct cp_consumer *c)
{
	cp_vec_release(&c->base);
	cp_vec_release(&c->written);
	cp_vec_release(&c->begin.own);
	cp_vec_release(&c->begin.spans);
	cp_vec_release(&c->next.own);
	cp_vec_release(&c->next.spans);
}

void cp_run_release(struct cp_run *r)
{
	for (size_t i = 0; i < r->consumers.count; i++)
		cp_run_release_consumer(CP_VEC_AT(&r->consumers, struct cp_consumer, i));
	cp_vec_release(&r->consumers);
	cp_times_release(&r->times);
	cp_names_release(&r->names);
	cp_aggregate_release(&r->aggregate);
}

uint64_t cp_run_cpu_ns(const struct cp_run *r)
{
	return (r->window ? r->window->next.cpu_ns : cp_sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID)) -
	       r->start_cpu_ns;
}

uint64_t cp_run_length_ns(const struct cp_run *r)
{
	return (r->window ? r->window->next.ns : cp_sys_clock_ns(CLOCK_MONOTONIC)) - r->start_ns;
}

uint64_t cp_run_own_cpu(const struct cp_run *r)
{
	return (r->window ? r->window->next.own_ns : cp_own_time()) - r->own_base_ns;
}

uint64_t cp_run_counted(const struct cp_run *r, enum cp_count what)
{
	return (r->window ? r->window->next.counted[what] : cp_counted_mode(r->mode, what)) -
	       r->base[what];
}

uint64_t cp_run_hooks_ns(const struct cp_run *r, uint64_t all)
{
	uint64_t timed = cp_run_counted(r, CP_COUNT_TIMED);
	uint64_t ticks = cp_run_counted(r, CP_COUNT_TIMED_TICKS);
	struct cp_tick_rate_pair now;
	uint64_t rate;

	if (!timed)
		return 0;
	now = cp_tick_rate_pair();
	/* If the program forbids the cycle counter by now, use the rate that the collector measured
	 * before. */
	rate = now.ticks ? cp_tick_rate(&r->start_ticks, &now)
			 : cp_load_relaxed(&cp_lock_clock.rate);
	return (uint64_t)((__uint128_t)ticks * all / timed * rate >> CP_TICK_RATE_SHIFT);
}

uint64_t cp_run_handler_ns(const struct cp_run *r)
{
	return cp_run_counted(r, CP_COUNT_EVENT_NS) +
	       cp_run_hooks_ns(r, cp_run_counted(r, CP_COUNT_SIGNALS));
}
