/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the files of lib/labels/signal/, by the file that implements them. */
#ifndef CP_LABELS_SIGNAL_LABELS_SIGNAL_H
#define CP_LABELS_SIGNAL_LABELS_SIGNAL_H

#include <stdint.h>

/* histogram.c
 *
 * Durations counted in log-linear buckets: 128 buckets per power of two, so any quantile is within
 * 0.4 % of its exact value (as in HdrHistogram, hdrhistogram.org).
 *
 * Counting is one relaxed addition, from any thread and context. A reader sees each count whole
 * while other threads count; the total may lag a little.
 */

#define CP_HISTOGRAM_BITS 7
/* Values up to 2^42 ns (73 minutes) have buckets of their own; longer ones share the last. */
#define CP_HISTOGRAM_MAX_BITS 42
#define CP_HISTOGRAM_BUCKETS ((CP_HISTOGRAM_MAX_BITS - CP_HISTOGRAM_BITS + 1) << CP_HISTOGRAM_BITS)

struct cp_histogram {
	uint64_t count, max, sum;
	uint64_t bucket[CP_HISTOGRAM_BUCKETS];
};

void cp_histogram_add(struct cp_histogram *h, uint64_t value);
/* Returns how many counted values are at most BOUND, within 0.4 % of BOUND. */
uint64_t cp_histogram_up_to(const struct cp_histogram *h, uint64_t bound);
/* Returns the value below or at which PER_MILLE thousandths of the counted values are: the middle
 * of its bucket, but no more than the largest value. Returns 0 if no value was counted. */
uint64_t cp_histogram_quantile(const struct cp_histogram *h, unsigned per_mille);

#endif
