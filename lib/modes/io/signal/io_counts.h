/* SPDX-License-Identifier: BSD-3-Clause */
/* Exact counts of calls, by thread, op and kind, with a histogram of their delay.
 *
 * Each thread has a block of its own, which it finds by the number of its record. So a count is one
 * instruction without the lock prefix, atomic against the thread's own handlers. A block stays with
 * the number: later threads with the same number add to the same block. The collector keeps in the
 * block what it has told of it (io_rows.c), so each thread's part is known. Threads without a
 * record share one block, and count atomically.
 *
 * Blocks are mapped and never given back while the mode may be on. Any thread may read them.
 */
#ifndef CP_IO_COUNTS_H
#define CP_IO_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "modes/io/signal/io_kind.h"
#include "modes/io/signal/io_sample.h"

/* Log-linear buckets: 16 per power of two, so each value is within 3.2 % of its bucket's middle. */
#define CP_IO_BUCKET_BITS 4
#define CP_IO_BUCKETS ((44 - CP_IO_BUCKET_BITS + 1) << CP_IO_BUCKET_BITS)

/* What a cell has from its first call on; the sampler is the thread's, with signals blocked. */
struct cp_io_delays {
	uint64_t bucket[CP_IO_BUCKETS];
	struct cp_io_sampler sampler;
};

/* Two lines of the cache. Times are in ticks of the mode's clock. */
struct cp_io_cell {
	uint64_t sums[CP_IO_SUMS];
	uint64_t longest;
	struct cp_io_delays *delays; /* NULL until the first call, or without memory */
	uint64_t reserved[2];
	struct cp_io_points points;
} __attribute__((aligned(64)));

struct cp_io_block {
	struct cp_io_cell cell[CP_IO_OPS][CP_IO_KINDS];
	/* The part of the sums that was told; the collector's. */
	uint64_t told[CP_IO_OPS][CP_IO_KINDS][CP_IO_SUMS];
	uint32_t kinds[CP_IO_OPS]; /* bits: which cells of an op have calls */
	/* The rest of the mapping is handed out to histograms. */
	uint64_t used; /* bytes of the mapping */
};

/* Make room for the table of blocks. Returns 0 or -ENOMEM. Ordinary context. */
int cp_io_counts_prepare(void);
/* Return the block of the thread with record number INDEX, made if it is the first call; NULL
 * without memory. Any context. */
struct cp_io_block *cp_io_counts_block(uint32_t index);
/* Return the block of the thread with record number INDEX; NULL if it has made no call. */
struct cp_io_block *cp_io_counts_existing(uint32_t index);
/* The block of threads without a record. */
extern struct cp_io_block cp_io_counts_others;
/* What all threads have counted in the recent past, as the collector knows it. */
extern uint64_t cp_io_counts_recent[CP_IO_OPS][CP_IO_KINDS][CP_IO_SUMS];
/* Note that BLOCK's cell (OP, KIND) has a call. Returns its histogram, made if it is the first
 * call; NULL without memory. Called by the block's thread; any context. */
struct cp_io_delays *cp_io_counts_begin(struct cp_io_block *block, unsigned op, unsigned kind);

static inline unsigned cp_io_counts_bucket(uint64_t ticks)
{
	/* Below 16 ticks the shift is 0, and each number has a bucket of its own. */
	unsigned shift = (63u ^ (unsigned)__builtin_clzll(ticks | 1u << CP_IO_BUCKET_BITS)) -
			 CP_IO_BUCKET_BITS;

	if (__builtin_expect(shift >= 44 - CP_IO_BUCKET_BITS, 0))
		return CP_IO_BUCKETS - 1;
	return (shift << CP_IO_BUCKET_BITS) + (unsigned)(ticks >> shift);
}

/* Sum of the cell (OP, KIND) over all threads; DELAYS, if not NULL, gets the sum of histograms, and
 * must be zeroed. */
struct cp_io_cell cp_io_counts_sum(unsigned op, unsigned kind, struct cp_io_delays *delays);
/* The value below or at which PER_MILLE thousandths of D's values are, in ticks: the middle of its
 * bucket. */
uint64_t cp_io_counts_quantile(const struct cp_io_delays *d, unsigned per_mille);
/* Set all counts to 0. While the mode is off. */
void cp_io_counts_forget(void);
/* In a fork child: give up the blocks. KEPT: the place where the only thread left keeps its block;
 * NULL: there is no such thread. */
void cp_io_counts_fork_child(struct cp_io_block **kept);

#endif
