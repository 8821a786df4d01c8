/* Durations counted in log-linear buckets: 128 to each power of two, so that any quantile is within
 * 0.4 % of what it would be exactly (the way of HdrHistogram, which see at hdrhistogram.org).
 *
 * Counting is one relaxed addition, from any thread and context; reading while others count sees
 * each count whole, and a total that may be a little behind.
 */
#ifndef CP_HISTOGRAM_H
#define CP_HISTOGRAM_H

#include <stdint.h>

#define CP_HISTOGRAM_BITS 7
/* Values up to 2^42 ns (73 minutes) have buckets of their own; longer ones share the last. */
#define CP_HISTOGRAM_MAX_BITS 42
#define CP_HISTOGRAM_BUCKETS ((CP_HISTOGRAM_MAX_BITS - CP_HISTOGRAM_BITS + 1) << CP_HISTOGRAM_BITS)

struct cp_histogram {
	uint64_t count, max, sum;
	uint64_t bucket[CP_HISTOGRAM_BUCKETS];
};

void cp_histogram_add(struct cp_histogram *h, uint64_t value);
/* The value below or at which PER_MILLE thousandths of what was counted are: the middle of its
 * bucket, but no more than the largest value. 0 when nothing was counted. */
uint64_t cp_histogram_quantile(const struct cp_histogram *h, unsigned per_mille);

#endif
