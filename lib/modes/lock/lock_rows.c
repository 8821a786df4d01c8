/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of the lock mode and of its holders: samples, names of locks, labels; see lock.h. */
#include "base/start_data.h"
#include "base/text.h"
#include "collect/collect.h"
#include "modes/lock/lock.h"
#include "modes/lock/signal/lock_signal.h"

struct cp_lock_rows cp_lock_waits CP_START_DATA, cp_lock_held CP_START_DATA;

static struct cp_lock_rows *rows_of(const struct cp_run *r)
{
	return r->mode == CPROF_LOCK ? &cp_lock_waits : &cp_lock_held;
}

/* Returns how long before an unlock its waits began: their mean, but a single wait may have been
 * divided. */
static uint64_t caused_ns(const uint64_t *self, const double *share)
{
	double mean = ((double)self[1] + share[1]) / ((double)self[0] + share[0] + 0x1p-16);

	return mean < (double)self[1] ? (uint64_t)mean : self[1];
}

void cp_lock_rows_add(struct cp_run *r, const struct cp_record *record, uint32_t label,
		      uint32_t stratum, uint64_t tag, const uint64_t *self, const double *share)
{
	const struct cp_raw_stack stack = { .pcs = record->pcs,
					    .depth = record->depth,
					    .location = CP_LOCATION_HOLDER_UNKNOWN,
					    .end = record->end,
					    .thread = label,
					    .labels = record->labels,
					    .tag = record->tag };
	uint32_t row = cp_aggregate_row(&r->aggregate, &stack);
	struct cp_stack *s = row == CP_INDEX_NONE ? NULL : cp_aggregate_row_at(&r->aggregate, row);
	double events = (double)self[0] + share[0];
	struct cp_time_event e = { .duration_ns = record->weight,
				   .weight = self[1] + (uint64_t)share[1],
				   .thread = label,
				   .count = events < 1 ? 1 : (uint32_t)(events + 0.5) };

	if (!s || !cp_strata_sampled(&rows_of(r)->strata, row, stratum, tag, self, share)) {
		cp_count_mode(r->mode, CP_COUNT_LOST_AGGREGATE, record->weight);
		return;
	}
	r->aggregate.records++;
	e.row = row;
	if (r->mode == CPROF_LOCK_HOLDERS) {
		e.duration_ns = caused_ns(self, share);
		if (label != CP_NO_THREAD)
			cp_drain_event(r, record, e);
		return;
	}
	if (record->weight > s->values[CP_VALUE_LONGEST])
		s->values[CP_VALUE_LONGEST] = record->weight;
	cp_drain_wait(r, record, e);
}

void cp_lock_rows_name(struct cp_run *r)
{
	struct cp_lock_rows *rows = rows_of(r);

	cp_lock_names_update(&cp_lock_names_of_mode, &r->aggregate, rows->named);
	rows->named = r->aggregate.stacks.count;
}

/* The next drain looks at the locks of all rows. */
void cp_lock_rows_see(struct cp_run *r, void (*see)(uint32_t *row, void *arg), void *arg)
{
	rows_of(r)->named = 0;
	cp_strata_rows(&rows_of(r)->strata, see, arg);
}

/* In a window the longest wait of a row is known if it is longer than all before the window. */
static bool knows_longest(const struct cp_run *r, const struct cp_stack *s)
{
	const struct cp_aggregate *a = &r->rows->aggregate;
	uint32_t row = (uint32_t)(s - CP_VEC_AT(&a->stacks, struct cp_stack, 0));

	return cp_aggregate_since(a, row, CP_VALUE_LONGEST, cp_consumers_base(r)) != 0;
}

/* Waits that no sample represents have no lock. A thread has one row for these per kind. */
static void label_kind(const struct cp_stack *s, struct cp_encode_labels *to)
{
	static const char *const names[CP_LOCK_KINDS] = {
		[CP_LOCK_MUTEX] = "mutex",   [CP_LOCK_RWLOCK] = "rwlock",
		[CP_LOCK_SPIN] = "spinlock", [CP_LOCK_COND] = "condition",
		[CP_LOCK_SEM] = "semaphore", [CP_LOCK_BARRIER] = "barrier",
		[CP_LOCK_FUTEX] = "futex",
	};

	if (s->locations[0] == CP_LOCATION_NOT_SAMPLED)
		to->labels[to->count++] =
			(struct cp_pprof_label){ .key = "kind",
						 .text = names[cp_lock_kind_of_tag(s->tag)] };
}

void cp_lock_rows_labels(const struct cp_run *r, const struct cp_stack *s,
			 struct cp_encode_labels *to)
{
	uint64_t lock = cp_lock_of_tag(s->tag);
	const char *name = lock ? cp_lock_names_of(&cp_lock_names_of_mode, lock) : NULL;

	if (!lock) {
		label_kind(s, to);
		return;
	}
	if (!name) {
		cp_text_format(to->text, sizeof(to->text), "0x%lx", (unsigned long)lock);
		name = to->text;
	}
	to->labels[to->count++] = (struct cp_pprof_label){ .key = "lock", .text = name };
	if (knows_longest(r, s))
		to->labels[to->count++] =
			(struct cp_pprof_label){ .key = "longest",
						 .number = (int64_t)s->values[CP_VALUE_LONGEST],
						 .unit = "nanoseconds" };
}
