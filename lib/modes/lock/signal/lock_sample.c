/* SPDX-License-Identifier: BSD-3-Clause */
/* Samples waits; see lock_signal.h. */
#include "modes/lock/signal/lock_signal.h"

/* Points are at most this far apart. A wait of this measure is sampled surely. */
#define GAP_MAX 1.5f
#define SECOND UINT64_C(1000000000)

/* Return a number in [0, 1). xorshift64* of Marsaglia and Vigna. */
static float draw_number(uint64_t *random)
{
	*random ^= *random >> 12;
	*random ^= *random << 25;
	*random ^= *random >> 27;
	return (float)(*random * UINT64_C(0x2545f4914f6cdd1d) >> 40) * 0x1p-24f;
}

/* Return the part of a wait's measure that doesn't come from its delay. */
static float measure_wait(const struct cp_lock_stratum *s, struct cp_lock_rates r)
{
	return r.events / ((float)s->recent + 1);
}

static float per_ns(const struct cp_lock_stratum *s, struct cp_lock_rates r)
{
	float share = r.events / ((float)s->delay + 1);

	return share > r.per_ns ? share : r.per_ns;
}

uint64_t cp_lock_sample_after(const struct cp_lock_stratum *s, struct cp_lock_rates r)
{
	float m = measure_wait(s, r);

	return m >= GAP_MAX || m >= s->left ? 0 : (uint64_t)((s->left - m) / per_ns(s, r)) + 1;
}

uint64_t cp_lock_sample_gap(const struct cp_lock_stratum *s, uint64_t *random,
			    struct cp_lock_rates r)
{
	return (uint64_t)((0.5f + draw_number(random)) / per_ns(s, r)) + 1;
}

/* Return the probability that a wait of measure M has a point on it, wherever the line of points
 * began. */
static double probability(double m)
{
	double rest = GAP_MAX - m;

	return m <= 0.5 ? m : m >= GAP_MAX ? 1 : 1 - rest * rest / 2;
}

/* Move the next point, which the wait has passed by -LEFT, beyond the end of the wait. */
static float next_point(float left, uint64_t *random)
{
	if (left < -4 * GAP_MAX)
		return GAP_MAX * draw_number(random) + 0x1p-24f;
	while (left <= 0)
		left += 0.5f + draw_number(random);
	return left;
}

/* Forget half of the recent waits for each second since the last call. */
static void halve(struct cp_lock_stratum *s, uint64_t now)
{
	uint64_t seconds = now > s->halved ? (now - s->halved) / SECOND : 0;

	if (!seconds)
		return;
	if (s->halved)
		s->recent = seconds < 32 ? s->recent >> seconds : 0;
	s->halved = now;
}

void cp_lock_sample_count(struct cp_lock_stratum *s, uint64_t delay)
{
	/* Who sees the count (lock.c: take_waits) finds the sample in the ring. */
	cp_fence_release();
	cp_add_local(&s->delay, delay);
	cp_add_local(&s->count, 1);
}

double cp_lock_sample_wait(struct cp_lock_stratum *s, uint64_t *random, uint64_t now,
			   uint64_t delay, struct cp_lock_rates r)
{
	float m = measure_wait(s, r) + (float)delay * per_ns(s, r);

	s->recent += s->recent < UINT32_MAX;
	s->left -= m;
	if (s->left > 0)
		return 0;
	if (!*random)
		*random = cp_poisson_seed((uint64_t)(uintptr_t)s, now);
	s->left = next_point(s->left, random);
	halve(s, now);
	return 1 / probability(m);
}
