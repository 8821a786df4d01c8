/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps the times of events; see profile.h. */
#include "profile/profile.h"

#include <string.h>

#include "base/start_data.h"
#include "base/sys.h"
#include "base/text.h"
#include "sample/sample.h"

/* The first block is a page, so a short process pays for one. Each further block is twice as large
 * as the one before. */
#define BLOCK_MOST ((uint64_t)64 << 10)
#define LEVEL_MOST 31

/* An event, as in the file (lib/output/write_times.c): the difference of its begin to the event's
 * before in the block, the thread with three flags, the difference of the row, the weight, and,
 * with flags, the duration and the count. */
#define HAS_DURATION 1u
#define HAS_COUNT 2u
#define IS_DEATH 4u
#define FLAG_BITS 3

struct cp_times_block {
	struct cp_times_block *next;
	uint32_t size, used; /* of DATA */
	uint64_t begin;	     /* of the last event */
	uint64_t newest;     /* the latest end of an event */
	uint32_t row;
	uint8_t data[];
};

void cp_times_begin(struct cp_times *t, uint64_t budget, uint64_t keep, uint64_t seed)
{
	*t = (struct cp_times){ .budget = budget,
				.keep = keep,
				.sums = keep != 0,
				.seed = seed,
				.recorded = { .size = sizeof(uint64_t) },
				.lives = { .size = sizeof(struct cp_times_life) } };
}

void cp_times_release(struct cp_times *t)
{
	struct cp_times_block *b = t->first, *next;

	for (; b; b = next) {
		next = b->next;
		cp_sys_unmap(b, sizeof(*b) + b->size);
	}
	cp_vec_release(&t->recorded);
	cp_vec_release(&t->lives);
	*t = (struct cp_times){ 0 };
}

/* ---- one event's bytes ---- */

static uint8_t *put_varint(uint8_t *p, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*p++ = (uint8_t)v | 0x80;
	*p++ = (uint8_t)v;
	return p;
}

static uint8_t *put_difference(uint8_t *p, uint64_t d)
{
	return put_varint(p, d << 1 ^ -(d >> 63));
}

size_t cp_times_encode(uint8_t *to, const struct cp_time_event *e, uint64_t begin, uint32_t row)
{
	uint8_t *p = put_difference(to, e->begin_ns - begin);

	p = put_varint(p, (uint64_t)e->thread << FLAG_BITS | (e->duration_ns ? HAS_DURATION : 0) |
				  (e->count != 1 ? HAS_COUNT : 0) | (e->is_death ? IS_DEATH : 0));
	p = put_difference(p, (uint64_t)e->row - row);
	p = put_varint(p, e->weight);
	if (e->duration_ns)
		p = put_varint(p, e->duration_ns);
	if (e->count != 1)
		p = put_varint(p, e->count);
	return (size_t)(p - to);
}

static uint64_t take_varint(struct cp_times_reader *r)
{
	uint64_t v = 0;
	unsigned shift = 0;
	uint8_t b;

	do {
		b = r->block->data[r->at++];
		v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
	} while (b & 0x80);
	return v;
}

static uint64_t take_difference(struct cp_times_reader *r)
{
	uint64_t v = take_varint(r);

	return v >> 1 ^ -(v & 1);
}

static void take_event(struct cp_times_reader *r, struct cp_time_event *e)
{
	uint64_t head;

	r->begin += take_difference(r);
	head = take_varint(r);
	r->row += (uint32_t)take_difference(r);
	*e = (struct cp_time_event){ .begin_ns = r->begin,
				     .thread = (uint32_t)(head >> FLAG_BITS),
				     .row = r->row,
				     .is_death = head & IS_DEATH,
				     .count = 1 };
	e->weight = take_varint(r);
	if (head & HAS_DURATION)
		e->duration_ns = take_varint(r);
	if (head & HAS_COUNT)
		e->count = (uint32_t)take_varint(r);
}

static void read_block(struct cp_times_reader *r, const struct cp_times_block *b)
{
	*r = (struct cp_times_reader){ .block = b, .end = b ? b->used : 0 };
}

struct cp_times_reader cp_times_read(const struct cp_times *t)
{
	struct cp_times_reader r;

	read_block(&r, t->first);
	return r;
}

bool cp_times_next(struct cp_times_reader *r, struct cp_time_event *e)
{
	while (r->block && r->at == r->end)
		read_block(r, r->block->next);
	if (!r->block)
		return false;
	take_event(r, e);
	return true;
}

/* A death has the block's age. */
static uint64_t end_of(const struct cp_time_event *e)
{
	return e->begin_ns + (e->is_death ? 0 : e->duration_ns);
}

bool cp_times_is_old(const struct cp_times *t, const struct cp_time_event *e, uint64_t now)
{
	return t->keep && now > t->keep && end_of(e) < now - t->keep;
}

/* Adds E to B. Returns false if there is no room. */
static bool put(struct cp_times_block *b, const struct cp_time_event *e)
{
	uint8_t bytes[CP_TIMES_EVENT];
	uint64_t end = end_of(e);
	size_t n;

	if (!b)
		return false;
	n = cp_times_encode(bytes, e, b->begin, b->row);
	if (b->size - b->used < n)
		return false;
	memcpy(b->data + b->used, bytes, n);
	b->used += (uint32_t)n;
	b->begin = e->begin_ns;
	b->row = e->row;
	b->newest = end > b->newest ? end : b->newest;
	return true;
}

static void empty(struct cp_times_block *b)
{
	b->used = 0;
	b->begin = b->newest = b->row = 0;
}

/* ---- thinning ---- */

/* Returns random bits of what E tells of: the birth and the death of a block have the same. */
static uint64_t bits_of(const struct cp_times *t, const struct cp_time_event *e)
{
	uint64_t h = e->begin_ns - (e->is_death ? e->duration_ns : 0);

	h = (h ^ t->seed) * UINT64_C(0x9e3779b97f4a7c15) + e->row;
	h = (h ^ h >> 32) * UINT64_C(0xd6e8feb86659fd93);
	h = (h ^ h >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return h ^ h >> 32;
}

static bool stays(const struct cp_times *t, const struct cp_time_event *e)
{
	return !(bits_of(t, e) & ((UINT64_C(1) << t->level) - 1));
}

/* Adds E to the sums of all events. Returns false without memory. */
static bool sum(struct cp_times *t, const struct cp_time_event *e)
{
	size_t room = t->recorded.room ? t->recorded.room : 512;

	while (room <= e->row)
		room *= 2;
	if (e->row >= t->recorded.count && !cp_vec_extend(&t->recorded, room))
		return false;
	if (!e->is_death)
		*CP_VEC_AT(&t->recorded, uint64_t, e->row) += e->weight;
	return true;
}

/* From now on, not all events are kept: their sums are. */
static bool begin_sums(struct cp_times *t)
{
	struct cp_times_reader r = cp_times_read(t);
	struct cp_time_event e;

	while (!t->sums && cp_times_next(&r, &e))
		if (!sum(t, &e))
			return false;
	t->sums = true;
	return true;
}

/* Drops every second event. What is left moves to the first blocks. A block is never overtaken:
 * the bytes of an event are at most those that lead to it. Returns false without memory. */
static bool thin(struct cp_times *t)
{
	struct cp_times_block *to = t->first, *next;
	struct cp_times_reader r;
	struct cp_time_event e;

	if (t->level == LEVEL_MOST || !begin_sums(t))
		return false;
	t->level++;
	for (struct cp_times_block *b = t->first; b; b = next) {
		next = b == t->last ? NULL : b->next;
		read_block(&r, b);
		empty(b);
		while (r.at < r.end) {
			take_event(&r, &e);
			if (!stays(t, &e))
				continue;
			while (!put(to, &e))
				to = to->next;
		}
	}
	t->last = to;
	return true;
}

/* Returns the first block, empty, as the one after the last, if all of it is too old; else NULL. */
static struct cp_times_block *turn_over(struct cp_times *t)
{
	struct cp_times_block *b = t->first;

	if (!t->keep || b == t->last || t->newest <= t->keep || b->newest >= t->newest - t->keep)
		return NULL;
	t->first = b->next;
	b->next = t->last->next;
	t->last->next = b;
	empty(b);
	return b;
}

/* Makes the next block the last one. Returns false if the budget or the memory is used up. */
static bool add_block(struct cp_times *t)
{
	struct cp_times_block *b = t->last ? t->last->next : NULL;
	uint64_t size = t->last ? 2 * (sizeof(*b) + t->last->size) : CP_PAGES_SIZE;

	if (!b && t->last)
		b = turn_over(t);
	if (!b) {
		size = size < BLOCK_MOST ? size : BLOCK_MOST;
		b = t->bytes + size <= t->budget ? cp_sys_map(size) : NULL;
		if (!b)
			return false;
		b->size = (uint32_t)(size - sizeof(*b));
		t->bytes += size;
		*(t->last ? &t->last->next : &t->first) = b;
	}
	t->last = b;
	return true;
}

void cp_times_add(struct cp_times *t, const struct cp_time_event *e)
{
	bool summed = t->sums;

	if (!t->budget)
		return;
	t->seen += e->count != 0;
	t->newest = end_of(e) > t->newest ? end_of(e) : t->newest;
	if (summed && !sum(t, e)) {
		cp_times_release(t);
		return;
	}
	while (stays(t, e) && !put(t->last, e)) {
		if (add_block(t))
			continue;
		if (t->first ? thin(t) : begin_sums(t)) {
			if (t->first)
				continue;
			break;
		}
		cp_times_release(t);
		return;
	}
	if (t->sums && !summed && !sum(t, e))
		cp_times_release(t);
}

void cp_times_wake(struct cp_times *t, const struct cp_time_event *e, uint64_t end, uint32_t waker)
{
	/* As a death, it is a moment that adds nothing to sums. */
	cp_times_add(t, &(struct cp_time_event){
				.begin_ns = end,
				.duration_ns = e->duration_ns < end ? e->duration_ns : end,
				.weight = waker,
				.thread = e->thread,
				.row = e->row,
				.is_death = true });
}

struct cp_times_life *cp_times_life(struct cp_times *t, uint32_t thread)
{
	size_t room = t->lives.room ? t->lives.room : 128;

	while (room <= thread)
		room *= 2;
	if (!t->budget || (thread >= t->lives.count && !cp_vec_extend(&t->lives, room)))
		return NULL;
	return CP_VEC_AT(&t->lives, struct cp_times_life, thread);
}

/* ---- the clock ---- */

/* A pair of clocks takes microseconds. */
#define APART_NS UINT64_C(10000000)

/* The rate of the counter between the last two drains, and the pair at the last one. */
static struct cp_tick_rate_pair newest CP_START_DATA;
static uint64_t newest_rate;

void cp_times_clock(const struct cp_tick_rate_pair *start)
{
	struct cp_tick_rate_pair before = newest.ns ? newest : *start, now;

	if (newest.ns && cp_sys_clock_ns(CLOCK_MONOTONIC) - newest.ns < APART_NS)
		return;
	now = cp_tick_rate_pair();
	/* The program forbids the counter: records have another clock's time from now on. */
	if (!now.ticks)
		return;
	newest = now;
	if (now.ticks > before.ticks && now.ns > before.ns)
		newest_rate =
			(uint64_t)(((unsigned __int128)(now.ns - before.ns) << CP_TICK_RATE_SHIFT) /
				   (now.ticks - before.ticks));
}

uint64_t cp_times_ns(uint64_t moment, uint64_t start_ns)
{
	uint64_t ns = moment & ~CP_MOMENT_IS_NS, ago;

	if (!(moment & CP_MOMENT_IS_NS)) {
		bool is_later = moment > newest.ticks;

		ago = is_later ? moment - newest.ticks : newest.ticks - moment;
		ago = (uint64_t)((unsigned __int128)ago * newest_rate >> CP_TICK_RATE_SHIFT);
		ns = is_later ? newest.ns + ago : newest.ns > ago ? newest.ns - ago : 0;
	}
	return ns > start_ns ? ns - start_ns : 0;
}

/* ---- counters ---- */

#define COUNTERS 4096

static struct cp_vec counters = { .size = sizeof(struct cp_times_counter) };
static uint64_t apart = UINT64_C(1000000000);

uint64_t cp_times_resident(void)
{
	char text[128];
	const char *s = text;
	uint64_t pages = 0;
	long n;
	int fd = cp_sys_is_filtered() ? -1 : cp_sys_open("/proc/self/statm", O_RDONLY, 0);

	if (fd < 0)
		return 0;
	n = cp_sys_read(fd, text, sizeof(text) - 1);
	cp_sys_close(fd);
	text[n > 0 ? n : 0] = '\0';
	s += strcspn(s, " ");
	s += *s == ' ';
	return cp_text_parse_u64(&s, 10, &pages) ? 0 : pages * cp_pages_kernel();
}

void cp_times_count(void)
{
	uint64_t now = cp_sys_clock_ns(CLOCK_MONOTONIC);
	struct cp_times_counter *c = counters.items;

	if (counters.count && now - c[counters.count - 1].ns < apart - apart / 8)
		return;
	if (counters.count == COUNTERS) {
		for (size_t i = 0; i < COUNTERS / 2; i++)
			c[i] = c[2 * i];
		counters.count = COUNTERS / 2;
		apart *= 2;
	}
	c = cp_vec_add(&counters);
	if (c)
		*c = (struct cp_times_counter){ now, cp_times_resident(),
						cp_sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID) };
}

const struct cp_vec *cp_times_counters(void)
{
	return &counters;
}

void cp_times_fork_child(void)
{
	counters = (struct cp_vec){ .size = sizeof(struct cp_times_counter) };
	newest = (struct cp_tick_rate_pair){ 0 };
}
