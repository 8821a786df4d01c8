/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits for locks, and who held them: the control half of the two modes, and the contents and
 * comments of their files. The event half is lib/modes/lock/signal/lock_event.c; the interposed
 * functions are in lib/modes/lock/hooks/.
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

/* The samples that aren't in rows yet. Waits: strata by thread and kind of lock. Holders: strata by
 * lock; the waits for a lock are what its holders have caused. */
static struct cp_strata waits, held;

/* What the holders have caused of locks whose unlocking thread is still taking its stack. The waits
 * are counted, so without this a settle would not know the holder, for good. */
#define OPEN_MOST 32
static struct {
	uint64_t lock, values[CP_VALUES];
} open_now[OPEN_MOST];
static unsigned open_count;

/* The runs of the two modes; NULL: not started. */
static struct cp_run *waits_run, *held_run;

/* The waits counted without a stack since the run began, by enum cp_lock_bulk, and those that are
 * in rows; ALL: the other waits. */
static struct cp_lock_sum in_run[CP_LOCK_BULKS], in_rows[CP_LOCK_BULKS], all;
/* The result of cp_lock_event_counted at the last look. */
static struct cp_lock_sum counted[CP_LOCK_BULKS];

/* Number of rows whose locks were named; rows are only added. */
static size_t named[CP_MODES];

static void prepare_lock(const struct cp_config *c)
{
	cp_lock_state.register_thread = cp_threads_register_foreign;
	cp_real_prepare_clock();
}

static struct cp_lock_sum take_sum(const struct cp_lock_sum *from, struct cp_lock_sum *told)
{
	struct cp_lock_sum now = { cp_load_relaxed(&from->count), cp_load_relaxed(&from->delay) };
	struct cp_lock_sum since = { now.count - told->count, now.delay - told->delay };

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

	waits_run = r;
	begin_counts();
	cp_strata_release(&waits);
	waits = cp_strata_new(FEW);
	cp_lock_names_release(&cp_lock_names_of_mode);
	named[CPROF_LOCK] = 0;
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

/* Returns how long before an unlock its waits began: their mean, but a single wait may have been
 * divided. */
static uint64_t caused_ns(const uint64_t *self, const double *share)
{
	double mean = ((double)self[1] + share[1]) / ((double)self[0] + share[0] + 0x1p-16);

	return mean < (double)self[1] ? (uint64_t)mean : self[1];
}

/* Adds a sample to R: RECORD of the thread LABEL, in the stratum STRATUM and TAG of ST. */
static void add_sample(struct cp_run *r, struct cp_strata *st, const struct cp_record *record,
		       uint32_t label, uint32_t stratum, uint64_t tag, const uint64_t *self,
		       const double *share)
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

	if (!s || !cp_strata_sampled(st, row, stratum, tag, self, share)) {
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
		add_sample(r, &waits, record, label, label, kind_tag(record->tag), self, share);
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
		cp_strata_exact(&waits, cp_drain_label(r, t), cp_lock_tag(NULL, kind), values);
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
		if (has_holder && held_run)
			add_bulk(held_run, since,
				 is_short ? CP_LOCATION_SHORT_WAITS : CP_LOCATION_HOLDER_UNKNOWN);
	}
}

/* Adds VALUES to a ROW of the waits. They are what the lock's holders have caused. */
static void add_waits(struct cp_stack *row, const uint64_t values[CP_VALUES])
{
	row->values[0] += values[0];
	row->values[1] += values[1];
	if (held_run && cp_lock_has_holder(cp_lock_kind_of_tag(row->tag)))
		cp_strata_exact(&held, CP_NO_THREAD, cp_lock_of_tag(row->tag), values);
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
	lost = cp_strata_settle(&waits, &r->aggregate, add_waits);
	if (lost)
		cp_count_mode(CPROF_LOCK, CP_COUNT_LOST_AGGREGATE, lost);
}

static void lock_drained(struct cp_run *r)
{
	cp_lock_names_update(&cp_lock_names_of_mode, &r->aggregate, named[r->mode]);
	named[r->mode] = r->aggregate.stacks.count;
}

/* Rows get new numbers: the next drain looks at the locks of all rows. */
static void lock_rows(struct cp_run *r, void (*see)(uint32_t *row, void *arg), void *arg)
{
	named[r->mode] = 0;
	cp_strata_rows(r->mode == CPROF_LOCK ? &waits : &held, see, arg);
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

static void lock_labels(const struct cp_run *r, const struct cp_stack *s,
			struct cp_encode_labels *to)
{
	uint64_t lock = cp_lock_of_tag(s->tag);
	const char *name = lock ? cp_lock_names_of(&cp_lock_names_of_mode, lock) : NULL;

	if (!lock) {
		label_kind(s, to);
		return;
	}
	if (!name) {
		cp_text_format(to->text, sizeof(to->text), "0x%lx", L(lock));
		name = to->text;
	}
	to->labels[to->count++] = (struct cp_pprof_label){ .key = "lock", .text = name };
	if (knows_longest(r, s))
		to->labels[to->count++] =
			(struct cp_pprof_label){ .key = "longest",
						 .number = (int64_t)s->values[CP_VALUE_LONGEST],
						 .unit = "nanoseconds" };
}

static void fork_child(struct cp_run *r, struct cp_thread *keep)
{
	if (!keep) {
		cp_store_seqcst(&cp_lock_on, 0);
		cp_lock_event_know(0);
	}
	begin_counts();
	waits = cp_strata_new(FEW);
	cp_lock_names_of_mode = (struct cp_lock_names){ 0 };
	named[CPROF_LOCK] = named[CPROF_LOCK_HOLDERS] = 0;
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
			 L(cp_strata_unsure(&waits, 0)), L(cp_strata_unsure(&waits, 1)));
	cp_comments_waits_lost(out, r);
	cp_comments_stacks_cost(out, r, "behind waits");
}

static int start_holders(struct cp_run *r, const struct cp_config *c)
{
	held_run = r;
	cp_lock_holder_forget();
	cp_strata_release(&held);
	held = cp_strata_new(0);
	held.rest = CP_LOCATION_HOLDER_UNKNOWN;
	named[CPROF_LOCK_HOLDERS] = open_count = 0;
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
		add_sample(r, &held, record, label, CP_NO_THREAD, e->tag, self, share);
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

	if (waits_run && waits_run->running)
		settle_lock(waits_run);
	for (unsigned i = 0; i < open_count; i++)
		cp_strata_withhold(&held, CP_NO_THREAD, open_now[i].lock, open_now[i].values);
	for (uint32_t i = 0; i < cp_thread_limit(); i++)
		cp_drain_name(r, cp_thread_at(i));
	lost = cp_strata_settle(&held, &r->aggregate, NULL);
	for (unsigned i = 0; i < open_count; i++)
		cp_strata_exact(&held, CP_NO_THREAD, open_now[i].lock, open_now[i].values);
	if (lost)
		cp_count_mode(CPROF_LOCK_HOLDERS, CP_COUNT_LOST_AGGREGATE, lost);
}

static void fork_child_holders(struct cp_run *r, struct cp_thread *keep)
{
	cp_lock_holder_fork_child();
	open_count = 0;
	held = cp_strata_new(0);
	held.rest = CP_LOCATION_HOLDER_UNKNOWN;
	if (!keep)
		cp_store_seqcst(&cp_lock_holders_on, 0);
}

/* Says how much less than the waits the rows sum to: what settle_holders has withheld. */
static void report_open(struct cp_comments *out)
{
	struct cp_lock_sum open = { 0, 0 };

	for (unsigned i = 0; i < open_count; i++)
		add_sum(&open,
			(struct cp_lock_sum){ open_now[i].values[0], open_now[i].values[1] });
	if (open.count || open.delay)
		cp_comments_line(out,
				 "holders: %lu waits, %lu ns, come later: the threads that ended "
				 "them are taking their stacks",
				 L(open.count), L(open.delay));
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
			 L(cp_strata_unsure(&waits, 0) + cp_strata_unsure(&held, 0)),
			 L(cp_strata_unsure(&waits, 1) + cp_strata_unsure(&held, 1)));
	cp_comments_stacks_cost(out, r, "behind unlocks");
}

CP_THREAD_LABEL(cp_lock_label);
CP_THREAD_LABEL(cp_lock_holders_label);

/* Functions that acquire a lock, and that release one; see drop_frames in output.h. Waits for
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
	.labels = lock_labels,
	.numbers = lock_numbers,
	.report = report_lock,
	.count = count_locks,
	.prepare = prepare_lock,
	.start = start_lock,
	.stop = stop_lock,
	.set = set_lock,
	.drained = lock_drained,
	.totals = totals,
	.settle = settle_lock,
	.rows = lock_rows,
	.record = record_wait,
	.thread_released = tell_waits,
	.thread_label = &cp_lock_label,
	.thread_end = cp_lock_event_thread_end,
	.keep = has_waits,
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
	.labels = lock_labels,
	.report = report_holders,
	.start = start_holders,
	.stop = stop_holders,
	.collect = collect_holders,
	.drained = lock_drained,
	.settle = settle_holders,
	.rows = lock_rows,
	.record = record_held,
	.thread_released = released_holder,
	.thread_label = &cp_lock_holders_label,
	.fork_child = fork_child_holders,
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
