/* SPDX-License-Identifier: BSD-3-Clause */
/* The order in which a profile's samples are written.
 *
 * The writer calls this under the collector's lock. Stacks that share outer frames are written next
 * to each other. The shared part is then near enough for gzip to find, which makes a file of many
 * stacks a third as big, in a third of the time. Stacks that become one sample, because their
 * threads can't be told apart, are also next to each other.
 */
#ifndef CP_ROWS_H
#define CP_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "profile/aggregate.h"

struct cp_row {
	uint64_t key; /* equal for stacks that may become one sample, rarely equal for others */
	uint32_t stack;
	uint32_t thread; /* canonical, or CP_NO_THREAD */
};

struct cp_rows {
	struct cp_row *items; /* by rising key, equal keys in the order of their stacks; owned */
	size_t count;
};

/* Make one row per stack of A whose first VALUES values have changed since BASE
 * (cp_aggregate_since; NULL: of all stacks). CANONICAL maps each thread to the thread that
 * represents it. Returns 0 or -ENOMEM. */
int cp_rows_order(struct cp_rows *rows, const struct cp_aggregate *a, const uint32_t *canonical,
		  const struct cp_vec *base, unsigned values);
void cp_rows_release(struct cp_rows *rows);

#endif
