/* SPDX-License-Identifier: BSD-3-Clause */
/* Mean, spread, and Welch's t-test for two means of samples with unequal variances. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "diff/diff.h"

#define STEPS 300
/* With many rows, the largest changes of which come first, two deviations would often be exceeded
 * by chance. */
#define DEVIATIONS 3

double ct_diff_test_mean(const double *values, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += values[i];
	return count ? sum / (double)count : 0;
}

static double variance(const double *values, size_t count)
{
	double mean = ct_diff_test_mean(values, count), sum = 0;

	if (count < 2)
		return 0;
	for (size_t i = 0; i < count; i++)
		sum += (values[i] - mean) * (values[i] - mean);
	return sum / (double)(count - 1);
}

double ct_diff_test_spread(const double *values, size_t count)
{
	return sqrt(variance(values, count));
}

/* Computes the continued fraction of the incomplete beta function, by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
	double c = 1, d = 1 - (a + b) * x / (a + 1), result;

	d = 1 / (fabs(d) < DBL_MIN ? DBL_MIN : d);
	result = d;
	for (int m = 1; m < STEPS; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double terms[2] = { even, odd }, delta = 1;

		for (int i = 0; i < 2; i++) {
			d = 1 + terms[i] * d;
			c = 1 + terms[i] / c;
			d = 1 / (fabs(d) < DBL_MIN ? DBL_MIN : d);
			c = fabs(c) < DBL_MIN ? DBL_MIN : c;
			delta = d * c;
			result *= delta;
		}
		if (fabs(delta - 1) < 1e-14)
			break;
	}
	return result;
}

/* The regularized incomplete beta function. */
static double beta(double a, double b, double x)
{
	double front;

	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	/* exp and log have newer symbol versions than glibc 2.28; those for long double don't. */
	front = (double)expl(lgamma(a + b) - lgamma(a) - lgamma(b) + a * logl(x) + b * log1pl(-x));
	/* The fraction converges fast only on this side of the mean. */
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/* Returns Welch's degrees of freedom for two means with the variances U and V. */
static double freedom_of(double u, size_t a_count, double v, size_t b_count)
{
	return (u + v) * (u + v) / (u * u / (double)(a_count - 1) + v * v / (double)(b_count - 1));
}

double ct_diff_test_welch(const double *a, size_t a_count, const double *b, size_t b_count)
{
	double u, v, difference, t_squared, freedom;

	if (a_count < 2 || b_count < 2)
		return NAN;
	u = variance(a, a_count) / (double)a_count;
	v = variance(b, b_count) / (double)b_count;
	difference = ct_diff_test_mean(b, b_count) - ct_diff_test_mean(a, a_count);
	if (u + v == 0)
		return difference == 0 ? 1 : 0;
	t_squared = difference * difference / (u + v);
	freedom = freedom_of(u, a_count, v, b_count);
	return beta(freedom / 2, 0.5, freedom / (freedom + t_squared));
}

/* Returns the difference at which T is the quantile of ALPHA: by halving, as p falls with it. */
double ct_diff_test_telling(const double *a, size_t a_count, const double *b, size_t b_count,
			    double alpha)
{
	double u, v, freedom, low = 0, high = 1;

	if (a_count < 2 || b_count < 2)
		return NAN;
	u = variance(a, a_count) / (double)a_count;
	v = variance(b, b_count) / (double)b_count;
	if (u + v == 0)
		return 0;
	freedom = freedom_of(u, a_count, v, b_count);
	while (high < 1e9 && beta(freedom / 2, 0.5, freedom / (freedom + high * high)) >= alpha)
		high *= 2;
	for (int i = 0; i < 50; i++) {
		double t = (low + high) / 2;

		if (beta(freedom / 2, 0.5, freedom / (freedom + t * t)) < alpha)
			high = t;
		else
			low = t;
	}
	return high * sqrt(u + v);
}

double ct_diff_test_sample(const struct ct_profile *p, size_t type)
{
	const char *name = ct_text(p, p->types[type].type), *unit = ct_text(p, p->types[type].unit);

	if (!strcmp(name, "samples") && !strcmp(unit, "count"))
		return 1;
	if (!strcmp(unit, "count") || strcmp(unit, ct_text(p, p->period_type.unit)) ||
	    p->period < 1)
		return NAN;
	return p->period == 1 ? 0 : (double)p->period;
}

/* Each sampled byte comes independently of the others: the variance of their number is that number.
 * If a sum of times is exact, only the shares of the functions vary. */
double ct_diff_test_variance(const struct ct_diff_file *file, double value)
{
	double share = file->by_time && file->total > 0 ? value / file->total : 0;

	return value * file->sample * (share < 1 ? 1 - share : 0);
}

double ct_diff_test_chance(const double variance[2])
{
	return DEVIATIONS * sqrt(variance[0] + variance[1]);
}

bool ct_diff_test_by_chance(const struct ct_diff_figure *f)
{
	return isnan(f->p) && f->mean[CT_AFTER] != f->mean[CT_BEFORE] &&
	       fabs(f->mean[CT_AFTER] - f->mean[CT_BEFORE]) <= f->chance;
}
