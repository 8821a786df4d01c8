/* SPDX-License-Identifier: BSD-3-Clause */
/* clang-format off */
/* Calibration: makes the rows of a stratum sum to its exact total.
 *
 * A mode that samples events, and also counts all of them, divides its events into strata, for
 * example by thread, operation and kind. A stratum is named by a thread's label and a tag. Every row
 * belongs to one stratum. The mode tells what its samples are and what the strata's exact totals are;
 * a settle adds both to the rows of the aggregate, so that for each value
 *
 *     sum over the rows of a stratum = exact total of the stratum
 *
 * at that moment, in whole numbers. Rows only grow, so a window is the difference of two settles.
 *
 * A sample counts for itself (SELF: surely there), and has a SHARE of what was not sampled: a sample
 * that was taken with probability p has v and v (1/p - 1) of each value v. The expected sum of SHARE
 * is what was not sampled; a settle corrects it to what the exact total is above the sum of SELF. The
 * samples that make the sum uncertain bear the correction, in proportion to v^2 (1/p - 1) 1/p, their
 * part in its variance. So a stratum whose events are all sampled is exact in every row, events that
 * were sampled for sure are never scaled, and a small value of one row doesn't follow the chance of
 * a large one of another. If no sample has a share, or the samples sum to more than the total (an
 * event may be counted in one settle and sampled in the next), the total is distributed in proportion
 * to SELF. A sampler that knows no single events (a clock) tells SHARE alone.
 *
 * A correction by few samples is biased. A stratum with fewer than FEW samples and more events than
 * samples is therefore settled together with all such strata of the same tag, whatever their thread:
 * these rows sum to these strata's common total. What no sample stands for goes to a row of the
 * stratum's thread and tag with the location [not sampled].
 *
 * Fractions are rounded as a running sum over the rows, from a random start. So the sum is exact, and
 * each row's expected value is its true share, in however many settles.
 *
 * | call                      | when                                                            |
 * |---------------------------|-----------------------------------------------------------------|
 * | cp_strata_sampled, _exact | in a drain                                                      |
 * | cp_strata_settle          | before anything reads rows: mode_ops.settle                     |
 * | cp_strata_release         | a run begins                                                    |
 * | *st = cp_strata_new(few)  | in a fork child: what the parent had may be half changed        |
 *
 * Strata and pending rows live from one settle to the next. Rows and threads are renumbered after a
 * settle only (shrink.c). All under the collector's lock.
 */
/* clang-format on */
#ifndef CP_STRATA_H
#define CP_STRATA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/index.h"
#include "base/vec.h"
#include "profile/aggregate.h"

struct cp_strata {
	struct cp_vec strata; /* struct stratum */
	struct cp_vec rows;   /* struct pending, by row number */
	struct cp_index index;
	uint64_t random; /* numbers of the random starts */
	unsigned few;	 /* strata with fewer samples are settled together; 0 = none */
	uint32_t rest;	 /* location of what no sample stands for; 0 = [not sampled] */
	/* Since the begin: the sum of the rows' variances, and the exact totals. */
	double variance[CP_VALUES], total[CP_VALUES];
};

/* Called for each row that a settle changes: adds VALUES to it. */
typedef void cp_strata_add(struct cp_stack *row, const uint64_t values[CP_VALUES]);

/* An empty set of strata. */
static inline struct cp_strata cp_strata_new(unsigned few)
{
	return (struct cp_strata){ .few = few };
}
/* Adds a sample of row ROW in the stratum of THREAD (a label of the aggregate) and TAG. Returns
 * false without memory: the sample is lost, and its part goes to others. */
bool cp_strata_sampled(struct cp_strata *st, uint32_t row, uint32_t thread, uint64_t tag,
		       const uint64_t self[CP_VALUES], const double share[CP_VALUES]);
/* Adds VALUES to the exact total of the stratum. Only what is new: a mode keeps what it has told.
 * So threads that end hand over what is left, and a later thread in the same place begins with 0.
 * Returns false without memory: nothing was added. */
bool cp_strata_exact(struct cp_strata *st, uint32_t thread, uint64_t tag,
		     const uint64_t values[CP_VALUES]);
/* Adds all that was told since the last settle to A's rows. ADD: how; NULL = value by value.
 * Returns how much of values[1] is lost because no row could be made for it. */
uint64_t cp_strata_settle(struct cp_strata *st, struct cp_aggregate *a, cp_strata_add *add);
/* Returns how sure rows are in VALUE: the variance of a row is about this, times its value. 0 =
 * rows are exact. */
static inline double cp_strata_unsure(const struct cp_strata *st, unsigned value)
{
	return st->total[value] > 0 ? st->variance[value] / st->total[value] : 0;
}
/* Forgets everything, and gives the memory back. */
void cp_strata_release(struct cp_strata *st);

#endif
