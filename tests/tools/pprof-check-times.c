/* SPDX-License-Identifier: BSD-3-Clause */
/* The time index: field 7361 of the profile, in any number of parts. */
#include "pprof-check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LATEST (UINT64_C(1) << 61)

struct cut {
	const uint8_t *at, *end;
	struct pcheck_report *report;
};

static uint64_t take(struct cut *c)
{
	uint64_t v = 0;

	for (unsigned n = 0; n < 10 && c->at < c->end; n++) {
		uint8_t b = *c->at++;

		v |= (uint64_t)(b & 0x7f) << 7 * n;
		if (!(b & 0x80))
			return v;
	}
	pcheck_bad(c->report, "times-wire", "the time index is cut");
	c->at = c->end;
	return 0;
}

static uint64_t take_difference(struct cut *c)
{
	uint64_t v = take(c);

	return v >> 1 ^ -(v & 1);
}

static void read_events(struct pcheck_times *t, struct cut c)
{
	uint64_t begin = 0, sample = 0;

	while (c.at < c.end) {
		struct pcheck_event e = { .count = 1 };
		uint64_t head;

		e.begin = begin += take_difference(&c);
		head = take(&c);
		e.thread = head >> 3;
		e.death = head & 4;
		e.sample = sample += take_difference(&c);
		e.weight = take(&c);
		if (head & 1)
			e.duration = take(&c);
		if (head & 2)
			e.count = take(&c);
		t->events = pcheck_grow(t->events, t->event_count, sizeof(e));
		t->events[t->event_count++] = e;
	}
}

static void read_thread(struct pcheck_times *t, struct cut c)
{
	struct pcheck_thread one = { 0 };
	uint64_t *const to[] = { NULL,	   &one.tid,	&one.name,   &one.begin,
				 &one.end, &one.before, &one.process };

	while (c.at < c.end) {
		uint64_t tag = take(&c), v = take(&c);

		if (tag & 7 || tag >> 3 < 1 || tag >> 3 > 6)
			pcheck_bad(c.report, "times-wire", "a thread has field %llu",
				   (unsigned long long)tag >> 3);
		else
			*to[tag >> 3] = v;
	}
	t->threads = pcheck_grow(t->threads, t->thread_count, sizeof(one));
	t->threads[t->thread_count++] = one;
}

static void add(struct pcheck_numbers *to, uint64_t v)
{
	to->items = pcheck_grow(to->items, to->count, sizeof(v));
	to->items[to->count++] = v;
}

static void read_counters(struct pcheck_times *t, struct cut c)
{
	uint64_t when = 0;

	while (c.at < c.end) {
		add(&t->counters, when += take_difference(&c));
		add(&t->counters, take(&c));
		add(&t->counters, take(&c));
	}
}

static void read_spans(struct pcheck_times *t, struct cut c)
{
	uint64_t begin = 0;

	while (c.at < c.end) {
		struct pcheck_span s = { .weight = 1 };
		uint64_t head;

		s.begin = begin += take_difference(&c);
		head = take(&c);
		s.thread = head >> 1;
		s.name = take(&c);
		s.duration = take(&c);
		if (head & 1)
			s.weight = take(&c);
		t->spans = pcheck_grow(t->spans, t->span_count, sizeof(s));
		t->spans[t->span_count++] = s;
	}
}

static void read_wakes(struct pcheck_times *t, struct cut c)
{
	uint64_t when = 0, sample = 0;

	while (c.at < c.end) {
		add(&t->wakes, when += take_difference(&c));
		add(&t->wakes, take(&c));
		add(&t->wakes, take(&c));
		add(&t->wakes, sample += take_difference(&c));
	}
}

static void read_part(struct pcheck_times *t, uint64_t field, struct cut c)
{
	switch (field) {
	case 8: read_thread(t, c); break;
	case 9: read_events(t, c); break;
	case 10:
		while (c.at < c.end)
			add(&t->recorded, take(&c));
		break;
	case 11: /* the tool's files have the names in one piece */
		while (c.at < c.end)
			add(&t->names, take(&c));
		break;
	case 13: read_counters(t, c); break;
	case 12: read_spans(t, c); break;
	case 14: read_wakes(t, c); break;
	default:
		pcheck_bad(c.report, "times-field", "unknown field %llu",
			   (unsigned long long)field);
	}
}

void pcheck_read_times(struct pcheck_profile *p, const uint8_t *data, size_t n,
		       struct pcheck_report *r)
{
	struct pcheck_times *t = &p->times;
	uint64_t *const to[] = { NULL,	   &t->version, &t->end,      &t->budget,
				 &t->keep, &t->from,	&t->thinning, &t->seen };
	struct cut c = { data, data + n, r };

	while (c.at < c.end) {
		uint64_t tag = take(&c), v = take(&c);

		if ((tag & 7) == 2 && v <= (size_t)(c.end - c.at)) {
			read_part(t, tag >> 3, (struct cut){ c.at, c.at + v, r });
			c.at += v;
		} else if (tag == 11 << 3) {
			add(&t->names, v);
		} else if (tag == 15 << 3) {
			t->start = v;
		} else if (!(tag & 7) && tag >> 3 >= 1 && tag >> 3 <= 7) {
			*to[tag >> 3] = v;
		} else {
			pcheck_bad(r, "times-wire", "the time index has a field that ends outside");
			return;
		}
	}
}

/* The sum of a sample's events is what the mode's records say. Other modes calibrate their rows,
 * and merged files have threads of several processes. */
static void check_sums(const struct pcheck_profile *p, struct pcheck_report *r)
{
	const struct pcheck_times *t = &p->times;
	uint64_t *sums = calloc(p->sample_count + 1, sizeof(*sums));

	for (size_t i = 0; sums && i < t->event_count; i++)
		if (t->events[i].sample < p->sample_count && !t->events[i].death)
			sums[t->events[i].sample] += t->events[i].weight;
	for (size_t i = 0; sums && i < t->recorded.count && i < p->sample_count; i++) {
		if (t->thinning == 1 && sums[i] > t->recorded.items[i])
			pcheck_bad(r, "times-sums",
				   "sample %zu has more in events than was recorded", i);
		sums[i] = t->recorded.items[i];
	}
	for (size_t i = 0; sums && i < p->sample_count && p->type_count == 2 &&
			   !strcmp(pcheck_text(p, p->types[0].type), "samples") &&
			   !strcmp(pcheck_text(p, p->types[1].type), "cpu");
	     i++)
		if (sums[i] && p->samples[i].values.count == 2 &&
		    sums[i] != p->samples[i].values.items[1])
			pcheck_bad(r, "times-sums", "sample %zu has %llu, its events have %llu", i,
				   (unsigned long long)p->samples[i].values.items[1],
				   (unsigned long long)sums[i]);
	free(sums);
}

void pcheck_times(struct pcheck_profile *p, struct pcheck_report *r)
{
	const struct pcheck_times *t = &p->times;
	bool merged = false;

	if (!t->version && !t->event_count)
		return;
	if (t->version != 1 || !t->thinning || t->thinning & (t->thinning - 1))
		pcheck_bad(r, "times-head", "version %llu, thinning %llu",
			   (unsigned long long)t->version, (unsigned long long)t->thinning);
	if (t->recorded.count && t->recorded.count != p->sample_count)
		pcheck_bad(r, "times-sums", "%zu sums of %zu samples", t->recorded.count,
			   p->sample_count);
	for (size_t i = 0; i < t->thread_count; i++) {
		const struct pcheck_thread *one = &t->threads[i];

		merged |= one->process != 0;
		if (one->name >= p->string_count)
			pcheck_bad(r, "string-index", "a thread's name isn't there");
		else
			p->strings[one->name].used = true;
		if (one->end && (one->end < one->begin || one->end > t->end))
			pcheck_bad(r, "times-thread", "thread %llu ends at %llu",
				   (unsigned long long)one->tid, (unsigned long long)one->end);
	}
	for (size_t i = 0; i < t->event_count; i++) {
		const struct pcheck_event *e = &t->events[i];

		if (e->thread >= t->thread_count || e->sample >= p->sample_count)
			pcheck_bad(r, "times-event", "event %zu: thread %llu, sample %llu", i,
				   (unsigned long long)e->thread, (unsigned long long)e->sample);
		if (e->begin > LATEST || e->duration > LATEST || e->begin + e->duration > t->end)
			pcheck_bad(r, "times-event", "event %zu is after the end", i);
	}
	for (size_t i = 0; i + 3 < t->wakes.count; i += 4) {
		const uint64_t *w = t->wakes.items + i;

		if (w[0] > t->end || w[1] >= t->thread_count || w[2] >= t->thread_count ||
		    w[3] > p->sample_count)
			pcheck_bad(r, "times-wake", "wake %zu: %llu woken by %llu, sample %llu",
				   i / 4, (unsigned long long)w[1], (unsigned long long)w[2],
				   (unsigned long long)w[3]);
	}
	for (size_t i = 0; i < t->span_count; i++) {
		const struct pcheck_span *s = &t->spans[i];

		if (s->thread >= t->thread_count || s->name >= t->names.count || !s->weight ||
		    s->begin > LATEST || s->duration > LATEST || s->begin + s->duration > t->end)
			pcheck_bad(r, "times-span", "span %zu: thread %llu, name %llu", i,
				   (unsigned long long)s->thread, (unsigned long long)s->name);
	}
	for (size_t i = 0; i < t->names.count; i++)
		if (t->names.items[i] >= p->string_count)
			pcheck_bad(r, "string-index", "a span's name isn't there");
		else
			p->strings[t->names.items[i]].used = true;
	if (!merged)
		check_sums(p, r);
}

void pcheck_print_times(const struct pcheck_profile *p, FILE *out)
{
	const struct pcheck_times *t = &p->times;

	if (!t->version)
		return;
	fprintf(out,
		"start %" PRIu64 " end %" PRIu64 " budget %" PRIu64 " thinning %" PRIu64
		" seen %" PRIu64 " events %zu recorded %zu\n",
		t->start, t->end, t->budget, t->thinning, t->seen, t->event_count,
		t->recorded.count);
	for (size_t i = 0; i < t->thread_count; i++)
		fprintf(out, "thread %" PRIu64 " %s %" PRIu64 " %" PRIu64 " %s\n",
			t->threads[i].tid, pcheck_text(p, t->threads[i].name), t->threads[i].begin,
			t->threads[i].end, t->threads[i].before ? "before" : "begun");
	for (size_t i = 0; i + 2 < t->counters.count; i += 3)
		fprintf(out, "counter %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", t->counters.items[i],
			t->counters.items[i + 1], t->counters.items[i + 2]);
	for (size_t i = 0; i < t->span_count; i++) {
		const struct pcheck_span *s = &t->spans[i];

		if (s->thread < t->thread_count && s->name < t->names.count)
			fprintf(out, "span %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %s %s\n",
				s->begin, s->duration, s->weight, t->threads[s->thread].tid,
				pcheck_text(p, t->threads[s->thread].name),
				pcheck_text(p, t->names.items[s->name]));
	}
	for (size_t i = 0; i < t->event_count; i++) {
		const struct pcheck_event *e = &t->events[i];

		if (e->thread >= t->thread_count || e->sample >= p->sample_count)
			continue;
		fprintf(out, "%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " ",
			e->death ? "death" : "event", e->begin, e->duration, e->weight, e->count,
			t->threads[e->thread].tid);
		pcheck_print_stack(p, &p->samples[e->sample], out);
		fprintf(out, "\n");
	}
	for (size_t i = 0; i + 3 < t->wakes.count; i += 4) {
		const uint64_t *w = t->wakes.items + i;

		if (w[1] >= t->thread_count || w[2] >= t->thread_count ||
		    w[3] - 1 >= p->sample_count)
			continue;
		fprintf(out, "wake %" PRIu64 " %" PRIu64 " by %" PRIu64 " ", w[0],
			t->threads[w[1]].tid, t->threads[w[2]].tid);
		pcheck_print_stack(p, &p->samples[w[3] - 1], out);
		fprintf(out, "\n");
	}
}
