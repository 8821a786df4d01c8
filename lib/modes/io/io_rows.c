/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes rows and comments of recorded and counted calls; see io.h. */
#include "modes/io/io.h"

#include "base/start_data.h"
#include "base/text.h"
#include "collect/collect.h"
#include "modes/io/signal/io_signal.h"

#define L(x) ((unsigned long)(x))

enum { CALLS, DELAY, BYTES, ERRORS };

/* With fewer samples, threads' calls of an op and kind are calibrated together. */
#define FEW 16

static struct cp_strata strata CP_START_DATA;
static uint64_t halved; /* ticks: last time when the samplers' recent past was halved */
/* The clock's rate, in ns per tick times 2^32; measured again in each drain. 0 = not yet. */
static uint64_t rate;

/* Place of each op and kind in cp_io_rows_count's words, from 1; 0 = no call yet. */
static uint32_t place[CP_IO_OPS][CP_FD_KINDS];
static uint32_t places;

void cp_io_rows_start(void)
{
	cp_strata_release(&strata);
	cp_io_rows_fork_child();
}

void cp_io_rows_fork_child(void)
{
	strata = cp_strata_new(FEW);
	memset(place, 0, sizeof(place));
	places = 0;
	rate = 0;
}

/* The collector knows the rate after a tenth of a second. Before that, the rate is that of the time
 * since the start; this is right to one in ten thousand after a millisecond. */
static uint64_t measure_rate(const struct cp_run *r)
{
	uint64_t known = cp_load_relaxed(&cp_lock_clock.rate);
	struct cp_tick_rate_pair now;

	if (cp_io_state.by_clock)
		return UINT64_C(1) << CP_TICK_RATE_SHIFT;
	if (known)
		return known;
	now = cp_tick_rate_pair();
	if (now.ticks <= r->start_ticks.ticks || now.ns <= r->start_ticks.ns)
		return (UINT64_C(1000000000) << CP_TICK_RATE_SHIFT) / cp_io_state.rates.second;
	return (uint64_t)(((unsigned __int128)(now.ns - r->start_ticks.ns) << CP_TICK_RATE_SHIFT) /
			  (now.ticks - r->start_ticks.ticks));
}

static uint64_t known_rate(const struct cp_run *r)
{
	if (!rate)
		rate = measure_rate(r);
	return rate;
}

uint64_t cp_io_rows_ns(const struct cp_run *r, uint64_t ticks)
{
	return (uint64_t)((unsigned __int128)ticks * known_rate(r) >> CP_TICK_RATE_SHIFT);
}

static uint64_t ticks_of(const struct cp_run *r, uint64_t ns)
{
	return (uint64_t)(((unsigned __int128)ns << CP_TICK_RATE_SHIFT) / known_rate(r));
}

/* Return the size class of a call: the number of bits of its bytes. */
static unsigned class_of(uint64_t bytes)
{
	return bytes ? 64 - (unsigned)__builtin_clzll(bytes) : 0;
}

static uint32_t row_of(struct cp_run *r, uint32_t thread, const struct cp_record *c, uint64_t tag)
{
	return cp_aggregate_row(&r->aggregate, &(struct cp_raw_stack){ .pcs = c->pcs,
								       .depth = c->depth,
								       .end = c->end,
								       .thread = thread,
								       .labels = c->labels,
								       .tag = tag });
}

/* Set the values that are calibrated. Failed calls are only counted as errors, so a row of errors
 * has as many calls as errors. */
static void values_of(uint64_t to[CP_VALUES], uint64_t calls, uint64_t ns, uint64_t bytes,
		      uint64_t errors)
{
	to[CALLS] = calls - errors;
	to[DELAY] = ns;
	to[BYTES] = bytes;
	to[ERRORS] = errors;
}

static void add_values(struct cp_stack *row, const uint64_t values[CP_VALUES])
{
	row->values[CALLS] += values[CALLS] + values[ERRORS];
	row->values[DELAY] += values[DELAY];
	row->values[BYTES] += values[BYTES];
	row->values[ERRORS] += values[ERRORS];
}

void cp_io_rows_record(struct cp_run *r, struct cp_thread *t, const struct cp_record *c)
{
	unsigned error = CP_IO_TAG_ERROR(c->tag);
	double weight = (double)c->count / (1u << CP_IO_WEIGHT_SHIFT), share[CP_VALUES];
	uint64_t bytes = c->more, self[CP_VALUES];
	uint64_t stratum = CP_IO_TAG(CP_IO_TAG_OP(c->tag), CP_IO_TAG_KIND(c->tag), 0, 0);
	uint64_t tag = stratum | CP_IO_TAG(0, 0, error,
					   (uint64_t)CP_IO_TAG_NUMBER(c->tag) << CP_IO_CLASS_BITS |
						   class_of(bytes));
	uint32_t label = cp_drain_label(r, t);
	uint32_t number = label == CP_INDEX_NONE ? CP_INDEX_NONE : row_of(r, label, c, tag);

	values_of(self, 1, (uint64_t)((double)cp_io_rows_ns(r, c->weight) / weight), bytes,
		  error != 0);
	for (unsigned v = 0; v < CP_VALUES; v++)
		share[v] = (double)self[v] * (weight - 1);
	if (number == CP_INDEX_NONE ||
	    !cp_strata_sampled(&strata, number, label, stratum, self, share)) {
		cp_count_mode(CPROF_IO, CP_COUNT_LOST_AGGREGATE, c->weight);
		return;
	}
	r->aggregate.records++;
	cp_drain_event(r, c,
		       (struct cp_time_event){ .duration_ns = self[DELAY],
					       .weight = self[DELAY] + (uint64_t)share[DELAY],
					       .thread = label,
					       .row = number,
					       .count = (uint32_t)(weight + 0.5) });
}

/* Return true if C has new counts; they are in VALUES. TOLD gets the new totals. */
static bool is_new(struct cp_run *r, const struct cp_io_cell *c, uint64_t values[CP_VALUES],
		   uint64_t told[CP_IO_SUMS])
{
	uint64_t more[CP_IO_SUMS];

	/* Errors come first, because calls are counted before their errors. If calls fail
	 * meanwhile, read again: the thread may make no other call with which their errors would be
	 * reported. */
	do {
		for (unsigned i = CP_IO_SUMS; i-- > 0;) {
			told[i] = cp_load_relaxed(&c->sums[i]);
			more[i] = told[i] - c->told[i];
		}
	} while (cp_load_relaxed(&c->sums[CP_IO_ERRORS]) != told[CP_IO_ERRORS]);
	/* Only new ticks are converted: the counter's rate is measured ever better, so all of them
	 * would be some ns more where no call came. */
	more[CP_IO_TICKS] = cp_io_rows_ns(r, more[CP_IO_TICKS]);
	/* The call of this error was reported before, because the thread was just counting it. The
	 * error is reported with the next call. */
	if (more[CP_IO_ERRORS] > more[CP_IO_CALLS]) {
		told[CP_IO_ERRORS] -= more[CP_IO_ERRORS] - more[CP_IO_CALLS];
		more[CP_IO_ERRORS] = more[CP_IO_CALLS];
	}
	values_of(values, more[CP_IO_CALLS], more[CP_IO_TICKS], more[CP_IO_BYTES],
		  more[CP_IO_ERRORS]);
	return (more[CP_IO_CALLS] | more[CP_IO_TICKS] | more[CP_IO_BYTES]) != 0;
}

/* Add VALUES to the samplers' recent past, which is halved after each period (io_signal.h). */
static void add_recent(const struct cp_run *r, uint64_t tag, const uint64_t values[CP_VALUES])
{
	uint64_t *recent = cp_io_counts_recent[CP_IO_TAG_OP(tag)][CP_IO_TAG_KIND(tag)];
	const uint64_t more[CP_IO_SUMS] = { values[CALLS] + values[ERRORS],
					    ticks_of(r, values[DELAY]), values[BYTES],
					    values[ERRORS] };

	for (unsigned i = 0; i < CP_IO_SUMS; i++)
		cp_store_relaxed(&recent[i], recent[i] + more[i]);
}

static void halve_recent(void)
{
	uint64_t now = cp_io_event_now();

	if (now - halved < cp_io_sample_period(&cp_io_state.rates))
		return;
	halved = now;
	cp_io_counts_forget_recent(true);
}

/* Report the new counts of B. T is its thread; NULL: none. */
static void tell_block(struct cp_run *r, struct cp_io_block *b, struct cp_thread *t)
{
	uint64_t values[CP_VALUES], told[CP_IO_SUMS];

	for (unsigned op = 0; b && op < CP_IO_OPS; op++)
		for (uint32_t kinds = cp_load_relaxed(&b->kinds[op]); kinds; kinds &= kinds - 1) {
			unsigned kind = (unsigned)__builtin_ctz(kinds);
			struct cp_io_cell *c = &b->cell[op][kind];
			uint64_t tag = CP_IO_TAG(op, kind, 0, 0);

			if (!is_new(r, c, values, told))
				continue;
			if (cp_strata_exact(&strata, t ? cp_drain_label(r, t) : CP_NO_THREAD, tag,
					    values))
				memcpy(c->told, told, sizeof(told));
			add_recent(r, tag, values);
		}
}

/* Blocks of free records whose counts were reported are left out: a crowd of short threads leaves
 * many. */
static void tell_of(struct cp_run *r, uint32_t index)
{
	struct cp_io_block *b = cp_io_counts_existing(index);
	struct cp_thread *t = cp_thread_at(index);
	/* Acquire, and read before the state: if the record is free, these threads have ended. */
	uint32_t threads = b ? cp_load_acquire(&b->threads) : 0, state = cp_load_acquire(&t->state);
	bool named = state == CP_THREAD_LIVE || state == CP_THREAD_ENDED;

	if (!b || (state == CP_THREAD_FREE && b->told_threads == threads))
		return;
	tell_block(r, b, named ? t : NULL);
	if (state == CP_THREAD_FREE)
		b->told_threads = threads;
}

void cp_io_rows_tell(struct cp_run *r)
{
	rate = 0;
	halve_recent();
	tell_block(r, &cp_io_counts_others, NULL);
	for (uint32_t i = 0; i < cp_thread_limit(); i++)
		tell_of(r, i);
}

void cp_io_rows_released(struct cp_run *r, struct cp_thread *t)
{
	tell_of(r, t->index);
}

void cp_io_rows_see(struct cp_run *r, void (*see)(uint32_t *row, void *arg), void *arg)
{
	cp_strata_rows(&strata, see, arg);
}

void cp_io_rows_settle(struct cp_run *r)
{
	uint64_t lost = cp_strata_settle(&strata, &r->aggregate, add_values);

	if (lost)
		cp_count_mode(CPROF_IO, CP_COUNT_LOST_AGGREGATE, ticks_of(r, lost));
}

void cp_io_rows_labels(const struct cp_run *r, const struct cp_stack *s,
		       struct cp_encode_labels *to)
{
	unsigned kind = CP_IO_TAG_KIND(s->tag), error = CP_IO_TAG_ERROR(s->tag);
	uint32_t number = CP_IO_TAG_NUMBER(s->tag), target = number >> CP_IO_CLASS_BITS;
	unsigned class = number & ((1u << CP_IO_CLASS_BITS) - 1);

	to->labels[to->count++] =
		(struct cp_pprof_label){ .key = "op",
					 .text = cp_io_names_op(CP_IO_TAG_OP(s->tag)) };
	if (kind != CP_FD_NOTHING)
		to->labels[to->count++] =
			(struct cp_pprof_label){ .key = "kind",
						 .text = cp_filestat_kind_name(kind) };
	if (error)
		to->labels[to->count++] = (struct cp_pprof_label){
			.key = "error", .text = cp_io_names_error(error, to->text, sizeof(to->text))
		};
	if (class)
		to->labels[to->count++] = (struct cp_pprof_label){
			.key = "size", .number = INT64_C(1) << (class - 1), .unit = "bytes"
		};
	if (target)
		to->labels[to->count++] =
			(struct cp_pprof_label){ .key = "target",
						 .text = cp_io_target_text(target) };
}

/* ---- comments ---- */

#define LINES 24

/* Return NS as "1.234" in units of microseconds. */
static const char *us(uint64_t ns)
{
	return cp_comments_seconds(ns * 1000000);
}

/* Offsets of an op and kind's counts in its words; see cp_io_rows_count. */
enum { CELL_CALLS, CELL_TICKS, CELL_BYTES, CELL_ERRORS, CELL_LONGEST, CELL_BUCKETS };
#define CELL_WORDS (CELL_BUCKETS + CP_IO_BUCKETS)

static void put_cell(struct cp_vec *to, unsigned op, unsigned kind)
{
	static struct cp_io_delays
		delays; /* static because it is large; under the collector's lock */
	struct cp_io_cell c;
	uint64_t *w;

	memset(&delays, 0, sizeof(delays));
	c = cp_io_counts_sum(op, kind, &delays);
	if (c.sums[CP_IO_CALLS] && !place[op][kind])
		place[op][kind] = ++places;
	if (!c.sums[CP_IO_CALLS] || !cp_vec_extend(to, (size_t)places * CELL_WORDS))
		return;
	w = CP_VEC_AT(to, uint64_t, (size_t)(place[op][kind] - 1) * CELL_WORDS);
	w[CELL_CALLS] = c.sums[CP_IO_CALLS];
	w[CELL_TICKS] = c.sums[CP_IO_TICKS];
	w[CELL_BYTES] = c.sums[CP_IO_BYTES];
	w[CELL_ERRORS] = c.sums[CP_IO_ERRORS];
	w[CELL_LONGEST] = c.longest;
	memcpy(w + CELL_BUCKETS, delays.bucket, sizeof(delays.bucket));
}

void cp_io_rows_count(const struct cp_run *r, struct cp_vec *to)
{
	for (unsigned op = 0; op < CP_IO_OPS; op++)
		for (unsigned kind = 0; kind < CP_FD_KINDS; kind++)
			put_cell(to, op, kind);
}

/* Returns word WHICH of the calls of OP and KIND in the run or the window that is reported. */
static uint64_t counted_of(const struct cp_comments *out, unsigned op, unsigned kind,
			   unsigned which)
{
	size_t at = place[op][kind];

	return at ? cp_comments_own(out, (at - 1) * CELL_WORDS + which) : 0;
}

/* Returns the longest call in ticks: in a window, that of its bucket if an earlier one was longer.
 */
static uint64_t longest_of(const struct cp_comments *out, unsigned op, unsigned kind,
			   const struct cp_io_delays *delays)
{
	uint64_t longest = cp_comments_own_longest(out, (size_t)(place[op][kind] - 1) * CELL_WORDS +
								CELL_LONGEST);

	return longest ? longest : cp_io_counts_quantile(delays, 1000);
}

static void write_line(struct cp_comments *out, const struct cp_run *r, unsigned op, unsigned kind)
{
	static struct cp_io_delays
		delays; /* static because it is large; under the collector's lock */
	uint64_t longest, p50, p99;

	for (unsigned i = 0; i < CP_IO_BUCKETS; i++)
		delays.bucket[i] = counted_of(out, op, kind, CELL_BUCKETS + i);
	longest = cp_io_rows_ns(r, longest_of(out, op, kind, &delays));
	p50 = cp_io_rows_ns(r, cp_io_counts_quantile(&delays, 500));
	p99 = cp_io_rows_ns(r, cp_io_counts_quantile(&delays, 990));
	cp_comments_line(
		out,
		"io: %s%s%s: %lu calls, %lu bytes, %lu errors, %s s; p50 %s us, p99 %s "
		"us, max %s us",
		cp_io_names_op(op), kind ? " " : "", cp_filestat_kind_name(kind),
		L(counted_of(out, op, kind, CELL_CALLS)), L(counted_of(out, op, kind, CELL_BYTES)),
		L(counted_of(out, op, kind, CELL_ERRORS)),
		cp_comments_seconds(cp_io_rows_ns(r, counted_of(out, op, kind, CELL_TICKS))),
		us(p50 < longest ? p50 : longest), us(p99 < longest ? p99 : longest), us(longest));
}

/* Sets *OP and *KIND to those with the most delay that are not told yet. At least one isn't. */
static void find_most(const struct cp_comments *out, bool told[CP_IO_OPS][CP_FD_KINDS],
		      unsigned *op, unsigned *kind)
{
	uint64_t most = 0;

	for (unsigned o = 0; o < CP_IO_OPS; o++)
		for (unsigned k = 0; k < CP_FD_KINDS; k++) {
			uint64_t ticks = counted_of(out, o, k, CELL_TICKS) + 1;

			if (told[o][k] || !counted_of(out, o, k, CELL_CALLS) || ticks <= most)
				continue;
			most = ticks;
			*op = o;
			*kind = k;
		}
}

/* The certainty of rows, which the tool reads (tools/core/sampling.c). */
static void say_unsure(struct cp_comments *out)
{
	/* A row's calls are those that succeeded and those that failed. */
	double calls = strata.total[CALLS] + strata.total[ERRORS];
	double variance = strata.variance[CALLS] + strata.variance[ERRORS];

	cp_comments_line(out,
			 "calibrated: calls %lu, delay %lu, bytes %lu, errors %lu (variance of a "
			 "value / value)",
			 L(calls > 0 ? variance / calls : 0), L(cp_strata_unsure(&strata, DELAY)),
			 L(cp_strata_unsure(&strata, BYTES)), L(cp_strata_unsure(&strata, ERRORS)));
}

void cp_io_rows_report(struct cp_comments *out, const struct cp_run *r)
{
	bool told[CP_IO_OPS][CP_FD_KINDS] = { { false } };
	unsigned used = 0, op, kind;

	say_unsure(out);

	for (op = 0; op < CP_IO_OPS; op++)
		for (kind = 0; kind < CP_FD_KINDS; kind++)
			used += counted_of(out, op, kind, CELL_CALLS) != 0;
	for (unsigned i = 0; i < used && i < LINES; i++) {
		find_most(out, told, &op, &kind);
		told[op][kind] = true;
		write_line(out, r, op, kind);
	}
	if (used > LINES)
		cp_comments_line(out, "io: %u further ops and kinds with less delay", used - LINES);
}
