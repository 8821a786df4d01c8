/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the time index of a profile, and keeps it in step with the samples; see times.h.
 *
 * The bytes are hostile until proven otherwise. A wrong index is dropped as a whole, because there
 * is no telling which part of it is right; the rest of the profile stays.
 */
#include "core/times.h"

#include <stdlib.h>
#include <string.h>

#include "core/report.h"

#define MAX_EVENTS ((size_t)1 << 24)
#define MAX_OTHERS ((size_t)1 << 22) /* spans, threads, counters, wakes, names */

struct ct_times_own {
	uint64_t version;
	uint32_t *names; /* strings; the spans refer to them until all is read */
	size_t names_count, names_room, recorded, events, spans, threads, counters,
		wakes; /* rooms */
};

/* Bytes that are left to read. */
struct cut {
	const uint8_t *at, *end;
	struct ct_profile *p;
};

int64_t ct_times_start(const struct ct_profile *p)
{
	return p->times->start;
}

int64_t ct_times_between(int64_t from, int64_t to)
{
	return ct_add(to, ct_negate(from));
}

struct ct_times *ct_times_new(struct ct_profile *p)
{
	p->times = ct_memory_alloc(sizeof(*p->times));
	p->times->own = ct_memory_alloc(sizeof(*p->times->own));
	return p->times;
}

void ct_times_refuse(struct ct_profile *p, const char *what)
{
	if (!p->times_fault)
		p->times_fault = what;
}

static uint64_t take(struct cut *c)
{
	uint64_t v = 0;

	for (unsigned n = 0; n < 10 && c->at < c->end; n++) {
		uint8_t b = *c->at++;

		v |= (uint64_t)(b & 0x7f) << 7 * n;
		if (!(b & 0x80))
			return v;
	}
	ct_times_refuse(c->p, c->at < c->end ? "has a number of more than ten bytes"
					     : "is cut within a block");
	c->at = c->end;
	return 0;
}

/* Adds a zigzag difference to BEFORE. */
static uint64_t take_after(struct cut *c, uint64_t before)
{
	uint64_t v = take(c);

	return before + (v >> 1 ^ -(v & 1));
}

static uint64_t take_time(struct cut *c, uint64_t before)
{
	uint64_t when = take_after(c, before);

	if (when > CT_TIMES_LATEST)
		ct_times_refuse(c->p, "has a time before the start, or in the far future");
	return when;
}

static uint64_t take_duration(struct cut *c)
{
	uint64_t length = take(c);

	if (length > CT_TIMES_LATEST)
		ct_times_refuse(c->p, "has a duration of more than 70 years");
	return length;
}

/* An index that is checked at the end; CT_NONE is never in range. */
static uint32_t small(uint64_t v)
{
	return v < CT_NONE ? (uint32_t)v : CT_NONE;
}

static bool goes_on(const struct cut *c)
{
	return c->at < c->end && !c->p->times_fault;
}

static bool has_room(struct cut *c, size_t count, size_t most, const char *what)
{
	if (count >= most)
		ct_times_refuse(c->p, what);
	return count < most;
}

/* ---- the blocks ---- */

static void read_events(struct cut *c, struct ct_times *t)
{
	uint64_t begin = 0, sample = 0;

	while (goes_on(c) &&
	       has_room(c, t->event_count, MAX_EVENTS, "has more than 16777216 events")) {
		struct ct_event e = { .count = 1 };
		uint64_t head;

		e.begin = begin = take_time(c, begin);
		head = take(c);
		e.thread = small(head >> 3);
		e.sample = small(sample = take_after(c, sample));
		e.weight = take(c);
		e.duration = head & 1 ? take_duration(c) : 0;
		e.count = head & 2 ? small(take(c)) : 1;
		e.death = head & 4;
		*CT_PUSH(t->events, t->event_count, t->own->events) = e;
	}
}

static void read_spans(struct cut *c, struct ct_times *t)
{
	uint64_t begin = 0;

	while (goes_on(c) &&
	       has_room(c, t->span_count, MAX_OTHERS, "has more than 4194304 spans")) {
		struct ct_times_span s;
		uint64_t head;

		s.begin = begin = take_time(c, begin);
		head = take(c);
		s.thread = small(head >> 1);
		s.name = small(take(c));
		s.duration = take_duration(c);
		s.weight = head & 1 ? take(c) : 1;
		*CT_PUSH(t->spans, t->span_count, t->own->spans) = s;
	}
}

static void read_counters(struct cut *c, struct ct_times *t)
{
	uint64_t when = 0;

	while (goes_on(c) &&
	       has_room(c, t->counter_count, MAX_OTHERS, "has more than 4194304 counters")) {
		struct ct_times_counter n;

		n.when = when = take_time(c, when);
		n.resident = take(c);
		n.cpu = take(c);
		*CT_PUSH(t->counters, t->counter_count, t->own->counters) = n;
	}
}

static void read_wakes(struct cut *c, struct ct_times *t)
{
	uint64_t when = 0, sample = 0;

	while (goes_on(c) &&
	       has_room(c, t->wake_count, MAX_OTHERS, "has more than 4194304 wakes")) {
		struct ct_times_wake w;

		w.when = when = take_time(c, when);
		w.woken = small(take(c));
		w.waker = small(take(c));
		sample = take_after(c, sample);
		w.sample = sample ? small(sample - 1) : CT_NONE;
		if (sample && w.sample == CT_NONE)
			ct_times_refuse(c->p, "has a wake of a sample that is not there");
		*CT_PUSH(t->wakes, t->wake_count, t->own->wakes) = w;
	}
}

static void read_recorded(struct cut *c, struct ct_times *t)
{
	while (goes_on(c) && has_room(c, t->recorded_count, (size_t)1 << 26, "has too many sums"))
		*CT_PUSH(t->recorded, t->recorded_count, t->own->recorded) = take(c);
}

static void read_names(struct cut *c, struct ct_times *t)
{
	while (goes_on(c) &&
	       has_room(c, t->own->names_count, MAX_OTHERS, "has more than 4194304 names"))
		*CT_PUSH(t->own->names, t->own->names_count, t->own->names_room) = small(take(c));
}

/* ---- the message ---- */

/* Takes a field's tag and value; of bytes, VALUE is their number. Returns the field's number. */
static uint64_t take_field(struct cut *c, unsigned *wire, uint64_t *value)
{
	uint64_t tag = take(c), left;

	*wire = tag & 7;
	*value = 0;
	if (*wire == 0 || *wire == 2)
		*value = take(c);
	left = (uint64_t)(c->end - c->at);
	if (*wire == 2 ? *value > left : *wire == 1 ? left < 8 : *wire == 5 ? left < 4 : *wire != 0)
		ct_times_refuse(c->p, "is cut: a field ends outside of it");
	else if (*wire == 1 || *wire == 5)
		c->at += *wire == 1 ? 8 : 4;
	return tag >> 3;
}

static void read_thread(struct cut *c, struct ct_times *t)
{
	struct ct_times_thread one = { 0 };
	unsigned wire;
	uint64_t v;

	while (goes_on(c)) {
		uint64_t field = take_field(c, &wire, &v);

		if (c->p->times_fault)
			return;
		c->at += wire == 2 ? v : 0;
		switch (wire ? 0 : field) {
		case 1: one.tid = (int64_t)v; break;
		case 2: one.name = small(v); break;
		case 3: one.begin = v; break;
		case 4: one.end = v; break;
		case 5: one.begun_before = v; break;
		case 6: one.process = (int64_t)v; break;
		}
	}
	if (has_room(c, t->thread_count, MAX_OTHERS, "has more than 4194304 threads"))
		*CT_PUSH(t->threads, t->thread_count, t->own->threads) = one;
}

static void read_number(struct ct_times *t, uint64_t field, uint64_t v, struct cut *one)
{
	switch (field) {
	case 1: t->own->version = v; break;
	case 2: t->end = v; break;
	case 3: t->budget = v; break;
	case 4: t->keep = v; break;
	case 5: t->from = v; break;
	case 6: t->thinning = v; break;
	case 7: t->seen = v; break;
	case 15: t->start = (int64_t)v; break;
	case 10: read_recorded(one, t); break; /* not packed, as the names may be */
	case 11: read_names(one, t); break;
	}
}

static void read_bytes(struct ct_times *t, uint64_t field, struct cut *block)
{
	switch (field) {
	case 8: read_thread(block, t); break;
	case 9: read_events(block, t); break;
	case 10: read_recorded(block, t); break;
	case 11: read_names(block, t); break;
	case 12: read_spans(block, t); break;
	case 13: read_counters(block, t); break;
	case 14: read_wakes(block, t); break;
	}
}

void ct_times_read(struct ct_profile *p, const uint8_t *data, size_t size)
{
	struct cut c = { data, data + size, p };

	if (!p->times)
		ct_times_new(p);
	while (goes_on(&c)) {
		const uint8_t *before = c.at;
		unsigned wire;
		uint64_t v, field = take_field(&c, &wire, &v);
		struct cut block = { c.at, c.at, p };

		if (p->times_fault)
			return;
		if (wire == 2) {
			block.end += v;
			read_bytes(p->times, field, &block);
			c.at += v;
		} else if (!wire) {
			for (block.at = before; *block.at & 0x80; block.at++)
				;
			block.at++; /* after the tag */
			block.end = c.at;
			read_number(p->times, field, v, &block);
		}
	}
}

/* ---- the end of reading ---- */

#define BAD(condition, what)                                                                       \
	do {                                                                                       \
		if (condition)                                                                     \
			return what;                                                               \
	} while (0)

static const char *wrong_threads(const struct ct_profile *p, const struct ct_times *t)
{
	for (size_t i = 0; i < t->thread_count; i++) {
		const struct ct_times_thread *one = &t->threads[i];

		BAD(one->name >= p->string_count, "has a thread's name that is not there");
		BAD(one->begin > CT_TIMES_LATEST || one->end > CT_TIMES_LATEST,
		    "has a time in the far future");
		BAD(one->end && one->end < one->begin, "has a thread that ends before it begins");
	}
	return NULL;
}

static const char *wrong_items(const struct ct_profile *p, const struct ct_times *t)
{
	for (size_t i = 0; i < t->event_count; i++) {
		BAD(t->events[i].thread >= t->thread_count,
		    "has an event of a thread that is not there");
		BAD(t->events[i].sample >= p->sample_count,
		    "has an event of a sample that is not there");
	}
	for (size_t i = 0; i < t->span_count; i++) {
		BAD(t->spans[i].thread >= t->thread_count,
		    "has a span of a thread that is not there");
		BAD(t->spans[i].name >= t->own->names_count, "has a span's name that is not there");
	}
	for (size_t i = 0; i < t->own->names_count; i++)
		BAD(t->own->names[i] >= p->string_count, "has a span's name that is not there");
	for (size_t i = 0; i < t->wake_count; i++) {
		BAD(t->wakes[i].woken >= t->thread_count || t->wakes[i].waker >= t->thread_count,
		    "has a wake of a thread that is not there");
		BAD(t->wakes[i].sample != CT_NONE && t->wakes[i].sample >= p->sample_count,
		    "has a wake of a sample that is not there");
	}
	return wrong_threads(p, t);
}

static const char *wrong(const struct ct_profile *p, const struct ct_times *t)
{
	BAD(p->times_fault, p->times_fault);
	BAD(t->own->version != 1, "is of another version");
	BAD(t->end > CT_TIMES_LATEST || t->from > t->end, "ends before it begins");
	BAD(t->thinning > UINT32_MAX, "has an impossible thinning");
	BAD(t->recorded_count > p->sample_count, "has sums of samples that are not there");
	return wrong_items(p, t);
}

#define IN_ORDER(name, type, time)                                                                 \
	static int by_time_##name(const void *x, const void *y)                                    \
	{                                                                                          \
		const struct type *a = x, *b = y;                                                  \
                                                                                                   \
		return a->time < b->time ? -1 : a->time > b->time;                                 \
	}                                                                                          \
	static void sort_##name(struct type *items, size_t count)                                  \
	{                                                                                          \
		for (size_t i = 1; i < count; i++) {                                               \
			if (items[i].time < items[i - 1].time) {                                   \
				qsort(items, count, sizeof(*items), by_time_##name);               \
				return;                                                            \
			}                                                                          \
		}                                                                                  \
	}

IN_ORDER(events, ct_event, begin)
IN_ORDER(spans, ct_times_span, begin)
IN_ORDER(counters, ct_times_counter, when)
IN_ORDER(wakes, ct_times_wake, when)

void ct_times_sort(struct ct_times *t)
{
	sort_events(t->events, t->event_count);
	sort_spans(t->spans, t->span_count);
	sort_counters(t->counters, t->counter_count);
	sort_wakes(t->wakes, t->wake_count);
}

double *ct_times_kept(const struct ct_times *t)
{
	double *kept = ct_memory_alloc(t->recorded_count * sizeof(*kept));

	for (size_t i = 0; i < t->event_count; i++)
		if (!t->events[i].death)
			kept[t->events[i].sample] += (double)t->events[i].weight;
	return kept;
}

void ct_times_finish(struct ct_profile *p)
{
	struct ct_times *t = p->times;
	bool sums = t && t->recorded_count;

	if (!t)
		return;
	p->times_fault = wrong(p, t);
	if (p->times_fault) {
		ct_times_drop(p);
		return;
	}
	t->thinning += !t->thinning;
	/* Earlier versions don't tell it. The time of a profile without a duration, such as a heap
	 * profile, is that of its end. */
	if (!t->start)
		t->start = p->duration_nanos ? p->time_nanos
					     : ct_times_between((int64_t)t->end, p->time_nanos);
	for (size_t i = 0; i < t->span_count; i++)
		t->spans[i].name = t->own->names[t->spans[i].name];
	while (t->recorded_count < p->sample_count)
		*CT_PUSH(t->recorded, t->recorded_count, t->own->recorded) = 0;
	for (size_t i = 0; !sums && i < t->event_count; i++)
		if (!t->events[i].death)
			t->recorded[t->events[i].sample] += t->events[i].weight;
	ct_times_sort(t);
}

/* ---- an index in memory ---- */

void ct_times_drop(struct ct_profile *p)
{
	struct ct_times *t = p->times;

	p->times = NULL;
	if (!t)
		return;
	free(t->recorded);
	free(t->events);
	free(t->spans);
	free(t->threads);
	free(t->counters);
	free(t->wakes);
	free(t->own->names);
	free(t->own);
	free(t);
}

void ct_times_strings(struct ct_times *t, void (*visit)(uint32_t *string, void *arg), void *arg)
{
	for (size_t i = 0; t && i < t->thread_count; i++)
		visit(&t->threads[i].name, arg);
	for (size_t i = 0; t && i < t->span_count; i++)
		visit(&t->spans[i].name, arg);
}

void ct_times_map(struct ct_profile *p, const uint32_t *map, size_t count, size_t left)
{
	struct ct_times *t = p->times;
	size_t kept = 0;

	if (!t)
		return;
	for (size_t i = 0; i < t->event_count; i++) {
		struct ct_event e = t->events[i];

		e.sample = map[e.sample];
		if (e.sample != CT_NONE)
			t->events[kept++] = e;
	}
	t->event_count = kept;
	for (size_t i = 0; i < t->wake_count; i++)
		if (t->wakes[i].sample != CT_NONE)
			t->wakes[i].sample = map[t->wakes[i].sample];
	for (size_t i = 0; i < count; i++)
		if (map[i] != CT_NONE)
			t->recorded[map[i]] = t->recorded[i];
	t->recorded_count = left;
}

size_t ct_times_type(const struct ct_profile *p)
{
	static const char *const units[] = { "nanoseconds", "bytes" };

	for (unsigned u = 0; u < 2; u++)
		for (size_t i = 0; i < p->type_count; i++)
			if (!strcmp(ct_text(p, p->types[i].unit), units[u]))
				return i;
	return p->type_count ? p->type_count - 1 : 0;
}

double ct_times_share(const struct ct_profile *p, size_t type)
{
	const struct ct_times *t = p->times;
	double *kept = ct_times_kept(t), with = 0, all = 0;

	for (size_t i = 0; i < p->sample_count; i++) {
		double v = (double)ct_abs(ct_values(p, i)[type]);
		double share =
			t->recorded[i] ? kept[i] * (double)t->thinning / (double)t->recorded[i] : 0;

		all += v;
		with += v * share;
	}
	free(kept);
	return all > 0 ? with < all ? with / all : 1 : 0;
}
