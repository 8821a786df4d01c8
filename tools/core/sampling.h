/* SPDX-License-Identifier: BSD-3-Clause */
/* How far the values of a sampled profile may be from the truth.
 *
 * In a heap profile a block of S bytes is sampled with the probability p = 1 - e^(-S/interval), and
 * a sampled block counts for 1/p blocks. So a sum over blocks has a known variance, and an unbiased
 * estimate of that variance comes from the samples themselves: the sum of (1/p - 1)/p * S^2, which
 * is bytes * S
 * * (1/p - 1) for a row of blocks of S bytes.
 *
 * In a profile whose rows are scaled to exact totals (I/O, locks) the comment "calibrated:" has,
 * for each type, what the variance of a value is, divided by the value. In a profile whose first
 * type is samples, each comes by itself: a share of S of N has a relative variance of (1 - S) / (S
 * * N).
 */
#ifndef CT_SAMPLING_H
#define CT_SAMPLING_H

#include <stdbool.h>
#include <stddef.h>

#include "core/model.h"

/* 95 of 100 values are within this many standard deviations. */
#define CT_SAMPLING_95 1.96

/* Does the type at index SPACE hold the bytes of sampled blocks, after a type with their number? */
bool ct_sampling_is_sampled(const struct ct_profile *p, size_t space);
/* Returns the mean size of the blocks of sample I: what the label "bytes" says, because a block
 * that was sampled stands for several, seldom a whole number, and the count is rounded. 0: no
 * blocks. */
double ct_sampling_size(const struct ct_profile *p, size_t i, size_t space);
/* Returns the variance of sample I's bytes, in bytes squared. Call only if is_sampled is true. */
double ct_sampling_variance(const struct ct_profile *p, size_t i, size_t space);
/* Returns below which value, of the type at index TYPE, values are ±50 % and more in 5 of 100
 * cases. 0: not known, or values are exact. P's values must not be differences. */
double ct_sampling_unsure(const struct ct_profile *p, size_t type);
/* Are P's rows scaled to exact totals? */
bool ct_sampling_is_calibrated(const struct ct_profile *p);
/* Writes "±12%": how far, in 95 of 100 cases, VALUE may be from the truth if it has that VARIANCE.
 * Writes "" without variance. Returns TO, which has SIZE bytes. */
char *ct_sampling_format(char *to, size_t size, double value, double variance);

#endif
