/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes of a time index; see times.h. */
#include <stdlib.h>
#include <string.h>

#include "core/times.h"

struct bytes {
	uint8_t *data;
	size_t count, room;
};

static void add(struct bytes *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*CT_PUSH(b->data, b->count, b->room) = (uint8_t)v | 0x80;
	*CT_PUSH(b->data, b->count, b->room) = (uint8_t)v;
}

/* Adds V as its zigzag difference to BEFORE, which becomes V. */
static void add_after(struct bytes *b, uint64_t *before, uint64_t v)
{
	uint64_t d = v - *before;

	add(b, d << 1 ^ -(d >> 63));
	*before = v;
}

static void add_number(struct bytes *b, unsigned field, uint64_t v)
{
	if (v) {
		add(b, field << 3);
		add(b, v);
	}
}

/* Adds BLOCK as a field, unless it is empty, and empties it. */
static void add_block(struct bytes *b, unsigned field, struct bytes *block)
{
	if (block->count) {
		add(b, field << 3 | 2);
		add(b, block->count);
		if (b->room - b->count < block->count)
			b->data = ct_memory_grow(b->data, &b->room, b->count + block->count, 1);
		memcpy(b->data + b->count, block->data, block->count);
		b->count += block->count;
	}
	block->count = 0;
}

static void add_threads(struct bytes *b, const struct ct_times *t, struct bytes *block)
{
	for (size_t i = 0; i < t->thread_count; i++) {
		const struct ct_times_thread *one = &t->threads[i];

		add_number(block, 1, (uint64_t)one->tid);
		add_number(block, 2, one->name);
		add_number(block, 3, one->begin);
		add_number(block, 4, one->end);
		add_number(block, 5, one->begun_before);
		add_number(block, 6, (uint64_t)one->process);
		if (!block->count) /* a thread of which nothing is known has a number, too */
			add(block, 1 << 3), add(block, 0);
		add_block(b, 8, block);
	}
}

static void add_events(struct bytes *block, const struct ct_times *t)
{
	uint64_t begin = 0, sample = 0;

	for (size_t i = 0; i < t->event_count; i++) {
		const struct ct_event *e = &t->events[i];

		add_after(block, &begin, e->begin);
		add(block, (uint64_t)e->thread << 3 | (e->duration > 0) | (e->count != 1) << 1 |
				   e->death << 2);
		add_after(block, &sample, e->sample);
		add(block, e->weight);
		if (e->duration)
			add(block, e->duration);
		if (e->count != 1)
			add(block, e->count);
	}
}

/* Adds the sums by sample, unless they are those of the events. */
static void add_recorded(struct bytes *b, const struct ct_times *t, struct bytes *block)
{
	uint64_t *kept = ct_memory_alloc(t->recorded_count * sizeof(*kept));

	for (size_t i = 0; i < t->event_count; i++)
		if (!t->events[i].death)
			kept[t->events[i].sample] += t->events[i].weight;
	if (t->recorded_count && memcmp(kept, t->recorded, t->recorded_count * sizeof(*kept)) != 0)
		for (size_t i = 0; i < t->recorded_count; i++)
			add(block, t->recorded[i]);
	add_block(b, 10, block);
	free(kept);
}

static int by_value(const void *x, const void *y)
{
	const uint32_t *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

static void add_spans(struct bytes *b, const struct ct_times *t, struct bytes *block)
{
	uint32_t *names = ct_memory_realloc(NULL, t->span_count, sizeof(*names));
	uint64_t begin = 0;
	size_t n = 0;

	for (size_t i = 0; i < t->span_count; i++)
		names[i] = t->spans[i].name;
	qsort(names, t->span_count, sizeof(*names), by_value);
	for (size_t i = 0; i < t->span_count; i++)
		if (!i || names[i] != names[n - 1])
			names[n++] = names[i];
	for (size_t i = 0; i < n; i++)
		add(block, names[i]);
	add_block(b, 11, block);
	for (size_t i = 0; i < t->span_count; i++) {
		const struct ct_times_span *s = &t->spans[i];
		const uint32_t *name = bsearch(&s->name, names, n, sizeof(*names), by_value);

		add_after(block, &begin, s->begin);
		add(block, (uint64_t)s->thread << 1 | (s->weight != 1));
		add(block, (uint64_t)(name - names));
		add(block, s->duration);
		if (s->weight != 1)
			add(block, s->weight);
	}
	add_block(b, 12, block);
	free(names);
}

static void add_others(struct bytes *b, const struct ct_times *t, struct bytes *block)
{
	uint64_t when = 0, sample = 0;

	for (size_t i = 0; i < t->counter_count; i++) {
		add_after(block, &when, t->counters[i].when);
		add(block, t->counters[i].resident);
		add(block, t->counters[i].cpu);
	}
	add_block(b, 13, block);
	when = 0;
	for (size_t i = 0; i < t->wake_count; i++) {
		const struct ct_times_wake *w = &t->wakes[i];

		add_after(block, &when, w->when);
		add(block, w->woken);
		add(block, w->waker);
		add_after(block, &sample, w->sample == CT_NONE ? 0 : (uint64_t)w->sample + 1);
	}
	add_block(b, 14, block);
}

uint8_t *ct_times_pack(const struct ct_times *t, size_t *size)
{
	struct bytes b = { 0 }, block = { 0 };

	add_number(&b, 1, 1);
	add_number(&b, 2, t->end);
	add_number(&b, 3, t->budget);
	add_number(&b, 4, t->keep);
	add_number(&b, 5, t->from);
	add_number(&b, 6, t->thinning);
	add_number(&b, 7, t->seen);
	add_number(&b, 15, (uint64_t)t->start);
	add_threads(&b, t, &block);
	add_events(&block, t);
	add_block(&b, 9, &block);
	add_recorded(&b, t, &block);
	add_spans(&b, t, &block);
	add_others(&b, t, &block);
	free(block.data);
	*size = b.count;
	return b.data;
}
