/* Waits for locks, and who held them: the two modes' control half, and what their files hold and
 * say. What happens at a lock is lib/sigsafe/lock_event.c's; the interposed functions are in
 * preload/.
 */
#include <time.h>

#include "drain.h"
#include "lock_names.h"
#include "mode.h"
#include "sigsafe/atomic.h"
#include "sigsafe/lock_event.h"
#include "sigsafe/lock_holder.h"
#include "sigsafe/sys.h"
#include "sigsafe/text.h"

#define L(x) ((unsigned long)(x))

/* Of what is only counted, so much is in the run's rows. */
static struct cp_lock_sample taken[CP_LOCK_BULKS];
/* And so much of it came since the run began, for the report. */
static struct cp_lock_sample in_run[CP_LOCK_BULKS];

/* Rows whose locks were named; rows only come in addition. */
static size_t named[CP_MODES];

static void begin_counts(void)
{
	for (unsigned k = 0; k < CP_LOCK_BULKS; k++) {
		taken[k] = cp_lock_counted(k);
		in_run[k] = (struct cp_lock_sample){ 0, 0 };
	}
}

static int start(struct cp_run *r, const struct cp_config *c)
{
	(void)r;
	if (!cp_lock_clock.read)
		cp_lock_clock.read = clock_gettime;
	begin_counts();
	cp_lock_names_release();
	named[CP_MODE_LOCK] = 0;
	cp_lock_state.threshold_ns = c->lock_threshold_ns;
	cp_lock_state.stratum_ns = cp_lock_stratum(c->lock_budget);
	cp_lock_know(CP_LOCK_UNKNOWN);
	/* Release: who sees it on sees the rest; read relaxed by the hooks, whose accesses
	 * depend on it. */
	cp_store_seqcst(&cp_lock_on, 1);
	return 0;
}

static void stop(struct cp_run *r)
{
	(void)r;
	cp_store_seqcst(&cp_lock_on, 0);
	cp_lock_know(0);
}

/* Waits that were only counted are a row without a thread, so that the totals are those of all. */
static void take_count(struct cp_run *r, enum cp_lock_bulk kind, uint32_t location)
{
	const struct cp_raw_stack nothing = { .location = location, .thread = CP_NO_THREAD };
	struct cp_lock_sample now = cp_lock_counted(kind);
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
	cp_lock_names_update(&r->aggregate, named[r->mode]);
	named[r->mode] = r->aggregate.stacks.count;
}

static void labels(const struct cp_run *r, const struct cp_stack *s, struct cp_profile_labels *to)
{
	const char *name = s->tag ? cp_lock_names_of(s->tag) : NULL;

	(void)r;
	if (!s->tag)
		return;
	if (!name) {
		cp_format(to->text, sizeof(to->text), "0x%lx", L(s->tag));
		name = to->text;
	}
	to->labels[to->count++] = (struct cp_pprof_label){ .key = "lock", .text = name };
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
		cp_lock_know(0);
	} else {
		/* A wait of the parent's. */
		keep->later.state = CP_LOCK_LATER_NONE;
	}
	begin_counts();
	cp_lock_names_abandon();
	named[CP_MODE_LOCK] = named[CP_MODE_HOLDERS] = 0;
}

/* Each stack is timed: they are as rare as the budget says. */
static void report_cost(struct cp_report *out, const struct cp_run *r, const char *where)
{
	cp_report_line(
		out, "cost: about %s ms for stacks %s",
		cp_report_seconds(cp_run_hooks_ns(r, cp_run_counted(r, CP_COUNT_TIMED)) * 1000),
		where);
}

static void report(struct cp_report *out, const struct cp_run *r, const struct cp_config *c)
{
	cp_report_line(out, "lock: threshold %lu ns, budget %u stacks a second and thread",
		       L(c->lock_threshold_ns), c->lock_budget);
	cp_report_line(
		out,
		"waits: %lu stacks taken; %lu waits of %s s in all were below the threshold, "
		"%lu of %s s have no stack",
		L(cp_run_counted(r, CP_COUNT_SAMPLES)), L(in_run[CP_LOCK_SHORT].count),
		cp_report_seconds(in_run[CP_LOCK_SHORT].delay), L(in_run[CP_LOCK_LOST].count),
		cp_report_seconds(in_run[CP_LOCK_LOST].delay));
	cp_report_line(
		out,
		"stacks lost: %s s of delay ring full, %s s no memory, %s s collector limit; %lu "
		"waits in paused threads",
		cp_report_seconds(cp_run_counted(r, CP_COUNT_LOST_RING)),
		cp_report_seconds(cp_run_counted(r, CP_COUNT_LOST_MEMORY)),
		cp_report_seconds(cp_run_counted(r, CP_COUNT_LOST_AGGREGATE)),
		L(cp_run_counted(r, CP_COUNT_LOST_PAUSED)));
	report_cost(out, r, "behind waits");
}

static int start_holders(struct cp_run *r, const struct cp_config *c)
{
	(void)r;
	(void)c;
	cp_holder_forget();
	cp_lock_state.since = cp_sys_clock_ns(CLOCK_MONOTONIC);
	named[CP_MODE_HOLDERS] = 0;
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

/* Delays that their holders have not heard of yet. */
static void collect_holders(struct cp_run *r)
{
	struct cp_holder *h;
	uint32_t next = 0;

	while ((h = cp_holder_read(&next, UINT32_MAX))) {
		uint32_t label = label_of(r, h);

		if (h->record->depth && (label == CP_INDEX_NONE ||
					 cp_aggregate_add(&r->aggregate, h->record, label) < 0))
			cp_count_mode(CP_MODE_HOLDERS, CP_COUNT_LOST_AGGREGATE, h->record->weight);
		cp_holder_give_back(h);
	}
}

static void fork_child_holders(struct cp_run *r, struct cp_thread *keep)
{
	(void)r;
	cp_holder_fork_child();
	if (!keep)
		cp_store_seqcst(&cp_lock_holders_on, 0);
}

static void report_holders(struct cp_report *out, const struct cp_run *r, const struct cp_config *c)
{
	(void)c;
	cp_report_line(
		out,
		"holders: %lu stacks of unlocks that somebody waited for; lost delay: %s s ring "
		"full, %s s no memory, %s s collector limit",
		L(cp_run_counted(r, CP_COUNT_SAMPLES)),
		cp_report_seconds(cp_run_counted(r, CP_COUNT_LOST_RING)),
		cp_report_seconds(cp_run_counted(r, CP_COUNT_LOST_MEMORY)),
		cp_report_seconds(cp_run_counted(r, CP_COUNT_LOST_AGGREGATE)));
	report_cost(out, r, "behind unlocks");
}

#define TYPES                                                                                      \
	{                                                                                          \
		{ "contentions", "count" },                                                        \
		{                                                                                  \
			"delay", "nanoseconds"                                                     \
		}                                                                                  \
	}

const struct cp_mode_ops cp_mode_lock = {
	.name = "lock",
	.parent = CP_MODE_LOCK,
	.types = TYPES,
	.type_count = 2,
	.period_type = { "contentions", "count" },
	.period = period,
	.labels = labels,
	.report = report,
	.start = start,
	.stop = stop,
	.collect = collect,
	.drained = drained,
	.thread_end = cp_lock_thread_end,
	.fork_child = fork_child,
};

const struct cp_mode_ops cp_mode_holders = {
	.name = "holders",
	.parent = CP_MODE_LOCK,
	.types = TYPES,
	.type_count = 2,
	.period_type = { "contentions", "count" },
	.period = period,
	.labels = labels,
	.report = report_holders,
	.start = start_holders,
	.stop = stop_holders,
	.collect = collect_holders,
	.drained = drained,
	.fork_child = fork_child_holders,
};
