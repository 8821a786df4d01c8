/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes rows and comments of recorded and counted calls; see io_rows.h. */
#include "modes/io/io_rows.h"

#include <string.h>

#include "base/text.h"
#include "collect/drain.h"
#include "modes/io/io_names.h"
#include "modes/io/signal/io_event.h"
#include "modes/io/signal/io_target.h"
#include "sample/counters.h"
#include "sample/lock_clock.h"

#define L(x) ((unsigned long)(x))

enum { CALLS, DELAY, BYTES, ERRORS };

/* The part of the calls without a stack that is already in rows. */
static struct cp_io_values taken[CP_IO_BULKS][CP_IO_OPS][CP_IO_KINDS];
/* Weights of calls are not whole: the part of a call that is left over, in 1/65536ths. */
static uint64_t left_over;
/* The clock's rate, in ns per tick times 2^32; measured again in each drain. 0 = not yet. */
static uint64_t rate;

/* Where cp_io_rows_count puts each op and kind, from 1; 0 = there was no call yet. */
static uint32_t place[CP_IO_OPS][CP_IO_KINDS];
static uint32_t places;

void cp_io_rows_begin(void)
{
	memcpy(taken, cp_io_bulk, sizeof(taken));
	memset(place, 0, sizeof(place));
	places = 0;
	left_over = rate = 0;
}

/* The collector knows the rate after a tenth of a second. Before that, the rate is that of the time
 * since the start; this is right to one in ten thousand after a millisecond. */
static uint64_t measure(const struct cp_run *r)
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

uint64_t cp_io_rows_ns(const struct cp_run *r, uint64_t ticks)
{
	if (!rate)
		rate = measure(r);
	return (uint64_t)((unsigned __int128)ticks * rate >> CP_TICK_RATE_SHIFT);
}

/* Return the size class of a call: the number of bits of its bytes. */
static unsigned class_of(uint64_t bytes)
{
	return bytes ? 64 - (unsigned)__builtin_clzll(bytes) : 0;
}

/* Return the whole calls that WEIGHT is; what is left over goes to the next one. So the sum of all
 * rows is right to a call. */
static uint64_t whole_calls(uint64_t weight)
{
	uint64_t all = weight + left_over, one = UINT64_C(1) << CP_IO_WEIGHT_SHIFT;

	left_over = all % one;
	return all / one;
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

void cp_io_rows_record(struct cp_run *r, struct cp_thread *t, const struct cp_record *c)
{
	unsigned error = CP_IO_TAG_ERROR(c->tag);
	uint64_t bytes = c->longest, calls, delay = cp_io_rows_ns(r, c->weight);
	uint64_t tag =
		CP_IO_TAG(CP_IO_TAG_OP(c->tag), CP_IO_TAG_KIND(c->tag), error,
			  (uint64_t)CP_IO_TAG_NUMBER(c->tag) << CP_IO_CLASS_BITS | class_of(bytes));
	uint32_t label = cp_drain_label(r, t);
	uint32_t number = label == CP_INDEX_NONE ? CP_INDEX_NONE : row_of(r, label, c, tag);
	struct cp_stack *s;

	if (number == CP_INDEX_NONE) {
		cp_count_mode(CPROF_IO, CP_COUNT_LOST_AGGREGATE, c->weight);
		return;
	}
	calls = whole_calls(c->count);
	s = cp_aggregate_row_at(&r->aggregate, number);
	s->values[CALLS] += calls;
	s->values[DELAY] += delay;
	s->values[BYTES] += cp_io_sample_weigh(bytes, c->count);
	s->values[ERRORS] += error ? calls : 0;
	r->aggregate.records++;
	r->aggregate.weight += delay;
}

/* Put the calls without a stack of one op and kind into a row without a thread. */
static void take(struct cp_run *r, enum cp_io_bulk which, unsigned op, unsigned kind,
		 uint32_t location)
{
	const struct cp_raw_stack nothing = { .location = location,
					      .thread = CP_NO_THREAD,
					      .tag = CP_IO_TAG(op, kind, 0, 0) };
	const struct cp_io_values *now = &cp_io_bulk[which][op][kind];
	struct cp_io_values *had = &taken[which][op][kind];
	uint64_t calls = cp_load_relaxed(&now->calls) - had->calls, ticks;
	uint32_t number = calls ? cp_aggregate_row(&r->aggregate, &nothing) : CP_INDEX_NONE;
	struct cp_stack *s;

	if (number == CP_INDEX_NONE)
		return;
	ticks = cp_load_relaxed(&now->ticks) - had->ticks;
	s = cp_aggregate_row_at(&r->aggregate, number);
	s->values[CALLS] += calls;
	s->values[DELAY] += cp_io_rows_ns(r, ticks);
	s->values[BYTES] += cp_load_relaxed(&now->bytes) - had->bytes;
	s->values[ERRORS] += cp_load_relaxed(&now->errors) - had->errors;
	r->aggregate.records++;
	r->aggregate.weight += cp_io_rows_ns(r, ticks);
	*had = (struct cp_io_values){ had->calls + calls, had->ticks + ticks,
				      cp_load_relaxed(&now->bytes), cp_load_relaxed(&now->errors) };
}

void cp_io_rows_collect(struct cp_run *r)
{
	rate = 0;
	for (unsigned op = 0; op < CP_IO_OPS; op++)
		for (unsigned kind = 0; kind < CP_IO_KINDS; kind++) {
			take(r, CP_IO_SHORT, op, kind, CP_LOCATION_SHORT_CALLS);
			take(r, CP_IO_LOST, op, kind, CP_LOCATION_LOST_CALLS);
		}
}

void cp_io_rows_labels(const struct cp_run *r, const struct cp_stack *s,
		       struct cp_encode_labels *to)
{
	unsigned kind = CP_IO_TAG_KIND(s->tag), error = CP_IO_TAG_ERROR(s->tag);
	uint32_t number = CP_IO_TAG_NUMBER(s->tag), target = number >> CP_IO_CLASS_BITS;
	unsigned class = number & ((1u << CP_IO_CLASS_BITS) - 1);

	(void)r;
	to->labels[to->count++] =
		(struct cp_pprof_label){ .key = "op",
					 .text = cp_io_names_op(CP_IO_TAG_OP(s->tag)) };
	if (kind != CP_IO_NOTHING)
		to->labels[to->count++] =
			(struct cp_pprof_label){ .key = "kind", .text = cp_io_names_kind(kind) };
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

/* What is counted of an op and kind, in these places of its words: cp_io_rows_count. */
enum { CELL_CALLS, CELL_TICKS, CELL_BYTES, CELL_ERRORS, CELL_LONGEST, CELL_BUCKETS };
#define CELL_WORDS (CELL_BUCKETS + CP_IO_BUCKETS)

static void put_cell(struct cp_vec *to, unsigned op, unsigned kind)
{
	static struct cp_io_delays delays; /* large; under the lock */
	struct cp_io_cell c;
	uint64_t *w;

	memset(&delays, 0, sizeof(delays));
	c = cp_io_counts_sum(op, kind, &delays);
	if (c.calls && !place[op][kind])
		place[op][kind] = ++places;
	if (!c.calls || !cp_vec_extend(to, (size_t)places * CELL_WORDS))
		return;
	w = CP_VEC_AT(to, uint64_t, (size_t)(place[op][kind] - 1) * CELL_WORDS);
	w[CELL_CALLS] = c.calls;
	w[CELL_TICKS] = c.ticks;
	w[CELL_BYTES] = c.bytes;
	w[CELL_ERRORS] = c.errors;
	w[CELL_LONGEST] = c.longest;
	memcpy(w + CELL_BUCKETS, delays.bucket, sizeof(delays.bucket));
}

void cp_io_rows_count(const struct cp_run *r, struct cp_vec *to)
{
	(void)r;
	for (unsigned op = 0; op < CP_IO_OPS; op++)
		for (unsigned kind = 0; kind < CP_IO_KINDS; kind++)
			put_cell(to, op, kind);
}

/* Returns word WHICH of the calls of OP and KIND in the run or the window that is reported. */
static uint64_t counted(const struct cp_comments *out, unsigned op, unsigned kind, unsigned which)
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

static void line(struct cp_comments *out, const struct cp_run *r, unsigned op, unsigned kind)
{
	static struct cp_io_delays delays; /* large; under the lock */
	uint64_t longest, p50, p99;

	for (unsigned i = 0; i < CP_IO_BUCKETS; i++)
		delays.bucket[i] = counted(out, op, kind, CELL_BUCKETS + i);
	longest = cp_io_rows_ns(r, longest_of(out, op, kind, &delays));
	p50 = cp_io_rows_ns(r, cp_io_counts_quantile(&delays, 500));
	p99 = cp_io_rows_ns(r, cp_io_counts_quantile(&delays, 990));
	cp_comments_line(
		out,
		"io: %s%s%s: %lu calls, %lu bytes, %lu errors, %s s; p50 %s us, p99 %s "
		"us, max %s us",
		cp_io_names_op(op), kind ? " " : "", cp_io_names_kind(kind),
		L(counted(out, op, kind, CELL_CALLS)), L(counted(out, op, kind, CELL_BYTES)),
		L(counted(out, op, kind, CELL_ERRORS)),
		cp_comments_seconds(cp_io_rows_ns(r, counted(out, op, kind, CELL_TICKS))),
		us(p50 < longest ? p50 : longest), us(p99 < longest ? p99 : longest), us(longest));
}

/* Sets *OP and *KIND to those with the most delay of all that aren't told yet. There is one. */
static void find_most(const struct cp_comments *out, bool told[CP_IO_OPS][CP_IO_KINDS],
		      unsigned *op, unsigned *kind)
{
	uint64_t most = 0;

	for (unsigned o = 0; o < CP_IO_OPS; o++)
		for (unsigned k = 0; k < CP_IO_KINDS; k++) {
			uint64_t ticks = counted(out, o, k, CELL_TICKS) + 1;

			if (told[o][k] || !counted(out, o, k, CELL_CALLS) || ticks <= most)
				continue;
			most = ticks;
			*op = o;
			*kind = k;
		}
}

void cp_io_rows_report(struct cp_comments *out, const struct cp_run *r)
{
	bool told[CP_IO_OPS][CP_IO_KINDS] = { { false } };
	unsigned used = 0, op, kind;

	for (op = 0; op < CP_IO_OPS; op++)
		for (kind = 0; kind < CP_IO_KINDS; kind++)
			used += counted(out, op, kind, CELL_CALLS) != 0;
	for (unsigned i = 0; i < used && i < LINES; i++) {
		find_most(out, told, &op, &kind);
		told[op][kind] = true;
		line(out, r, op, kind);
	}
	if (used > LINES)
		cp_comments_line(out, "io: %u further ops and kinds with less delay", used - LINES);
}
