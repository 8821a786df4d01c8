/* How fast the processor's counter runs; see tick_rate.h. */
#include "tick_rate.h"

#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "sigsafe/arch.h"
#include "sigsafe/atomic.h"
#include "sigsafe/sys.h"

/* Below that a rate would be less than right to 1 in 10,000. */
#define APART_NS UINT64_C(1000000)
#define TRIES 8
#define ASLEEP_NS UINT64_C(10000000)
/* A watch's rate is right to one part in so many. */
#define EXACT 1000000u

/* Of several readings the least: between two clocks a thread may be preempted. */
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

struct cp_tick_pair cp_tick_pair(void)
{
	struct cp_tick_pair best = { 0 };
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = cp_ticks(), ns = cp_sys_clock_ns(CLOCK_MONOTONIC);
		uint64_t took = cp_ticks() - before;

		if (took >= least)
			continue;
		least = took;
		best = (struct cp_tick_pair){ .ns = ns,
					      .ticks = before + took / 2,
					      .within = took };
	}
	best.asleep = asleep();
	return best;
}

bool cp_tick_is_constant(void)
{
#if defined(__x86_64__)
	static uint32_t known; /* 1 = it isn't, 2 = it is: to ask takes long in virtual machines */
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

bool cp_tick_slept(const struct cp_tick_pair *from, const struct cp_tick_pair *to)
{
	uint64_t more = to->asleep - from->asleep;

	return more + ASLEEP_NS > 2 * ASLEEP_NS;
}

uint64_t cp_tick_rate(const struct cp_tick_pair *from, const struct cp_tick_pair *to)
{
	uint64_t ns = to->ns - from->ns, ticks = to->ticks - from->ticks;

	if (to->ns < from->ns + APART_NS || to->ticks <= from->ticks)
		return 0;
	return (uint64_t)(((__uint128_t)ns << CP_TICK_RATE_SHIFT) / ticks);
}

/* Another machine's, after a migration of the process or of the machine. */
static bool is_another(uint64_t rate, uint64_t before)
{
	uint64_t off = rate > before ? rate - before : before - rate;

	return rate && before && off > before / 1000;
}

/* Each pair may be wrong by half of what it was read within. */
static bool is_exact(const struct cp_tick_pair *from, const struct cp_tick_pair *to)
{
	return (from->within + to->within) / 2 <= (to->ticks - from->ticks) / EXACT;
}

uint64_t cp_tick_watch_look(struct cp_tick_watch *w, const struct cp_tick_pair *now)
{
	uint64_t rate = cp_tick_rate(&w->since, now);

	if (cp_tick_slept(&w->since, now) || now->ticks < w->since.ticks ||
	    is_another(rate, w->rate)) {
		w->since = *now;
		rate = 0;
	}
	w->rough = rate;
	w->rate = is_exact(&w->since, now) ? rate : 0;
	return w->rate;
}
