/* SPDX-License-Identifier: BSD-3-Clause */
/* Samples calls; see io_signal.h. */
#include "modes/io/signal/io_signal.h"

/* A new cell begins as if so many threads had equal counts. */
#define THREADS 4

/* The measure of a call that has a point for sure: as long as there is half of the room, it is
 * recorded nearly surely. */
#define SURE 16
/* In this part of the points, some are recorded in any case. */
#define ROOM_MIN 0.01

/* 1 / (1 - e^-m) */
static double inverse(double m)
{
	const double one = 0x1p40;

	return cp_poisson_weight((uint64_t)(m < SURE ? m * one : SURE * one), (uint64_t)one);
}

/* The time that CP_IO_SHARE / 2 points take at a sixteenth of the budget: 1.28 s at the default. */
uint64_t cp_io_sample_period(const struct cp_io_rates *r)
{
	return r->second / r->budget * (8 * CP_IO_SHARE);
}

void cp_io_sample_begin(struct cp_io_sampler *s, const uint64_t recent[CP_IO_SUMS], uint64_t now)
{
	*s = (struct cp_io_sampler){ .since = now };
	for (unsigned i = 0; i < CP_IO_SUMS; i++)
		s->before[i] = -(cp_load_relaxed(&recent[i]) / THREADS);
}

/* Forget the counts before the last period. Returns true if a period has passed. */
static bool forget_period(struct cp_io_sampler *s, const struct cp_io_rates *r,
			  const uint64_t sums[CP_IO_SUMS], uint64_t now)
{
	uint64_t period = cp_io_sample_period(r), periods;

	periods = now > s->since ? (now - s->since) / period : 0;
	for (unsigned i = 0; i < CP_IO_SUMS && periods; i++) {
		s->before[i] = periods == 1 ? s->mark[i] : sums[i];
		s->mark[i] = sums[i];
	}
	s->since += periods * period;
	return periods != 0;
}

/* Draw the next point of line I. */
static void draw_point(struct cp_io_sampler *s, struct cp_io_points *p, uint64_t *random,
		       const struct cp_io_rates *r, uint64_t sum, unsigned i)
{
	uint64_t interval = (sum - s->before[i]) / CP_IO_SHARE;

	if (i == CP_IO_TICKS && interval > 4 * r->second / r->budget)
		interval = 4 * r->second / r->budget;
	s->interval[i] = interval;
	p->next[i] = sum + (interval ? cp_poisson_draw(random, interval) : 1);
}

/* Return the weight of a call of measure M that has a point, or 0 if its points are left out. */
static uint64_t weigh_call(double m, double room, uint64_t *random)
{
	double weight = m < SURE ? inverse(m) : 1;

	if (room < 1) {
		double of_others = inverse(m * (room > ROOM_MIN ? room : ROOM_MIN));

		*random = cp_poisson_seed(*random, 0);
		weight = (double)(*random >> 11) * 0x1p-53 < weight / of_others ? of_others : 0;
	}
	return (uint64_t)(weight * (1u << CP_IO_WEIGHT_SHIFT) + 0.5);
}

uint64_t cp_io_sample_take(struct cp_io_sampler *s, struct cp_io_points *p, uint64_t *random,
			   const struct cp_io_rates *r, const uint64_t sums[CP_IO_SUMS],
			   const uint64_t call[CP_IO_SUMS], uint64_t now, double room)
{
	bool anew = forget_period(s, r, sums, now), point = false, sure = false;
	double m = 0;

	for (unsigned i = 0; i < CP_IO_SUMS; i++) {
		bool passed = sums[i] >= p->next[i];

		point |= passed && call[i];
		sure |= call[i] && !s->interval[i];
		if (s->interval[i])
			m += (double)call[i] / (double)s->interval[i];
		/* Distances are exponential, so a new draw changes no probability. */
		if (passed || anew)
			draw_point(s, p, random, r, sums[i], i);
	}
	p->time = s->since + cp_io_sample_period(r);
	return point ? weigh_call(sure ? SURE : m, room, random) : 0;
}
