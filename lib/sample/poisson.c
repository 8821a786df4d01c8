/* SPDX-License-Identifier: BSD-3-Clause */
/* Exponential intervals and weights; see sample.h. */
#include "sample/sample.h"

#include <string.h>

#define LN2 0.693147180559945309417
#define SQRT2 1.41421356237309504880

/* An allocation of more intervals than this is certainly sampled: e^-40 is below the rounding error
 * of 1. */
#define SURE 40.0

uint64_t cp_poisson_seed(uint64_t seed, uint64_t number)
{
	/* The finalizer of splitmix64. */
	uint64_t z = seed + (number + 1) * UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	z ^= z >> 31;
	return z ? z : 1;
}

/* xorshift64*: the high bits are of good quality. */
static uint64_t next_random(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * UINT64_C(0x2545f4914f6cdd1d);
}

/* ln(m * 2^e) = e ln 2 + 2 artanh((m - 1) / (m + 1)), with m around 1 so that the series
 * is short: |f| <= 0.172, the first term left out is below 1e-13. */
double cp_poisson_log(double u)
{
	uint64_t bits;
	int exponent;
	double m, f, s, sum = 0;

	memcpy(&bits, &u, sizeof(bits));
	exponent = (int)(bits >> 52 & 0x7ff) - 1023;
	bits = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1023) << 52;
	memcpy(&m, &bits, sizeof(m));
	if (m > SQRT2) {
		m /= 2;
		exponent++;
	}
	f = (m - 1) / (m + 1);
	s = f * f;
	/* When the loop is unrolled, the compiler does the divisions. */
#pragma GCC unroll 8
	for (int k = 15; k >= 1; k -= 2)
		sum = sum * s + 1.0 / k;
	return exponent * LN2 + 2 * f * sum;
}

uint64_t cp_poisson_draw(uint64_t *state, uint64_t interval)
{
	/* In (0, 1], because the logarithm of 0 doesn't exist. */
	double u = (double)((next_random(state) >> 11) + 1) * 0x1p-53;
	double bytes = -cp_poisson_log(u) * (double)interval;

	/* Rounded up: a point within the N-th byte is reached with N bytes. */
	return bytes < 0x1p62 ? (uint64_t)bytes + 1 : UINT64_C(1) << 62;
}

/* 1 - e^-x for 0 < x <= SURE: halved until the series is short, then doubled back by
 * e^-2y - 1 = (e^-y - 1)(e^-y + 1), which loses nothing for small x. */
static double sampled_share(double x)
{
	double e = 0;
	int halvings = 0;

	while (x > 0.125) {
		x /= 2;
		halvings++;
	}
#pragma GCC unroll 9
	for (int k = 9; k >= 1; k--)
		e = (e + 1) * (-x * (1.0 / k));
	while (halvings-- > 0)
		e *= 2 + e;
	return -e;
}

double cp_poisson_weight(uint64_t size, uint64_t interval)
{
	double x = (double)(size ? size : 1) / (double)interval;

	return interval <= 1 || x >= SURE ? 1 : 1 / sampled_share(x);
}

void cp_poisson_estimate(uint64_t size, uint64_t interval, uint64_t *objects, uint64_t *bytes)
{
	double w = cp_poisson_weight(size, interval);

	*objects = (uint64_t)(w * CP_POISSON_ONE + 0.5);
	/* Computed from the rounded number, so that the mean size of objects is exact. */
	*bytes = (uint64_t)(((__uint128_t)*objects * size + CP_POISSON_ONE / 2) >>
			    CP_POISSON_ONE_SHIFT);
}
