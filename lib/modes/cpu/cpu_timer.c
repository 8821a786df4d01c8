/* SPDX-License-Identifier: BSD-3-Clause */
/* One POSIX timer per thread; see cpu.h. */
#include "modes/cpu/cpu.h"

#include <errno.h>

#include "modes/cpu/signal/cpu_signal.h"
#include "collect/collect.h"

/* 2^64 divided by the golden ratio. Successive multiples, modulo 2^64, fill the circle as evenly as
 * any sequence can (Knuth, TAOCP 3, 6.4). So the first expiries of n threads are spread over the
 * period. Each by itself is uniform, which keeps short threads unbiased; together they hit n times
 * as evenly as n independent draws. */
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)
/* The same of the square root of 2, for a sequence independent of the first expiries. */
#define ROOT UINT64_C(0xb504f333f9de6484)

static uint64_t phase;	    /* golden-ratio sequence, random start */
static uint64_t late_phase; /* the same with the square root of 2 */
static uint64_t tick;	    /* length of the kernel's tick, ns */

static void seed_phase(void)
{
	if (cp_sys3(SYS_getrandom, &phase, sizeof(phase), 1 /* GRND_NONBLOCK */) < 0) {
		struct timespec t;

		cp_sys2(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
		phase = (uint64_t)t.tv_nsec * GOLDEN;
	}
}

/* Return the next number of SEQUENCE, in (0, most]. */
static uint64_t draw_delay(uint64_t *sequence, uint64_t step, uint64_t most)
{
	return 1 + (uint64_t)((__uint128_t)cp_add_relaxed(sequence, step) * most >> 64);
}

uint64_t cp_cpu_timer_first(void)
{
	return draw_delay(&phase, GOLDEN, cp_cpu_state.period_ns);
}

int64_t cp_cpu_timer_credit(void)
{
	return 1 + (int64_t)(tick / cp_cpu_state.period_ns);
}

static void begin_edge(struct cp_thread *t, uint64_t now, uint64_t first)
{
	/* Credit T with the earlier periods that end within a tick's length before NOW. */
	cp_cpu_of(t)->edge.start = (uint64_t)(uintptr_t)t->start;
	cp_cpu_edges_begin(&cp_cpu_of(t)->edge, (first + tick - 1) / cp_cpu_state.period_ns,
			   now + draw_delay(&late_phase, ROOT, tick));
}

int cp_cpu_timer_create(struct cp_thread *t, uint64_t from, uint64_t before)
{
	uint64_t first = cp_cpu_timer_first();
	int id = cp_thread_timer_create(t, CPROF_CPU), err;

	if (id < 0)
		return id;
	cp_cpu_event_begin_steps(cp_cpu_of(t), from, first);
	cp_cpu_of(t)->random = first * ROOT ^ (uint64_t)t->tid * GOLDEN ^ from;
	if (before)
		cp_cpu_edges_scale(&cp_cpu_of(t)->edge, before, cp_cpu_state.period_ns);
	else
		begin_edge(t, from, first);
	/* Stored before the timer runs: the handler accepts only signals of this timer. */
	cp_store_release(&cp_cpu_of(t)->timer, id);
	err = cp_cpu_event_set_timer(t);
	if (err < 0)
		cp_cpu_timer_delete(t);
	return err;
}

void cp_cpu_timer_delete(struct cp_thread *t)
{
	int id = cp_load_relaxed(&cp_cpu_of(t)->timer);

	if (id == CP_NO_TIMER)
		return;
	cp_store_relaxed(&cp_cpu_of(t)->timer, CP_NO_TIMER);
	cp_sys1(SYS_timer_delete, id);
}

/* A child inherits its parent's phase. Without this step, all children of one parent would have the
 * same first expiry, and the work of each in less than a period would be sampled in all of them or
 * in none. */
void cp_cpu_timer_fork_begin(void)
{
	cp_add_relaxed(&phase, GOLDEN);
	cp_add_relaxed(&late_phase, ROOT);
}

void cp_cpu_timer_period_changed(void)
{
	/* With a shorter period, each tick is a sample whatever the steps. */
	cp_store_relaxed(&cp_cpu_state.shuffled, cp_cpu_state.period_ns > tick);
}

void cp_cpu_timer_prepare(void)
{
	tick = cp_thread_timer_tick_ns();
	cp_cpu_timer_period_changed();
	seed_phase();
	late_phase = phase * GOLDEN;
	cp_cpu_edges_reset();
}

/* Return a number below MOST that depends on NOW, as if drawn. */
static uint64_t chance(uint64_t now, uint64_t most)
{
	return (uint64_t)((__uint128_t)(now * GOLDEN) * most >> 64);
}

/* The kernel checks a thread's timer when its tick finds the thread running. Expiries after the
 * last such tick would be lost, and with them most of the time of short threads; on average that is
 * half a tick's time. It is more when threads share a processor: Linux 6.18 has left a thread that
 * is always preempted unchecked for half a second. */
uint64_t cp_cpu_timer_missed(const struct cp_thread *t, uint64_t now)
{
	const struct cp_cpu_thread *c = cp_cpu_of(t);
	uint64_t passed, own, step;

	/* Acquire: the step of this timer. T may go on meanwhile. */
	if (cp_load_acquire(&c->timer) == CP_NO_TIMER)
		return 0;
	step = cp_load_relaxed(&c->step);
	passed = cp_cpu_event_passed(c, now);
	own = (cp_load_relaxed(&t->own_cpu_ns) - c->own_seen + chance(now, step)) / step +
	      c->own_left + cp_load_relaxed(&c->told);
	return passed > own ? passed - own : 0;
}

uint64_t cp_cpu_timer_in_periods(const struct cp_thread *t, uint64_t n, uint64_t now)
{
	uint64_t period = cp_cpu_state.period_ns;

	return (n * cp_cpu_of(t)->step + chance(~now, period)) / period;
}

uint64_t cp_cpu_timer_usually_missed(void)
{
	return 1 + 4 * tick / cp_cpu_state.period_ns;
}
