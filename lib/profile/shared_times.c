/* SPDX-License-Identifier: BSD-3-Clause */
/* What the time indexes of all runs share: spans, and the threads of entries in the diary; see
 * profile.h. */
#include "profile/profile.h"

#include <string.h>

#include "base/sys.h"
#include "sample/diary.h"
#include "sample/sample.h"

/* ---- threads ---- */

/* Further threads are the first one, which nobody knows. */
#define THREADS_MOST 4096u

static struct cp_vec threads = { .size = sizeof(struct cp_times_thread) };
/* uint32_t by record: number of its last thread, plus 1. */
static struct cp_vec of_record = { .size = sizeof(uint32_t) };

static void read_name(struct cp_times_thread *one, const struct cp_thread *t)
{
	if (t->named)
		memcpy(one->name, t->name, CP_THREAD_NAME);
	else
		cp_thread_file_name(one->tid, one->name, CP_THREAD_NAME);
}

static uint32_t add_thread(int32_t tid, const struct cp_thread *t)
{
	struct cp_times_thread *one = threads.count < THREADS_MOST ? cp_vec_add(&threads) : NULL;

	if (!one)
		return 0;
	*one = (struct cp_times_thread){ .tid = tid };
	if (t) {
		one->born = t->born;
		one->born_ns = t->born ? cp_times_ns(t->born, 0) : 0;
		read_name(one, t);
	}
	return (uint32_t)threads.count - 1;
}

static uint32_t *number_of(uint32_t record)
{
	size_t room = of_record.room ? of_record.room : 128;

	while (room <= record)
		room *= 2;
	return record < of_record.count || cp_vec_extend(&of_record, room)
		       ? CP_VEC_AT(&of_record, uint32_t, record)
		       : NULL;
}

uint32_t cp_shared_times_thread(uint32_t record, int32_t tid)
{
	const struct cp_thread *t = record == CP_DIARY_NOBODY ? NULL : cp_thread_at(record);
	uint32_t *number = t && t->tid == tid ? number_of(record) : NULL;
	const struct cp_times_thread *last;

	if (!threads.count)
		add_thread(0, NULL);
	if (!number)
		return 0;
	last = CP_VEC_AT(&threads, struct cp_times_thread, *number ? *number - 1 : 0);
	if (last->tid != tid || last->born != t->born)
		*number = add_thread(tid, t) + 1;
	return *number - 1;
}

void cp_shared_times_thread_ended(const struct cp_thread *t)
{
	uint32_t *number = t->index < of_record.count ? number_of(t->index) : NULL;
	struct cp_times_thread *one;

	if (!number || !*number)
		return;
	one = CP_VEC_AT(&threads, struct cp_times_thread, *number - 1);
	if (one->tid == t->tid && one->born == t->born) {
		one->gone_ns = cp_times_ns(t->gone ? t->gone : cp_ticks_moment(), 0);
		read_name(one, t);
	}
}

/* Most threads name themselves soon after they start. */
void cp_shared_times_name_threads(void)
{
	for (uint32_t i = 0; i < of_record.count; i++) {
		uint32_t number = *CP_VEC_AT(&of_record, uint32_t, i);
		const struct cp_thread *t = cp_thread_at(i);
		struct cp_times_thread *one;

		if (!number)
			continue;
		one = CP_VEC_AT(&threads, struct cp_times_thread, number - 1);
		if (!one->gone_ns && one->tid == t->tid && one->born == t->born)
			read_name(one, t);
	}
}

const struct cp_vec *cp_shared_times_threads(void)
{
	return &threads;
}

/* ---- spans ---- */

uint64_t cp_shared_times_span_long;

static struct cp_vec spans = { .size = sizeof(struct cp_times_span) };
static size_t most, next_drop; /* at this count, a flight recorder forgets old ones */
static uint64_t keep;	       /* ns; 0 = all */
static uint64_t random_state;

static double draw(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (double)(random_state >> 11) / (double)(UINT64_C(1) << 53);
}

void cp_shared_times_spans_begin(uint64_t budget, uint64_t kept_ns)
{
	keep = kept_ns;
	cp_vec_release(&spans);
	next_drop = 0;
	most = budget / sizeof(struct cp_times_span) / CP_TIMES_SPANS_PART;
	random_state = cp_sys_clock_ns(CLOCK_MONOTONIC) | 1;
	cp_store_relaxed(&cp_shared_times_span_long,
			 budget && cp_diary_open() ? CP_TIMES_SPAN_LONG : 0);
}

bool cp_shared_times_span_is_old(const struct cp_times_span *s, uint64_t now)
{
	return keep && s->begin_ns + s->duration_ns + keep < now;
}

/* Returns whether there were any. */
static bool drop_old(uint64_t now)
{
	struct cp_times_span *s = spans.items;
	size_t left = 0, all = spans.count;

	for (size_t i = 0; i < all; i++)
		if (!cp_shared_times_span_is_old(&s[i], now))
			s[left++] = s[i];
	spans.count = left;
	return left < all;
}

/* From now on, only spans of twice the length are all kept. */
static void thin_spans(void)
{
	uint64_t all_from = 2 * cp_shared_times_span_long;
	struct cp_times_span *s = spans.items;
	size_t left = 0;

	for (size_t i = 0; i < spans.count; i++) {
		double each = (double)all_from / (double)(s[i].duration_ns + 1);

		if (s[i].weight < each) {
			if (draw() * each >= s[i].weight)
				continue;
			s[i].weight = (uint32_t)(each + draw());
		}
		s[left++] = s[i];
	}
	spans.count = left;
	cp_store_relaxed(&cp_shared_times_span_long, all_from);
}

void cp_shared_times_span_add(const struct cp_times_span *span)
{
	struct cp_times_span *s;

	/* The last run has ended; the diary still had some. */
	if (!cp_shared_times_span_long)
		return;
	if (keep && spans.count >= next_drop) {
		drop_old(span->begin_ns + span->duration_ns);
		next_drop = 2 * spans.count + 1024;
	}
	while (spans.count && spans.count >= most && cp_shared_times_span_long < UINT64_MAX >> 8)
		if (!drop_old(span->begin_ns + span->duration_ns))
			thin_spans();
	s = cp_vec_add(&spans);
	if (s)
		*s = *span;
}

const struct cp_vec *cp_shared_times_spans(void)
{
	return &spans;
}

void cp_shared_times_fork_child(void)
{
	threads = (struct cp_vec){ .size = sizeof(struct cp_times_thread) };
	of_record = (struct cp_vec){ .size = sizeof(uint32_t) };
	spans = (struct cp_vec){ .size = sizeof(struct cp_times_span) };
	if (cp_shared_times_span_long)
		cp_store_relaxed(&cp_shared_times_span_long, CP_TIMES_SPAN_LONG);
}
