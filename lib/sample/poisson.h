/* SPDX-License-Identifier: BSD-3-Clause */
/* The arithmetic of sampling by bytes: a Poisson process over the bytes that a thread allocates.
 *
 * Every byte is a sampling point with probability 1/interval, independently. An allocation is
 * sampled if it contains a sampling point, with p = 1 - e^(-size/interval); a sampled allocation
 * represents 1/p allocations of its size. Called inside malloc and free, so libm isn't used,
 * because it could set errno.
 */
#ifndef CP_POISSON_H
#define CP_POISSON_H

#include <stdint.h>

/* Objects are counted in 1/65536ths: a weight is seldom whole. */
#define CP_POISSON_ONE_SHIFT 16
#define CP_POISSON_ONE (UINT64_C(1) << CP_POISSON_ONE_SHIFT)

/* Returns the bytes to the next sampling point, >= 1: exponential with mean INTERVAL >= 1. *STATE
 * is the thread's random state and must not be 0. */
uint64_t cp_poisson_draw(uint64_t *state, uint64_t interval);

/* Returns how many allocations of SIZE bytes one sampled allocation represents, >= 1. Relative
 * error below 1e-12. */
double cp_poisson_weight(uint64_t size, uint64_t interval);

/* Sets *OBJECTS to the same number in units of 1/CP_POISSON_ONE, and *BYTES to the number times
 * SIZE, in whole bytes. With INTERVAL 1 every allocation is sampled, and the values are exact. */
void cp_poisson_estimate(uint64_t size, uint64_t interval, uint64_t *objects, uint64_t *bytes);
static inline void cp_poisson_stands_for(uint64_t size, uint64_t interval, uint64_t *objects,
					 uint64_t *bytes)
{
	if (interval > 1) {
		cp_poisson_estimate(size, interval, objects, bytes);
		return;
	}
	*objects = CP_POISSON_ONE;
	*bytes = size;
}

/* Returns the natural logarithm of U in (0, 1]; for tests. */
double cp_poisson_log(double u);

/* Returns a nonzero random state made from a seed and a number. */
uint64_t cp_poisson_seed(uint64_t seed, uint64_t number);

#endif
