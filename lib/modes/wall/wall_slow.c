/* SPDX-License-Identifier: BSD-3-Clause */
/* Wall samples of slow spans: when a span turns out to have been slow, its samples move to rows
 * that say so (labels slow=1 and span_ms). Until the span ends, they are among the others. Those
 * that a dump or a window has shown before that stay there.
 *
 * Under the collector's lock.
 */
#include "modes/wall/wall.h"

#include <string.h>

#include "sample/thread.h"
#include "base/base.h"
#include "labels/signal/labels_signal.h"

/* Limit of noted samples of spans that haven't ended; further ones are never moved. */
#define NOTES_MAX 65536u
/* The notes are checked when there are twice as many as were left the last time. */
#define NOTES_MIN 256u

struct note {
	uint32_t span, row;
	uint64_t ns;
};

static struct cp_vec notes = { .size = sizeof(struct note) };
static size_t look_at = NOTES_MIN;

/* Return SET with slow=1 added to its labels. */
static uint32_t with_slow(uint32_t set)
{
	static const char slow[] = "slow\0001";
	static char text[8192]; /* a set has at most 3 KiB */
	size_t size, at = 0;
	const char *old = cp_labelset_text(set, &size);

	/* Insert before the first key that sorts after it. */
	while (at < size && strcmp(old + at, slow) < 0) {
		at += strlen(old + at) + 1;
		at += strlen(old + at) + 1;
	}
	memcpy(text, old, at);
	memcpy(text + at, slow, sizeof(slow));
	memcpy(text + at + sizeof(slow), old + at, size - at);
	return cp_labelset_add(text, size + sizeof(slow));
}

static void move(struct cp_run *r, const struct note *n, uint32_t ms)
{
	const struct cp_stack *from = cp_aggregate_row_at(&r->aggregate, n->row);
	uint32_t set = with_slow(from->labels), row = CP_INDEX_NONE;

	if (set != CP_LABELSET_LOST)
		row = cp_aggregate_relabel(&r->aggregate, n->row, set,
					   CP_WALL_ROW_SLOW(from->tag, ms));
	if (row == CP_INDEX_NONE) {
		cp_count_mode(CPROF_WALL, CP_COUNT_LOST_SLOW, 1);
		return;
	}
	cp_wall_strata_move(r, n->row, row, n->ns);
}

void cp_wall_slow_settle(struct cp_run *r, bool last)
{
	size_t left = 0;

	for (size_t i = 0; i < notes.count; i++) {
		struct note *n = CP_VEC_AT(&notes, struct note, i);
		uint32_t ms = 0;

		switch (cp_slow_spans_look(n->span, &ms)) {
		case CP_SLOW_SPANS_OPEN:
			if (!last)
				*CP_VEC_AT(&notes, struct note, left++) = *n;
			break;
		case CP_SLOW_SPANS_YES: move(r, n, ms); break;
		case CP_SLOW_SPANS_NO: break;
		}
	}
	notes.count = left;
	look_at = left > NOTES_MIN / 2 ? 2 * left : NOTES_MIN;
}

void cp_wall_slow_note(struct cp_run *r, uint32_t span, uint32_t row, uint64_t ns)
{
	struct note *n;

	if (notes.count >= look_at)
		cp_wall_slow_settle(r, false);
	n = notes.count < NOTES_MAX ? cp_vec_add(&notes) : NULL;
	if (!n) {
		cp_count_mode(CPROF_WALL, CP_COUNT_LOST_SLOW, 1);
		return;
	}
	*n = (struct note){ .span = span, .row = row, .ns = ns };
}

void cp_wall_slow_forget(void)
{
	notes.count = 0;
	look_at = NOTES_MIN;
}

void cp_wall_slow_abandon(void)
{
	/* Abandoned, not freed: the parent may have been moving them. */
	notes = (struct cp_vec){ .size = sizeof(struct note) };
	look_at = NOTES_MIN;
}
