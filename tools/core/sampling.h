/* SPDX-License-Identifier: BSD-3-Clause */
/* How far the values of a sampled heap profile may be from the truth.
 *
 * A block of S bytes is sampled with the probability p = 1 - e^(-S/interval), and a sampled block
 * counts for 1/p blocks. So a sum over blocks has a known variance, and an unbiased estimate of
 * that variance comes from the samples themselves: the sum of (1/p - 1)/p * S^2, which is bytes * S
 * * (1/p - 1) for a row of blocks of S bytes.
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
/* Writes "±12%": how far, in 95 of 100 cases, VALUE may be from the truth if it has that VARIANCE.
 * Writes "" without variance. Returns TO, which has SIZE bytes. */
char *ct_sampling_format(char *to, size_t size, double value, double variance);

#endif
