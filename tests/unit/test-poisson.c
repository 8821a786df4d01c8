/* SPDX-License-Identifier: BSD-3-Clause */
/* Sampling by bytes: weights and intervals against libm, and against chance. */
#include "harness.h"

#include <math.h>

#include "sample/sample.h"

static double relative(double got, double want)
{
	return fabs(got - want) / fabs(want);
}

TEST(test_poisson_log_is_libms)
{
	double worst = 0;

	for (double u = 0x1p-53; u <= 1; u = u * 1.0009 + 0x1p-60) {
		double want = log(u), error = fabs(cp_poisson_log(u) - want);

		worst = fmax(worst, fabs(want) > 1 ? error / fabs(want) : error);
	}
	CHECK(worst < 1e-12);
	CHECK(cp_poisson_log(1) == 0);
}

TEST(test_poisson_weight_is_one_over_the_probability)
{
	double worst = 0;

	for (uint64_t size = 1; size < UINT64_C(1) << 34; size += 1 + size / 7)
		for (uint64_t interval = 2; interval <= UINT64_C(1) << 30; interval *= 3)
			worst = fmax(worst, relative(cp_poisson_weight(size, interval),
						     -1 / expm1(-(double)size / (double)interval)));
	CHECK(worst < 1e-12);
	/* An empty block is as likely as one of a byte. */
	CHECK(cp_poisson_weight(0, 1000) == cp_poisson_weight(1, 1000));
}

TEST(test_poisson_exact_mode_is_exact)
{
	uint64_t objects, bytes;

	for (uint64_t size = 0; size < UINT64_C(1) << 40; size = size * 5 + 1) {
		cp_poisson_stands_for(size, 1, &objects, &bytes);
		CHECK_EQ(objects, CP_POISSON_ONE);
		CHECK_EQ(bytes, size);
	}
}

/* A run of allocations of SIZE: the sum of the weights, over the true number. */
static double estimate(uint64_t *state, uint64_t size, uint64_t interval, uint64_t n)
{
	uint64_t left = cp_poisson_draw(state, interval), objects = 0, o, b;

	for (uint64_t i = 0; i < n; i++) {
		if (size < left) {
			left -= size;
			continue;
		}
		left = cp_poisson_draw(state, interval);
		cp_poisson_stands_for(size, interval, &o, &b);
		objects += o;
	}
	return (double)objects / CP_POISSON_ONE / (double)n;
}

TEST(test_poisson_estimates_have_no_bias)
{
	static const uint64_t sizes[] = { 1, 16, 100, 4096, 70000, 1 << 20 };
	uint64_t state = cp_poisson_seed(42, 1), interval = 4096;

	for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
		uint64_t n = s < 3 ? 20000000 / sizes[s] * 2 : 20000;
		double p = -expm1(-(double)sizes[s] / (double)interval);
		double sigma = sqrt((1 - p) / p / (double)n);

		/* Seeded: it is the same every time. 4 sigma, and the fraction's rounding. */
		CHECK(fabs(estimate(&state, sizes[s], interval, n) - 1) < 4 * sigma + 1e-5);
	}
}

TEST(test_poisson_intervals_have_the_mean)
{
	uint64_t state = cp_poisson_seed(7, 7);
	double sum = 0;

	for (int i = 0; i < 1000000; i++) {
		uint64_t x = cp_poisson_draw(&state, 512 << 10);

		CHECK(x >= 1);
		sum += (double)x;
	}
	CHECK(relative(sum / 1e6, 512 << 10) < 0.004);
}

TEST(test_poisson_seeds_differ)
{
	CHECK(cp_poisson_seed(1, 1) != cp_poisson_seed(1, 2));
	CHECK(cp_poisson_seed(1, 1) != cp_poisson_seed(2, 1));
	CHECK(cp_poisson_seed(0, (uint64_t)-1) != 0);
}
