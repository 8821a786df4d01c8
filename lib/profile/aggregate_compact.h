/* SPDX-License-Identifier: BSD-3-Clause */
/* Gives up rows of an aggregate that nobody asks for any more, and the labels of threads without
 * rows. So a run whose windows are taken needs memory for one window, however long it lasts.
 *
 * Under the collector's lock:
 *
 *     cp_aggregate_compact_begin(&c, a);
 *     cp_aggregate_compact_keep(&c, row);	... for each row that stays
 *     cp_aggregate_compact_apply(&c, a);
 *     cp_aggregate_compact_row(&c, row);	... the new number of each row that is kept
 * elsewhere cp_aggregate_compact_release(&c);
 */
#ifndef CP_AGGREGATE_COMPACT_H
#define CP_AGGREGATE_COMPACT_H

#include "profile/aggregate.h"

struct cp_compaction {
	struct cp_vec rows, threads; /* uint32_t: the new number + 1; 0 = the row or thread goes */
};

/* Returns 0 or -ENOMEM. */
int cp_aggregate_compact_begin(struct cp_compaction *c, const struct cp_aggregate *a);
/* A row that doesn't exist is passed over. */
void cp_aggregate_compact_keep(struct cp_compaction *c, uint32_t row);
/* Returns 0; or -ENOMEM, and nothing is changed. The rows stay in their order. */
int cp_aggregate_compact_apply(struct cp_compaction *c, struct cp_aggregate *a);
/* Return the new number, or CP_INDEX_NONE for what hasn't stayed. */
uint32_t cp_aggregate_compact_row(const struct cp_compaction *c, uint32_t row);
uint32_t cp_aggregate_compact_thread(const struct cp_compaction *c, uint32_t thread);
void cp_aggregate_compact_release(struct cp_compaction *c);

#endif
