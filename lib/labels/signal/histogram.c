/* SPDX-License-Identifier: BSD-3-Clause */
/* Log-linear histogram; see labels_signal.h. */
#include "labels/signal/labels_signal.h"

#include "base/atomic.h"

#define SUB (UINT64_C(1) << CP_HISTOGRAM_BITS)

/* Below SUB, each value has its own bucket. Above, the SUB values with the same highest bit share
 * as many buckets of width 2^shift. */
static unsigned bucket_of(uint64_t value)
{
	unsigned shift;

	if (value < SUB)
		return (unsigned)value;
	shift = 63u - (unsigned)__builtin_clzll(value) - CP_HISTOGRAM_BITS;
	if (shift >= CP_HISTOGRAM_MAX_BITS - CP_HISTOGRAM_BITS)
		return CP_HISTOGRAM_BUCKETS - 1;
	return (unsigned)(((uint64_t)shift + 1) * SUB + (value >> shift) - SUB);
}

static uint64_t middle_of(unsigned bucket)
{
	unsigned shift;

	if (bucket < SUB)
		return bucket;
	shift = bucket / SUB - 1;
	return ((SUB + bucket % SUB) << shift) + ((UINT64_C(1) << shift) >> 1);
}

void cp_histogram_add(struct cp_histogram *h, uint64_t value)
{
	uint64_t max = cp_load_relaxed(&h->max);

	cp_add_relaxed(&h->bucket[bucket_of(value)], 1);
	cp_add_relaxed(&h->count, 1);
	cp_add_relaxed(&h->sum, value);
	while (value > max && !cp_cas_acqrel(&h->max, &max, value))
		;
}

uint64_t cp_histogram_up_to(const struct cp_histogram *h, uint64_t bound)
{
	unsigned last = bucket_of(bound);
	uint64_t n = 0;

	for (unsigned i = 0; i <= last; i++)
		n += cp_load_relaxed(&h->bucket[i]);
	return n;
}

uint64_t cp_histogram_quantile(const struct cp_histogram *h, unsigned per_mille)
{
	uint64_t count = cp_load_relaxed(&h->count), max = cp_load_relaxed(&h->max), below = 0;
	uint64_t rank = count / 1000 * per_mille + (count % 1000 * per_mille + 999) / 1000;

	for (unsigned i = 0; i < CP_HISTOGRAM_BUCKETS && count; i++) {
		below += cp_load_relaxed(&h->bucket[i]);
		if (below >= rank && below)
			return middle_of(i) < max ? middle_of(i) : max;
	}
	return max;
}
