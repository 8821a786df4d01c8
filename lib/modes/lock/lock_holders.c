/* SPDX-License-Identifier: BSD-3-Clause */
/* Who held locks while others waited: the control half of this companion of the lock mode, and the
 * contents and comments of its file. The event half is lib/modes/lock/signal/lock_holder.c. Waits
 * for a lock are what its holders have caused: lock.c adds them to the exact sums of cp_lock_held.
 */
#include <string.h>

#include "collect/collect.h"
#include "modes/lock/lock.h"
#include "modes/lock/signal/lock_signal.h"

#define L(x) ((unsigned long)(x))

/* What the holders have caused of locks whose unlocking thread is still taking its stack. The waits
 * are counted, so without this a settle would not know the holder, for good. */
#define OPEN_MOST 32
static struct {
	uint64_t lock, values[CP_VALUES];
} open_now[OPEN_MOST];
static unsigned open_count;

static int start_holders(struct cp_run *r, const struct cp_config *c)
{
	cp_lock_held.run = r;
	cp_lock_holder_forget();
	cp_strata_release(&cp_lock_held.strata);
	cp_lock_held.strata = cp_strata_new(0);
	cp_lock_held.strata.rest = CP_LOCATION_HOLDER_UNKNOWN;
	cp_lock_held.named = open_count = 0;
	cp_store_seqcst(&cp_lock_holders_on, 1);
	return 0;
}

static void stop_holders(struct cp_run *r)
{
	cp_store_seqcst(&cp_lock_holders_on, 0);
}

/* Add the waits that an unlock has caused, or those for which no unlock was found. */
static void add_held(struct cp_run *r, const struct cp_record *record, const struct cp_event *e)
{
	double own = cp_lock_holder_own(e->count), waits_of_it = cp_lock_holder_waits(e->count);
	const uint64_t self[CP_VALUES] = { (uint64_t)(waits_of_it * own),
					   (uint64_t)((double)e->weight * own) };
	const double share[CP_VALUES] = { waits_of_it - (double)self[0],
					  (double)(e->weight - self[1]) };
	uint32_t label = record->depth ? cp_drain_label_of(r, e->more) : CP_NO_THREAD;

	if (record->depth && label == CP_INDEX_NONE)
		cp_count_mode(r->mode, CP_COUNT_LOST_AGGREGATE, e->weight);
	else
		cp_lock_rows_add(r, record, label, CP_NO_THREAD, e->tag, self, share);
}

static void record_held(struct cp_run *r, struct cp_thread *t, const struct cp_record *record)
{
	const struct cp_event e = { .count = record->count,
				    .weight = record->weight,
				    .tag = record->tag,
				    .more = record->more };

	add_held(r, record, &e);
}

static void note_open(void)
{
	struct cp_event e;
	uint32_t next = 0;

	for (open_count = 0; open_count < OPEN_MOST && cp_lock_holder_look(&next, &e);
	     open_count++) {
		memset(&open_now[open_count], 0, sizeof(*open_now));
		open_now[open_count].lock = e.tag;
		open_now[open_count].values[0] = (uint64_t)(cp_lock_holder_waits(e.count) + 0.5);
		open_now[open_count].values[1] = e.weight;
	}
}

/* Collect the waits that were added to entries. */
static void collect_holders(struct cp_run *r)
{
	struct cp_holder *h;
	struct cp_event e;
	uint32_t next = 0;

	while ((h = cp_lock_holder_read(&next, &e))) {
		struct cp_record *record = cp_lock_holder_record(h);

		record->tag = e.tag;
		record->weight = e.weight;
		cp_modules_want(r->aggregate.modules);
		cp_count_mode(CPROF_LOCK_HOLDERS, CP_COUNT_SAMPLES, 1);
		add_held(r, record, &e);
		cp_lock_holder_give_back(h);
	}
	note_open();
}

/* T has ended: its unlocks keep their label although another thread will get its record. */
static void released_holder(struct cp_run *r, struct cp_thread *t)
{
	if (cp_lock_part_of(t)->holds && cp_drain_label(r, t) != CP_INDEX_NONE)
		cp_drain_name(r, t);
}

/* Waits are settled first, because their times are the times that the holders have caused. */
static void settle_holders(struct cp_run *r)
{
	uint64_t lost;

	if (cp_lock_waits.run && cp_lock_waits.run->running)
		cp_lock_waits.run->ops->settle(cp_lock_waits.run);
	for (unsigned i = 0; i < open_count; i++)
		cp_strata_withhold(&cp_lock_held.strata, CP_NO_THREAD, open_now[i].lock,
				   open_now[i].values);
	for (uint32_t i = 0; i < cp_thread_limit(); i++)
		cp_drain_name(r, cp_thread_at(i));
	lost = cp_strata_settle(&cp_lock_held.strata, &r->aggregate, NULL);
	for (unsigned i = 0; i < open_count; i++)
		cp_strata_exact(&cp_lock_held.strata, CP_NO_THREAD, open_now[i].lock,
				open_now[i].values);
	if (lost)
		cp_count_mode(CPROF_LOCK_HOLDERS, CP_COUNT_LOST_AGGREGATE, lost);
}

static void fork_child_holders(struct cp_run *r, struct cp_thread *keep)
{
	cp_lock_holder_fork_child();
	open_count = 0;
	cp_lock_held.strata = cp_strata_new(0);
	cp_lock_held.strata.rest = CP_LOCATION_HOLDER_UNKNOWN;
	if (!keep)
		cp_store_seqcst(&cp_lock_holders_on, 0);
}

/* Says how much less than the waits the rows sum to: what settle_holders has withheld. */
static void report_open(struct cp_comments *out)
{
	uint64_t count = 0, delay = 0;

	for (unsigned i = 0; i < open_count; i++) {
		count += open_now[i].values[0];
		delay += open_now[i].values[1];
	}
	if (count || delay)
		cp_comments_line(out,
				 "holders: %lu waits, %lu ns, come later: the threads that ended "
				 "them are taking their stacks",
				 L(count), L(delay));
}

static void report_holders(struct cp_comments *out, const struct cp_run *r,
			   const struct cp_config *c)
{
	report_open(out);
	cp_comments_line(
		out,
		"holders: %lu stacks of unlocks that somebody waited for; lost delay: %s s ring "
		"full, %s s no memory, %s s collector limit",
		L(cp_run_counted(r, CP_COUNT_SAMPLES)),
		cp_comments_seconds(cp_run_counted(r, CP_COUNT_LOST_RING)),
		cp_comments_seconds(cp_run_counted(r, CP_COUNT_LOST_MEMORY)),
		cp_comments_seconds(cp_run_counted(r, CP_COUNT_LOST_AGGREGATE)));
	/* The values of holders vary with the waits that they caused, and by themselves. */
	cp_comments_line(out, "calibrated: waits %lu, blocking %lu (variance of a value / value)",
			 L(cp_strata_unsure(&cp_lock_waits.strata, 0) +
			   cp_strata_unsure(&cp_lock_held.strata, 0)),
			 L(cp_strata_unsure(&cp_lock_waits.strata, 1) +
			   cp_strata_unsure(&cp_lock_held.strata, 1)));
	cp_comments_stacks_cost(out, r, "behind unlocks");
}

CP_THREAD_LABEL(cp_lock_holders_label);

/* Functions that release a lock; see drop_frames in output.h. */
#define RELEASES "pthread_(mutex|rwlock)_unlock|mtx_unlock|" CP_LOCK_OF_STD

/* The waits of the lock's file, seen from the other side. The type names differ from the lock
 * mode's: backends would otherwise add up both files and count each wait twice. */
const struct cp_mode_ops cp_mode_holders = {
	.name = "holders",
	.parent = CPROF_LOCK,
	.types = { { "waits", "count" }, { "blocking", "nanoseconds" } },
	.type_count = 2,
	.period_type = { "waits", "count" },
	.drop_frames = RELEASES,
	.labels = cp_lock_rows_labels,
	.report = report_holders,
	.start = start_holders,
	.stop = stop_holders,
	.collect = collect_holders,
	.drained = cp_lock_rows_name,
	.settle = settle_holders,
	.rows = cp_lock_rows_see,
	.record = record_held,
	.thread_released = released_holder,
	.thread_label = &cp_lock_holders_label,
	.fork_child = fork_child_holders,
};
