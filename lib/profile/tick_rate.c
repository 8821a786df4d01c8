/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures the rate of the processor's counter; see profile.h. */
#include "profile/profile.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "sample/sample.h"
#include "base/sys.h"

/* Over a shorter time, a rate would be less accurate than 1 in 10,000. */
#define APART_NS UINT64_C(1000000)
#define TRIES 8
#define ASLEEP_NS UINT64_C(10000000)
/* A watch's rate is accurate to one part in EXACT. */
#define EXACT 1000000u

/* Returns the ns that the machine was suspended: the least of several readings, because the thread
 * may be preempted between the two clocks. */
static uint64_t asleep(void)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		uint64_t awake = cp_sys_clock_ns(CLOCK_MONOTONIC);
		uint64_t all = cp_sys_clock_ns(CLOCK_BOOTTIME);

		if (all - awake < least)
			least = all - awake;
	}
	return least;
}

struct cp_tick_rate_pair cp_tick_rate_pair(void)
{
	struct cp_tick_rate_pair best = { 0 };
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = cp_ticks(), ns = cp_sys_clock_ns(CLOCK_MONOTONIC);
		uint64_t took = cp_ticks() - before;

		if (took >= least)
			continue;
		least = took;
		best = (struct cp_tick_rate_pair){ .ns = ns,
						   .ticks = before + took / 2,
						   .within = took };
	}
	best.asleep = asleep();
	return best;
}

bool cp_tick_rate_is_constant(void)
{
#if defined(__x86_64__)
	static uint32_t known; /* 1 = it isn't, 2 = it is; cached, because cpuid takes long in
				  virtual machines */
	unsigned a, b, c, d = 0;

	if (!cp_load_relaxed(&known)) {
		/* Invariant TSC (AMD64 Architecture Programmer's Manual 3, E.4.7). */
		bool is = __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8));

		cp_store_relaxed(&known, is ? 2 : 1);
	}
	return cp_load_relaxed(&known) == 2;
#else
	return true; /* the architecture's generic timer */
#endif
}

bool cp_tick_rate_slept(const struct cp_tick_rate_pair *from, const struct cp_tick_rate_pair *to)
{
	uint64_t more = to->asleep - from->asleep;

	return more + ASLEEP_NS > 2 * ASLEEP_NS;
}

uint64_t cp_tick_rate(const struct cp_tick_rate_pair *from, const struct cp_tick_rate_pair *to)
{
	uint64_t ns = to->ns - from->ns, ticks = to->ticks - from->ticks;

	if (to->ns < from->ns + APART_NS || to->ticks <= from->ticks)
		return 0;
	return (uint64_t)(((__uint128_t)ns << CP_TICK_RATE_SHIFT) / ticks);
}

/* Returns whether RATE is that of another machine, after a migration. */
static bool is_another(uint64_t rate, uint64_t before)
{
	uint64_t off = rate > before ? rate - before : before - rate;

	return rate && before && off > before / 1000;
}

/* Returns whether the rate is accurate enough. Each pair may be wrong by half of its WITHIN. */
static bool is_exact(const struct cp_tick_rate_pair *from, const struct cp_tick_rate_pair *to)
{
	return (from->within + to->within) / 2 <= (to->ticks - from->ticks) / EXACT;
}

uint64_t cp_tick_rate_watch_look(struct cp_tick_watch *w, const struct cp_tick_rate_pair *now)
{
	uint64_t rate = cp_tick_rate(&w->since, now);

	if (cp_tick_rate_slept(&w->since, now) || now->ticks < w->since.ticks ||
	    is_another(rate, w->rate)) {
		w->since = *now;
		rate = 0;
	}
	w->rough = rate;
	w->rate = is_exact(&w->since, now) ? rate : 0;
	return w->rate;
}
