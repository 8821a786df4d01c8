/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits for locks, and who held them: the control half of the two modes, and the contents and
 * comments of their files. The event half is lib/modes/lock/signal/lock_event.c; the interposed
 * functions are in lib/modes/lock/hooks/.
 */
#include <string.h>
#include <time.h>

#include "collect/drain.h"
#include "collect/threads.h"
#include "host/real.h"
#include "modes/lock/lock_names.h"
#include "modes/lock/lock_settings.h"
#include "output/encode.h"
#include "output/comments.h"
#include "output/consumers.h"
#include "output/mode_ops.h"
#include "base/atomic.h"
#include "modes/lock/signal/lock_event.h"
#include "modes/lock/signal/lock_holder.h"
#include "base/sys.h"
#include "base/text.h"
#include "sample/wakes.h"

#define L(x) ((unsigned long)(x))

/* The part of the waits counted without a stack that is already in rows or precedes the run. */
static struct cp_lock_sample taken[CP_LOCK_BULKS];
/* The part that came since the run began, for the report. */
static struct cp_lock_sample in_run[CP_LOCK_BULKS];

/* Number of rows whose locks were named; rows are only added. */
static size_t named[CP_MODES];

static void prepare(const struct cp_config *c)
{
	(void)c;
	cp_lock_state.register_thread = cp_threads_register_foreign;
	cp_real_prepare_clock();
}

static void begin_counts(void)
{
	for (unsigned k = 0; k < CP_LOCK_BULKS; k++) {
		taken[k] = cp_lock_event_counted(k);
		in_run[k] = (struct cp_lock_sample){ 0, 0 };
	}
}

static int start(struct cp_run *r, const struct cp_config *c)
{
	const struct cp_lock_settings *s = cp_config_of(c, CPROF_LOCK);

	(void)r;
	begin_counts();
	cp_lock_names_release(&cp_lock_names_of_mode);
	named[CPROF_LOCK] = 0;
	cp_lock_state.threshold_ns = s->threshold_ns;
	cp_lock_state.stratum_ns = cp_lock_stratum(s->budget);
	cp_lock_event_know(CP_LOCK_UNKNOWN);
	/* Release: a thread that sees cp_lock_on set sees the rest. The hooks read it relaxed;
	 * their later accesses depend on it. */
	cp_store_seqcst(&cp_lock_on, 1);
	return 0;
}

/* Each wait and unlock is weighted by the settings that it is decided with. */
static int set(struct cp_run *r, const struct cp_config *c)
{
	const struct cp_lock_settings *s = cp_config_of(c, CPROF_LOCK);

	(void)r;
	cp_store_relaxed(&cp_lock_state.threshold_ns, s->threshold_ns);
	cp_store_relaxed(&cp_lock_state.stratum_ns, cp_lock_stratum(s->budget));
	cp_wakes_set(CP_WAKES_OF_LOCK, s->threshold_ns, s->budget);
	return 0;
}

static void stop(struct cp_run *r)
{
	(void)r;
	cp_store_seqcst(&cp_lock_on, 0);
	cp_lock_event_know(0);
}

/* Put the waits counted without a stack into a row without a thread, so that the totals include all
 * waits. */
static void take_count(struct cp_run *r, enum cp_lock_bulk kind, uint32_t location)
{
	const struct cp_raw_stack nothing = { .location = location, .thread = CP_NO_THREAD };
	struct cp_lock_sample now = cp_lock_event_counted(kind);
	uint64_t waits = now.count - taken[kind].count, delay = now.delay - taken[kind].delay;
	uint32_t number = waits ? cp_aggregate_row(&r->aggregate, &nothing) : CP_INDEX_NONE;
	struct cp_stack *s;

	if (number == CP_INDEX_NONE)
		return;
	s = cp_aggregate_row_at(&r->aggregate, number);
	s->values[0] += waits;
	s->values[1] += delay;
	r->aggregate.records++;
	r->aggregate.weight += delay;
	in_run[kind].count += waits;
	in_run[kind].delay += delay;
	taken[kind] = now;
}

static void collect(struct cp_run *r)
{
	take_count(r, CP_LOCK_SHORT, CP_LOCATION_SHORT_WAITS);
	take_count(r, CP_LOCK_LOST, CP_LOCATION_LOST_WAITS);
}

static void drained(struct cp_run *r)
{
	cp_lock_names_update(&cp_lock_names_of_mode, &r->aggregate, named[r->mode]);
	named[r->mode] = r->aggregate.stacks.count;
}

/* Rows get new numbers: the next drain looks at the locks of all rows. */
static void rows(struct cp_run *r, void (*see)(uint32_t *row, void *arg), void *arg)
{
	(void)see;
	(void)arg;
	named[r->mode] = 0;
}

/* In a window the longest wait of a row is known if it is longer than all before the window. */
static bool knows_longest(const struct cp_run *r, const struct cp_stack *s)
{
	const struct cp_aggregate *a = &r->rows->aggregate;
	uint32_t row = (uint32_t)(s - CP_VEC_AT(&a->stacks, struct cp_stack, 0));

	return cp_aggregate_since(a, row, CP_VALUE_LONGEST, cp_consumers_base(r)) != 0;
}

static void labels(const struct cp_run *r, const struct cp_stack *s, struct cp_encode_labels *to)
{
	const char *name = s->tag ? cp_lock_names_of(&cp_lock_names_of_mode, s->tag) : NULL;

	if (!s->tag)
		return;
	if (!name) {
		cp_text_format(to->text, sizeof(to->text), "0x%lx", L(s->tag));
		name = to->text;
	}
	to->labels[to->count++] = (struct cp_pprof_label){ .key = "lock", .text = name };
	if (knows_longest(r, s))
		to->labels[to->count++] =
			(struct cp_pprof_label){ .key = "longest",
						 .number = (int64_t)s->values[CP_VALUE_LONGEST],
						 .unit = "nanoseconds" };
}

static uint64_t period(const struct cp_run *r)
{
	(void)r;
	return 1;
}

static void fork_child(struct cp_run *r, struct cp_thread *keep)
{
	(void)r;
	if (!keep) {
		cp_store_seqcst(&cp_lock_on, 0);
		cp_lock_event_know(0);
	} else {
		/* Drop a wait of the parent. */
		keep->later.state = CP_LOCK_POSTPONED_NONE;
	}
	begin_counts();
	cp_lock_names_of_mode = (struct cp_lock_names){ 0 };
	named[CPROF_LOCK] = named[CPROF_LOCK_HOLDERS] = 0;
}

/* Each stack is timed; stacks are as rare as the budget demands. */
/* Waits with a stack, those below the threshold, and those whose stack was not taken. */
static unsigned numbers(const struct cp_run *r, struct cp_mode_number *to)
{
	to[0] = (struct cp_mode_number){ "wait_ns", cp_run_counted(r, CP_COUNT_EXPIRIES) +
							    in_run[CP_LOCK_SHORT].delay +
							    in_run[CP_LOCK_LOST].delay };
	return 1;
}

static void count(const struct cp_run *r, struct cp_vec *to)
{
	(void)r;
	if (cp_vec_extend(to, (size_t)2 * CP_LOCK_BULKS))
		memcpy(to->items, in_run, sizeof(in_run));
}

static void report(struct cp_comments *out, const struct cp_run *r, const struct cp_config *c)
{
	const struct cp_lock_settings *s = cp_config_of(c, CPROF_LOCK);
	struct cp_lock_sample own[CP_LOCK_BULKS];

	for (unsigned k = 0; k < CP_LOCK_BULKS; k++)
		own[k] =
			(struct cp_lock_sample){ .count = cp_comments_own(out, (size_t)2 * k),
						 .delay = cp_comments_own(out, (size_t)2 * k + 1) };
	cp_comments_line(out, "lock: threshold %lu ns, budget %u stacks a second and thread",
			 L(s->threshold_ns), s->budget);
	cp_comments_line(
		out,
		"waits: %lu stacks taken; %lu waits of %s s in all were below the threshold, "
		"%lu of %s s have no stack",
		L(cp_run_counted(r, CP_COUNT_SAMPLES)), L(own[CP_LOCK_SHORT].count),
		cp_comments_seconds(own[CP_LOCK_SHORT].delay), L(own[CP_LOCK_LOST].count),
		cp_comments_seconds(own[CP_LOCK_LOST].delay));
	cp_comments_waits_lost(out, r);
	cp_comments_stacks_cost(out, r, "behind waits");
}

static int start_holders(struct cp_run *r, const struct cp_config *c)
{
	(void)r;
	(void)c;
	cp_lock_holder_forget();
	cp_lock_state.since = cp_sys_clock_ns(CLOCK_MONOTONIC);
	named[CPROF_LOCK_HOLDERS] = 0;
	cp_store_seqcst(&cp_lock_holders_on, 1);
	return 0;
}

static void stop_holders(struct cp_run *r)
{
	(void)r;
	cp_store_seqcst(&cp_lock_holders_on, 0);
}

static uint32_t label_of(struct cp_run *r, const struct cp_holder *h)
{
	uint32_t thread = cp_load_acquire(&h->thread);
	struct cp_thread *t = cp_thread_at(thread);

	if (thread == CP_HOLDER_ENDED)
		return cp_aggregate_shared_thread(&r->aggregate, h->name);
	return t ? cp_drain_label(r, t) : CP_INDEX_NONE;
}

/* Collect the delays that are not yet in the holders' rows. */
static void collect_holders(struct cp_run *r)
{
	struct cp_holder *h;
	uint32_t next = 0;

	while ((h = cp_lock_holder_read(&next, UINT32_MAX))) {
		uint32_t label = label_of(r, h);

		cp_modules_want(r->aggregate.modules);
		if (h->record->depth && (label == CP_INDEX_NONE ||
					 cp_aggregate_add(&r->aggregate, h->record, label) < 0))
			cp_count_mode(CPROF_LOCK_HOLDERS, CP_COUNT_LOST_AGGREGATE,
				      h->record->weight);
		cp_lock_holder_give_back(h);
	}
}

static void fork_child_holders(struct cp_run *r, struct cp_thread *keep)
{
	(void)r;
	cp_lock_holder_fork_child();
	if (!keep)
		cp_store_seqcst(&cp_lock_holders_on, 0);
}

static void report_holders(struct cp_comments *out, const struct cp_run *r,
			   const struct cp_config *c)
{
	(void)c;
	cp_comments_line(
		out,
		"holders: %lu stacks of unlocks that somebody waited for; lost delay: %s s ring "
		"full, %s s no memory, %s s collector limit",
		L(cp_run_counted(r, CP_COUNT_SAMPLES)),
		cp_comments_seconds(cp_run_counted(r, CP_COUNT_LOST_RING)),
		cp_comments_seconds(cp_run_counted(r, CP_COUNT_LOST_MEMORY)),
		cp_comments_seconds(cp_run_counted(r, CP_COUNT_LOST_AGGREGATE)));
	cp_comments_stacks_cost(out, r, "behind unlocks");
}

CP_THREAD_LABEL(cp_lock_label);
CP_THREAD_LABEL(cp_lock_holders_label);

/* Functions that acquire a lock, and that release one; see drop_frames in mode_ops.h. Waits for
 * conditions, semaphores and barriers keep their names: they may be for work, and not for a lock.
 */
#define ACQUIRES                                                                                   \
	"pthread_mutex_(timed|clock)?lock|pthread_rwlock_(timed|clock)?(rd|wr)lock|"               \
	"pthread_spin_lock|mtx_(timed)?lock"
#define RELEASES "pthread_(mutex|rwlock)_unlock|mtx_unlock"

const struct cp_mode_ops cp_mode_lock = {
	.name = "lock",
	.parent = CPROF_LOCK,
	.settings = &cp_lock_settings,
	.types = { { "contentions", "count" }, { "delay", "nanoseconds" } },
	.type_count = 2,
	.period_type = { "contentions", "count" },
	.drop_frames = ACQUIRES,
	.period = period,
	.labels = labels,
	.numbers = numbers,
	.report = report,
	.count = count,
	.prepare = prepare,
	.start = start,
	.stop = stop,
	.set = set,
	.collect = collect,
	.drained = drained,
	.rows = rows,
	.thread_label = &cp_lock_label,
	.thread_end = cp_lock_event_thread_end,
	.fork_child = fork_child,
};

/* The waits of the lock's file, seen from the other side. The type names differ from the lock
 * mode's: backends would otherwise add up both files and count each wait twice. */
const struct cp_mode_ops cp_mode_holders = {
	.name = "holders",
	.parent = CPROF_LOCK,
	.types = { { "waits", "count" }, { "blocking", "nanoseconds" } },
	.type_count = 2,
	.period_type = { "waits", "count" },
	.drop_frames = RELEASES,
	.period = period,
	.labels = labels,
	.report = report_holders,
	.start = start_holders,
	.stop = stop_holders,
	.collect = collect_holders,
	.drained = drained,
	.rows = rows,
	.thread_label = &cp_lock_holders_label,
	.fork_child = fork_child_holders,
};
