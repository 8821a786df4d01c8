/* The order in which a profile's samples are written.
 *
 * Called by the writer under the collector's lock. Stacks that have their outer frames in common
 * stand together: what they share is then near enough for gzip to find, which makes a file of many
 * stacks a third as big and takes a third of the time. Stacks that become one sample, since their
 * threads can't be told apart, stand together, too.
 */
#ifndef CP_ROWS_H
#define CP_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "aggregate.h"

struct cp_row {
	uint64_t key; /* equal for stacks that may become one sample, hardly ever for others */
	uint32_t stack;
	uint32_t thread; /* canonical, or CP_NO_THREAD */
};

struct cp_rows {
	struct cp_row *items; /* by rising key, equal ones in the order of their stacks; owned */
	size_t count;
};

/* A row for each stack of A. CANONICAL: the thread that stands for each. 0, or -ENOMEM. */
int cp_rows_order(struct cp_rows *rows, const struct cp_aggregate *a, const uint32_t *canonical);
void cp_rows_release(struct cp_rows *rows);

#endif
