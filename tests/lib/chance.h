/* SPDX-License-Identifier: BSD-3-Clause */
/* Random numbers that are the same in each run of a test. */
#ifndef CHANCE_H
#define CHANCE_H

#include <math.h>
#include <stdint.h>

/* xorshift64 */
static inline uint64_t draw_bits(void)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static inline uint64_t draw_below(uint64_t below)
{
	return draw_bits() % below;
}

/* Returns a number above 0, up to 1. */
static inline double draw(void)
{
	return (double)((draw_bits() >> 11) + 1) * 0x1p-53;
}

static inline double draw_normal(void)
{
	return sqrt(-2 * log(draw())) * cos(2 * M_PI * draw());
}

static inline double draw_exponential(double mean)
{
	return -mean * log(draw());
}

#endif
