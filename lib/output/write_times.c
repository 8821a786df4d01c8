/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the time index of a run; see pprof.h. */
#include "output/output.h"

#include <string.h>

#include "labels/spans.h"

#define FIELD 7361
#define VERSION 1
#define PART ((size_t)8 << 10) /* bytes of a block in the file */

/* Numbers of the fields. */
enum {
	VERSION_FIELD = 1,
	END,
	BUDGET,
	KEEP,
	FROM,
	THINNING,
	SEEN,
	THREAD,
	EVENTS,
	RECORDED,
	SPAN_NAMES,
	SPANS,
	COUNTERS,
	WAKES,
	START,
};

/* A block that becomes a part of the field when it is full. */
struct part {
	struct cp_pprof *w;
	unsigned field;
	size_t used;
	uint64_t begin; /* of the item before */
	uint32_t sample;
	uint8_t bytes[PART];
};

static void end_part(struct part *p)
{
	size_t outer, inner;

	if (p->used) {
		outer = cp_pprof_begin(p->w, FIELD);
		inner = cp_pprof_begin(p->w, p->field);
		cp_pprof_bytes(p->w, p->bytes, p->used);
		cp_pprof_end(p->w, inner);
		cp_pprof_end(p->w, outer);
		cp_pprof_flush(p->w);
	}
	p->used = 0;
	p->begin = p->sample = 0;
}

static void make_room(struct part *p, size_t n)
{
	if (p->used + n > PART)
		end_part(p);
}

static void put(struct part *p, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		p->bytes[p->used++] = (uint8_t)v | 0x80;
	p->bytes[p->used++] = (uint8_t)v;
}

/* Returns the number of ROW's sample, from 1; 0 = it isn't in the file. */
static uint32_t sample_of(const struct cp_times_rows *rows, uint32_t row)
{
	uint32_t first;

	if (row >= rows->rows.count)
		return 0;
	first = CP_VEC_AT(&rows->rows, struct cp_times_row, row)->first;
	return CP_VEC_AT(&rows->rows, struct cp_times_row, first)->sample;
}

static uint64_t since(uint64_t ns, uint64_t start)
{
	return ns > start ? ns - start : 0;
}

/* Returns when the file's time begins, in monotonic ns, and how long it is. */
static uint64_t begin_of(const struct cp_run_times *run)
{
	return run->start_ns + run->from;
}

static uint64_t length_of(const struct cp_run_times *run)
{
	return since(run->now.ns, begin_of(run));
}

static void write_head(struct cp_pprof *w, const struct cp_run_times *run)
{
	const struct cp_times *t = run->times;
	size_t start = cp_pprof_begin(w, FIELD);
	uint64_t end = length_of(run);

	cp_pprof_number(w, VERSION_FIELD, VERSION);
	cp_pprof_number(w, END, end);
	cp_pprof_number(w, BUDGET, t->keep ? 0 : t->budget);
	cp_pprof_number(w, KEEP, t->keep);
	cp_pprof_number(w, FROM, t->keep ? since(end, t->keep) : 0);
	cp_pprof_number(w, THINNING, UINT64_C(1) << t->level);
	cp_pprof_number(w, SEEN, t->seen);
	cp_pprof_number(w, START, run->start_utc_ns + run->from);
	cp_pprof_end(w, start);
}

/* A thread may have begun, or ended, since the file's time NOW. */
static void write_thread(struct cp_pprof *w, int32_t tid, const char *name,
			 const struct cp_times_life *life, uint64_t now)
{
	uint64_t begin = life->begin_ns > now ? now : life->begin_ns;
	uint64_t end = life->end_ns > now ? 0 : life->end_ns;
	size_t outer = cp_pprof_begin(w, FIELD), inner = cp_pprof_begin(w, THREAD);

	cp_pprof_number(w, 1, (uint64_t)tid);
	cp_pprof_text(w, 2, name);
	cp_pprof_number(w, 3, begin);
	cp_pprof_number(w, 4, end && end < begin ? begin : end);
	cp_pprof_number(w, 5, !life->is_known);
	cp_pprof_end(w, inner);
	cp_pprof_end(w, outer);
	cp_pprof_flush(w);
}

static struct cp_times_life life_of(const struct cp_times *t, uint32_t label)
{
	return label < t->lives.count ? *CP_VEC_AT(&t->lives, struct cp_times_life, label)
				      : (struct cp_times_life){ 0 };
}

/* Returns the label of thread X, or how many labels there are. */
static uint32_t label_of(const struct cp_times *t, const struct cp_aggregate *a,
			 const struct cp_times_thread *x)
{
	uint32_t i = 0;

	while (i < a->threads.count &&
	       (CP_VEC_AT(&a->threads, struct cp_thread_label, i)->tid != x->tid ||
		life_of(t, i).born != x->born))
		i++;
	return i;
}

/* Events have the numbers of the aggregate's labels, and those of the process's threads (NUMBERS)
 * in a mode without labels. */
static void write_threads(struct cp_pprof *w, const struct cp_run_times *run,
			  const struct cp_aggregate *a, const struct cp_vec *numbers)
{
	const struct cp_vec *all = cp_shared_times_threads();
	uint32_t next = (uint32_t)a->threads.count;
	uint64_t now = length_of(run), start = begin_of(run);

	for (uint32_t i = 0; i < a->threads.count; i++) {
		const struct cp_thread_label *l = CP_VEC_AT(&a->threads, struct cp_thread_label, i);
		struct cp_times_life life = life_of(run->times, i);

		life.is_known &= life.begin_ns >= run->from;
		life.begin_ns = since(life.begin_ns, run->from);
		/* It ended before the file's time; 0 would mean that it is alive. */
		life.end_ns =
			life.end_ns ? since(life.end_ns, run->from) + !since(life.end_ns, run->from)
				    : 0;
		write_thread(w, l->tid, l->name, &life, now);
	}
	for (uint32_t i = 0; i < numbers->count; i++) {
		const struct cp_times_thread *x = CP_VEC_AT(all, struct cp_times_thread, i);
		const struct cp_times_life life = { .begin_ns = since(x->born_ns, start),
						    .end_ns = since(x->gone_ns, start),
						    .is_known = x->born_ns > start };
		uint32_t *number = CP_VEC_AT(numbers, uint32_t, i);

		*number = label_of(run->times, a, x);
		if (*number < a->threads.count)
			continue;
		*number = next++;
		write_thread(w, x->tid, x->name, &life, now);
	}
}

/* SUMS, if it isn't NULL, gets what the events of each sample stand for. */
static void write_events(struct part *p, const struct cp_run_times *run,
			 const struct cp_times_rows *rows, uint64_t *sums)
{
	const struct cp_times *t = run->times;
	struct cp_times_reader r = cp_times_read(t);
	struct cp_time_event e;

	p->field = EVENTS;
	while (cp_times_next(&r, &e)) {
		uint32_t sample = sample_of(rows, e.row);

		if (!sample || !e.count || cp_times_is_old(t, &e, run->now.ns - run->start_ns) ||
		    !(cp_cut_event(&e, run->from) > 0))
			continue;
		e.row = sample - 1;
		if (sums && !e.is_death)
			sums[e.row] += e.weight << t->level;
		if (e.is_death)
			e.duration_ns = 0;
		make_room(p, CP_TIMES_EVENT);
		p->used += cp_times_encode(p->bytes + p->used, &e, p->begin, p->sample);
		p->begin = e.begin_ns;
		p->sample = e.row;
	}
	end_part(p);
}

static void put_difference(struct part *p, uint64_t d)
{
	put(p, d << 1 ^ -(d >> 63));
}

/* When it was, which thread was woken, by which, and its wait's sample, from 1. */
static void write_wakes(struct part *p, const struct cp_run_times *run,
			const struct cp_times_rows *rows)
{
	struct cp_times_reader r = cp_times_read(run->times);
	struct cp_time_event e;

	p->field = WAKES;
	while (cp_times_next(&r, &e)) {
		uint32_t sample = sample_of(rows, e.row);

		if (!sample || e.count ||
		    cp_times_is_old(run->times, &e, run->now.ns - run->start_ns) ||
		    !(cp_cut_event(&e, run->from) > 0))
			continue;
		make_room(p, CP_TIMES_EVENT);
		put_difference(p, e.begin_ns - p->begin);
		put(p, e.thread);
		put(p, e.weight);
		put_difference(p, (uint64_t)sample - p->sample);
		p->begin = e.begin_ns;
		p->sample = sample;
	}
	end_part(p);
}

/* Writes the sums of all events by sample. SUMS has room for them, or has those of the run's end.
 */
static void write_recorded(struct part *p, const struct cp_run_times *run,
			   const struct cp_times_rows *rows, uint64_t *sums, uint64_t samples)
{
	const struct cp_times *t = run->times;

	p->field = RECORDED;
	for (uint32_t row = 0; !run->from && row < t->recorded.count; row++) {
		uint32_t sample = sample_of(rows, row);

		if (sample)
			sums[sample - 1] += *CP_VEC_AT(&t->recorded, uint64_t, row);
	}
	for (uint64_t i = 0; i < samples; i++) {
		make_room(p, CP_TIMES_EVENT);
		put(p, sums[i]);
	}
	end_part(p);
}

/* ---- spans ---- */

/* Writes the names of the kinds of spans; NAMES gets the number of each, from 1. */
static void write_names(struct cp_pprof *w, uint32_t *names)
{
	const struct cp_vec *all = cp_shared_times_spans();
	uint32_t count = 0;

	for (size_t i = 0; i < all->count; i++) {
		uint32_t kind = CP_VEC_AT(all, struct cp_times_span, i)->kind;
		const char *name = cp_spans_name(kind);
		size_t start;

		if (names[kind])
			continue;
		names[kind] = ++count;
		start = cp_pprof_begin(w, FIELD);
		/* The number of an empty text would be left out. */
		cp_pprof_text(w, SPAN_NAMES, *name ? name : "?");
		cp_pprof_end(w, start);
		cp_pprof_flush(w);
	}
}

/* A span that began before the run would have another length. */
static void write_spans(struct part *p, const struct cp_run_times *run,
			const struct cp_vec *numbers, uint64_t now)
{
	static uint32_t names[CP_SPANS_NUMBERS]; /* large */
	const struct cp_vec *all = cp_shared_times_spans();

	memset(names, 0, sizeof(names));
	write_names(p->w, names);
	p->field = SPANS;
	for (size_t i = 0; i < all->count; i++) {
		const struct cp_times_span *s = CP_VEC_AT(all, struct cp_times_span, i);
		uint64_t begin = since(s->begin_ns, begin_of(run));

		if (s->begin_ns < begin_of(run) || s->thread >= numbers->count ||
		    cp_shared_times_span_is_old(s, now))
			continue;
		make_room(p, CP_TIMES_EVENT);
		put_difference(p, begin - p->begin);
		put(p, (uint64_t)*CP_VEC_AT(numbers, uint32_t, s->thread) << 1 | (s->weight != 1));
		put(p, names[s->kind] - 1);
		put(p, s->duration_ns);
		if (s->weight != 1)
			put(p, s->weight);
		p->begin = begin;
	}
	end_part(p);
}

static void put_counter(struct part *p, const struct cp_times_counter *c,
			const struct cp_run_times *run)
{
	uint64_t when = since(c->ns, begin_of(run));

	make_room(p, CP_TIMES_EVENT);
	put_difference(p, when - p->begin);
	put(p, c->resident);
	put(p, c->cpu_ns > run->start_cpu_ns ? c->cpu_ns - run->start_cpu_ns : 0);
	p->begin = when;
}

static void write_counters(struct part *p, const struct cp_run_times *run,
			   const struct cp_times_counter *now)
{
	const struct cp_vec *all = cp_times_counters();

	p->field = COUNTERS;
	for (size_t i = 0; i < all->count; i++)
		if (CP_VEC_AT(all, struct cp_times_counter, i)->ns >= begin_of(run))
			put_counter(p, CP_VEC_AT(all, struct cp_times_counter, i), run);
	put_counter(p, now, run);
	end_part(p);
}

void cp_write_times(struct cp_pprof *w, const struct cp_run_times *run,
		    const struct cp_aggregate *a, const struct cp_times_rows *rows,
		    uint64_t samples)
{
	static struct part p; /* large; under the collector's lock */
	const struct cp_times *t = run->times;
	struct cp_vec sums = { .size = sizeof(uint64_t) };
	struct cp_vec numbers = { .size = sizeof(uint32_t) };
	size_t threads = cp_shared_times_threads()->count;

	p = (struct part){ .w = w };
	if (rows->rows.count < a->stacks.count ||
	    (t->sums && samples && !cp_vec_extend(&sums, samples)))
		return;
	cp_shared_times_name_threads();
	/* Without memory, the file has no spans. */
	if (threads)
		cp_vec_extend(&numbers, threads);
	write_head(w, run);
	write_threads(w, run, a, &numbers);
	write_events(&p, run, rows, run->from ? sums.items : NULL);
	if (t->sums)
		write_recorded(&p, run, rows, sums.items, samples);
	write_spans(&p, run, &numbers, run->now.ns);
	write_wakes(&p, run, rows);
	write_counters(&p, run, &run->now);
	cp_vec_release(&numbers);
	cp_vec_release(&sums);
}
