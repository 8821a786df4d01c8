/* The arithmetic of sampling by bytes: a Poisson process over the bytes that a thread allocates.
 *
 * Every byte is a sampling point with probability 1/interval, independently; an allocation is
 * sampled when it holds one, with p = 1 - e^(-size/interval), and stands for 1/p like
 * it. Called inside malloc and free: no libm, which could set errno.
 */
#ifndef CP_POISSON_H
#define CP_POISSON_H

#include <stdint.h>

/* Objects are counted in 1/65536ths: a weight is seldom whole. */
#define CP_POISSON_ONE_SHIFT 16
#define CP_POISSON_ONE (UINT64_C(1) << CP_POISSON_ONE_SHIFT)

/* Bytes to the next sampling point, >= 1: exponential with mean INTERVAL >= 1. *STATE is
 * the thread's random state, not 0. */
uint64_t cp_poisson_draw(uint64_t *state, uint64_t interval);

/* How many allocations one sampled one of SIZE bytes stands for, >= 1. Relative error below 1e-12.
 */
double cp_poisson_weight(uint64_t size, uint64_t interval);

/* The same in CP_POISSON_ONE, and times SIZE in whole bytes. INTERVAL 1: every allocation is
 * taken, exactly. */
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

/* Natural logarithm of U in (0, 1]; for tests. */
double cp_poisson_log(double u);

/* A nonzero random state from a seed and a number. */
uint64_t cp_poisson_seed(uint64_t seed, uint64_t number);

#endif
