/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits for locks: the control half of the mode, and the contents and comments of its file. The
 * event half is lib/modes/lock/signal/lock_event.c; the interposed functions are in
 * lib/modes/lock/hooks/.
 */
#include "base/libc.h"
#include "base/start_data.h"
#include "base/sys.h"
#include "base/text.h"
#include "collect/collect.h"
#include "host/real.h"
#include "modes/lock/lock.h"
#include "modes/lock/signal/lock_signal.h"
#include "settings/config_rows.h"

#define L(x) ((unsigned long)(x))

/* Strata with fewer samples are settled together. */
#define FEW 8u
/* Stacks of unlocks that a thread takes per second, as a multiple of the budget: 10. */
#define STACK_US 100000u

/* The waits counted without a stack since the run began, by enum cp_lock_bulk, and those that are
 * in rows; ALL: the other waits. */
static struct cp_lock_sum in_run[CP_LOCK_BULKS] CP_START_DATA, in_rows[CP_LOCK_BULKS] CP_START_DATA,
	all CP_START_DATA;
/* The result of cp_lock_event_counted at the last look. */
static struct cp_lock_sum counted[CP_LOCK_BULKS] CP_START_DATA;

static void prepare_lock(const struct cp_config *c)
{
	cp_lock_state.register_thread = cp_threads_register_foreign;
	cp_real_prepare_clock();
}

static struct cp_lock_sum take_sum(const struct cp_lock_sum *from, struct cp_lock_sum *told)
{
	struct cp_lock_sum now = { cp_load_relaxed(&from->count), cp_load_relaxed(&from->delay) };
	struct cp_lock_sum since = { now.count - told->count, now.delay - told->delay };

	/* A fork's child looks at all records, and copies no page for those without waits. */
	if (since.count | since.delay)
		*told = now;
	return since;
}

static void add_sum(struct cp_lock_sum *to, struct cp_lock_sum what)
{
	to->count += what.count;
	to->delay += what.delay;
}

/* Return what T has waited for locks of KIND since the last call. */
static struct cp_lock_sum take_waits(const struct cp_thread *t, unsigned kind)
{
	struct cp_lock_part *part = cp_lock_part_of(t);
	const struct cp_lock_stratum *s = &part->kinds[kind];
	/* Acquire: the samples of what is counted are in the rings (cp_lock_sample_count). */
	struct cp_lock_sum now = { cp_load_acquire(&s->count), cp_load_acquire(&s->delay) };

	return take_sum(&now, &part->told[kind]);
}

/* Take out the waits until now, which belong to no run. */
static void begin_counts(void)
{
	memset(in_run, 0, sizeof(in_run));
	memset(in_rows, 0, sizeof(in_rows));
	memset(&all, 0, sizeof(all));
	for (unsigned i = 0; i < CP_LOCK_BULKS; i++)
		counted[i] = cp_lock_event_counted(i);
	for (uint32_t i = 0; i < cp_thread_limit(); i++) {
		const struct cp_thread *t = cp_thread_at(i);
		struct cp_lock_part *part = cp_lock_part_of(t);

		for (unsigned kind = 0; kind < CP_LOCK_KINDS; kind++)
			take_waits(t, kind);
		for (unsigned k = 0; k < 2; k++)
			take_sum(&part->short_waits[k], &part->told_short[k]);
	}
}

static void set_rates(const struct cp_lock_settings *s)
{
	struct cp_lock_rates rates = cp_lock_sample_rates(CP_LOCK_BUDGET);

	cp_store_relaxed(&cp_lock_state.threshold_ns, s->threshold_ns);
	cp_store_relaxed(&cp_lock_holder_pace, STACK_US / CP_LOCK_BUDGET);
	/* A wait that reads one of them before and one after has the weight of these two. */
	cp_lock_state.rates = rates;
}

static int start_lock(struct cp_run *r, const struct cp_config *c)
{
	const struct cp_lock_settings *s = cp_config_of(c, CPROF_LOCK);

	cp_lock_waits.run = r;
	begin_counts();
	cp_strata_release(&cp_lock_waits.strata);
	cp_lock_waits.strata = cp_strata_new(FEW);
	cp_lock_names_release(&cp_lock_names_of_mode);
	cp_lock_waits.named = 0;
	set_rates(s);
	cp_lock_event_know(CP_LOCK_UNKNOWN);
	/* Release: a thread that sees cp_lock_on set sees the rest. The hooks read it relaxed;
	 * their later accesses depend on it. */
	cp_store_seqcst(&cp_lock_on, 1);
	return 0;
}

/* Each wait gets its weight from the settings that were used to decide on it. */
static int set_lock(struct cp_run *r, const struct cp_config *c)
{
	const struct cp_lock_settings *s = cp_config_of(c, CPROF_LOCK);

	set_rates(s);
	cp_wakes_set(CP_WAKES_OF_LOCK, s->threshold_ns, CP_LOCK_BUDGET);
	return 0;
}

static void stop_lock(struct cp_run *r)
{
	cp_store_seqcst(&cp_lock_on, 0);
	cp_lock_event_know(0);
}

static uint64_t kind_tag(uint64_t tag)
{
	return cp_lock_tag(NULL, cp_lock_kind_of_tag(tag));
}

/* A sampled wait counts for itself, and for a share of those that aren't sampled. */
static void record_wait(struct cp_run *r, struct cp_thread *t, const struct cp_record *record)
{
	const uint64_t self[CP_VALUES] = { 1, record->weight };
	double weight, share[CP_VALUES] = { 0 };
	uint32_t label = cp_drain_label(r, t);

	memcpy(&weight, &record->count, sizeof(weight));
	share[0] = weight - 1;
	share[1] = (weight - 1) * (double)record->weight;
	if (label == CP_INDEX_NONE)
		cp_count_mode(r->mode, CP_COUNT_LOST_AGGREGATE, record->weight);
	else
		cp_lock_rows_add(r, record, label, label, kind_tag(record->tag), self, share);
}

/* Report T's waits since the last call. */
static void tell_waits(struct cp_run *r, struct cp_thread *t)
{
	struct cp_lock_part *part = cp_lock_part_of(t);

	for (unsigned kind = 0; kind < CP_LOCK_KINDS; kind++) {
		struct cp_lock_sum since = take_waits(t, kind);
		const uint64_t values[CP_VALUES] = { since.count, since.delay };

		if (!since.count)
			continue;
		add_sum(&all, since);
		cp_strata_exact(&cp_lock_waits.strata, cp_drain_label(r, t),
				cp_lock_tag(NULL, kind), values);
		cp_drain_name(r, t);
	}
	for (unsigned k = 0; k < 2; k++)
		add_sum(&in_run[CP_LOCK_SHORT + k],
			take_sum(&part->short_waits[k], &part->told_short[k]));
}

/* Put the waits counted without a stack, of KIND, into R's row LOCATION, which has no thread, so
 * that the totals include all waits. */
static void add_bulk(struct cp_run *r, struct cp_lock_sum what, uint32_t location)
{
	const struct cp_raw_stack nothing = { .location = location, .thread = CP_NO_THREAD };
	uint32_t number = cp_aggregate_row(&r->aggregate, &nothing);
	struct cp_stack *s;

	if (number == CP_INDEX_NONE)
		return;
	s = cp_aggregate_row_at(&r->aggregate, number);
	s->values[0] += what.count;
	s->values[1] += what.delay;
	r->aggregate.records++;
	r->aggregate.weight += what.delay;
}

/* The holders of waits without a stack are unknown, too. */
static void add_bulks(struct cp_run *r)
{
	for (unsigned i = 0; i < CP_LOCK_BULKS; i++) {
		struct cp_lock_sum now = cp_lock_event_counted(i), since;
		bool is_short = i < CP_LOCK_LOST, has_holder = i % 2;

		add_sum(&in_run[i], take_sum(&now, &counted[i]));
		since = take_sum(&in_run[i], &in_rows[i]);
		if (!since.count)
			continue;
		add_bulk(r, since, is_short ? CP_LOCATION_SHORT_WAITS : CP_LOCATION_LOST_WAITS);
		if (has_holder && cp_lock_held.run)
			add_bulk(cp_lock_held.run, since,
				 is_short ? CP_LOCATION_SHORT_WAITS : CP_LOCATION_HOLDER_UNKNOWN);
	}
}

/* Adds VALUES to a ROW of the waits. They are what the lock's holders have caused. */
static void add_waits(struct cp_stack *row, const uint64_t values[CP_VALUES])
{
	row->values[0] += values[0];
	row->values[1] += values[1];
	if (cp_lock_held.run && cp_lock_has_holder(cp_lock_kind_of_tag(row->tag)))
		cp_strata_exact(&cp_lock_held.strata, CP_NO_THREAD, cp_lock_of_tag(row->tag),
				values);
}

static void totals(struct cp_run *r)
{
	for (uint32_t i = 0; i < cp_thread_limit(); i++)
		tell_waits(r, cp_thread_at(i));
}

static void settle_lock(struct cp_run *r)
{
	uint64_t lost;

	add_bulks(r);
	lost = cp_strata_settle(&cp_lock_waits.strata, &r->aggregate, add_waits);
	if (lost)
		cp_count_mode(CPROF_LOCK, CP_COUNT_LOST_AGGREGATE, lost);
}

static void fork_child(struct cp_run *r, struct cp_thread *keep)
{
	if (!keep) {
		cp_store_seqcst(&cp_lock_on, 0);
		cp_lock_event_know(0);
	}
	begin_counts();
	cp_lock_waits.strata = cp_strata_new(FEW);
	cp_lock_names_of_mode = (struct cp_lock_names){ 0 };
	cp_lock_waits.named = cp_lock_held.named = 0;
}

/* The collector takes the waits of a thread that ends without a sample. */
static bool has_waits(struct cp_thread *t)
{
	const struct cp_lock_part *part = cp_lock_part_of(t);
	uint64_t count = part->short_waits[0].count + part->short_waits[1].count;

	for (unsigned kind = 0; kind < CP_LOCK_KINDS; kind++)
		count += part->kinds[kind].count;
	return count != 0;
}

/* Return the waits that weren't reported yet. */
static uint64_t untold(const struct cp_thread *t)
{
	const struct cp_lock_part *part = cp_lock_part_of(t);
	uint64_t sum = 0;

	for (unsigned kind = 0; kind < CP_LOCK_KINDS; kind++)
		sum += cp_load_relaxed(&part->kinds[kind].delay) - part->told[kind].delay;
	for (unsigned k = 0; k < 2; k++)
		sum += cp_load_relaxed(&part->short_waits[k].delay) - part->told_short[k].delay;
	return sum;
}

/* Sums of all waits, including those without a stack. */
static unsigned lock_numbers(const struct cp_run *r, struct cp_mode_number *to)
{
	uint64_t sum = all.delay;

	for (unsigned i = 0; i < CP_LOCK_BULKS; i++)
		sum += in_run[i].delay + cp_lock_event_counted(i).delay - counted[i].delay;
	for (uint32_t i = 0; i < cp_thread_limit(); i++)
		sum += untold(cp_thread_at(i));
	to[0] = (struct cp_mode_number){ "wait_ns", sum };
	return 1;
}

static void count_locks(const struct cp_run *r, struct cp_vec *to)
{
	if (cp_vec_extend(to, (size_t)2 * CP_LOCK_BULKS))
		memcpy(to->items, in_run, sizeof(in_run));
}

static void report_lock(struct cp_comments *out, const struct cp_run *r, const struct cp_config *c)
{
	const struct cp_lock_settings *s = cp_config_of(c, CPROF_LOCK);
	struct cp_lock_sum own[CP_LOCK_BULKS];

	for (unsigned k = 0; k < CP_LOCK_BULKS; k++)
		own[k] = (struct cp_lock_sum){ cp_comments_own(out, (size_t)2 * k),
					       cp_comments_own(out, (size_t)2 * k + 1) };
	add_sum(&own[CP_LOCK_SHORT], own[CP_LOCK_SHORT_HELD]);
	add_sum(&own[CP_LOCK_LOST], own[CP_LOCK_LOST_HELD]);
	cp_comments_line(out, "lock: threshold %lu ns", L(s->threshold_ns));
	cp_comments_line(
		out,
		"waits: %lu stacks taken; %lu waits of %s s in all were below the threshold, "
		"%lu of %s s have no stack",
		L(cp_run_counted(r, CP_COUNT_SAMPLES)), L(own[CP_LOCK_SHORT].count),
		cp_comments_seconds(own[CP_LOCK_SHORT].delay), L(own[CP_LOCK_LOST].count),
		cp_comments_seconds(own[CP_LOCK_LOST].delay));
	/* The certainty of rows, which the tool reads (tools/core/sampling.c). */
	cp_comments_line(out,
			 "calibrated: contentions %lu, delay %lu (variance of a value / value)",
			 L(cp_strata_unsure(&cp_lock_waits.strata, 0)),
			 L(cp_strata_unsure(&cp_lock_waits.strata, 1)));
	cp_comments_waits_lost(out, r);
	cp_comments_stacks_cost(out, r, "behind waits");
}

CP_THREAD_LABEL(cp_lock_label);

/* Functions that acquire a lock; see drop_frames in output.h. Waits for conditions, semaphores and
 * barriers keep their names: they may be for work, and not for a lock. */
#define ACQUIRES                                                                                   \
	"pthread_mutex_(timed|clock)?lock|pthread_rwlock_(timed|clock)?(rd|wr)lock|"               \
	"pthread_spin_lock|mtx_(timed)?lock|" CP_LOCK_OF_STD

const struct cp_mode_ops cp_mode_lock = {
	.name = "lock",
	.parent = CPROF_LOCK,
	.settings = &cp_lock_settings,
	.types = { { "contentions", "count" }, { "delay", "nanoseconds" } },
	.type_count = 2,
	.period_type = { "contentions", "count" },
	.drop_frames = ACQUIRES,
	.labels = cp_lock_rows_labels,
	.numbers = lock_numbers,
	.report = report_lock,
	.count = count_locks,
	.prepare = prepare_lock,
	.start = start_lock,
	.stop = stop_lock,
	.set = set_lock,
	.drained = cp_lock_rows_name,
	.totals = totals,
	.settle = settle_lock,
	.rows = cp_lock_rows_see,
	.record = record_wait,
	.thread_released = tell_waits,
	.thread_label = &cp_lock_label,
	.thread_end = cp_lock_event_thread_end,
	.keep = has_waits,
	.fork_child = fork_child,
};

/* Reads owners out of locks. */

struct cp_lock_owner cp_lock_owner_of_mutex(uint64_t lock)
{
	struct cp_lock_owner o = { 0, 0 };
	pthread_mutex_t m;

	if (cp_sys_peek(&m, lock, sizeof(m)) >= 0)
		o.tid = cp_mutex_copy_owner(&m);
	return o;
}

struct cp_lock_owner cp_lock_owner_of_rwlock(uint64_t lock)
{
	struct cp_lock_owner o = { 0, 0 };
	pthread_rwlock_t l;

	if (cp_sys_peek(&l, lock, sizeof(l)) >= 0)
		o.tid = cp_rwlock_copy_owner(&l, &o.readers);
	return o;
}

/* Resolves the originals of the lock mode's hooks. */

struct cp_lock_real cp_lock_real CP_START_DATA;

#define WANTED(minor, type, name, parameters)                                                      \
	{ .at = offsetof(struct cp_lock_real, name), .since = minor },
static const struct cp_real_wanted wanted[] = { CP_LOCK_REAL_FUNCTIONS(WANTED) };
#define NAME(minor, type, name, parameters) #name "\0"
static const char wanted_names[] = CP_LOCK_REAL_FUNCTIONS(NAME);

int cp_lock_real_resolve(void)
{
	return cp_real_find(&cp_lock_real, wanted, sizeof(wanted) / sizeof(*wanted), wanted_names);
}

#define CP_CONFIG_IN struct cp_lock_settings
CP_CONFIG_FITS(struct cp_lock_settings);

/* clang-format off */
static const struct cp_config_row rows[] = {
	DURATION("CPROF_LOCK_THRESHOLD", threshold_ns, "1us", 1, CP_CONFIG_SECOND * 3600,
		 "a duration as 1us or 5ms (1ns to 1h), or 0", OPTION(lock_threshold_ns), LIVE),
};
/* clang-format on */

const struct cp_config_mode cp_lock_settings = {
	.variable = "LOCKPROFILE",
	.path_option = offsetof(struct cprof_options, lock_path),
	.rows = rows,
	.count = sizeof(rows) / sizeof(*rows),
};
