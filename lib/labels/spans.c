/* SPDX-License-Identifier: BSD-3-Clause */
/* Kinds of spans; see spans.h. */
#include "labels/spans.h"

#include <string.h>

#include "sample/thread.h"
#include "base/sys.h"

/* Only its maker names a kind. The kind enters the table by one compare-and-swap. If two callers
 * name the same kind, even a handler and the thread that it interrupted, one finds the other's
 * kind. */
struct kinds {
	uint32_t places[CP_SPANS_MAX]; /* hash table with linear probing: 1 + index into ALL; 0 =
					  empty */
	/* 64 more, for kinds that are being named, or were superfluous and are given back. A
	 * kind's pages are touched only with its first span; of its histogram, only the pages that
	 * durations fall into. */
	struct cp_span_kind all[CP_SPANS_NUMBERS];
};

#define ALL (sizeof(((struct kinds *)0)->all) / sizeof(struct cp_span_kind))

static struct kinds *kinds;

static struct kinds *get_kinds(void)
{
	struct kinds *k = cp_load_acquire(&kinds), *none = NULL, *made;

	if (k)
		return k;
	made = cp_sys_map(sizeof(*made));
	if (!made)
		return NULL;
	if (cp_cas_acqrel(&kinds, &none, made))
		return made;
	cp_sys_unmap(made, sizeof(*made));
	return none;
}

struct name {
	const char *bytes;
	size_t length; /* at most CP_SPAN_NAME - 1 */
	uint32_t hash;
};

static struct name name_of(const char *bytes)
{
	struct name n = { bytes, 0, 2166136261u };

	for (; n.length < CP_SPAN_NAME - 1 && bytes[n.length]; n.length++)
		n.hash = (n.hash ^ (unsigned char)bytes[n.length]) * 16777619u;
	return n;
}

static bool is_named(const struct cp_span_kind *k, const struct name *n)
{
	return k->hash == n->hash && !memcmp(k->name, n->bytes, n->length) && !k->name[n->length];
}

/* Returns a new kind called N, which belongs to the caller; NULL if all are taken. */
static struct cp_span_kind *make_kind(struct kinds *k, const struct name *n)
{
	for (size_t i = 0; i < ALL; i++) {
		struct cp_span_kind *own = &k->all[(n->hash + i) % ALL];
		uint32_t taken = 0;

		if (cp_cas_acqrel(&own->taken, &taken, 1)) {
			own->hash = n->hash;
			memcpy(own->name, n->bytes, n->length);
			own->name[n->length] = 0;
			return own;
		}
	}
	return NULL;
}

static void give_back(struct cp_span_kind *own)
{
	if (own)
		cp_store_release(&own->taken, 0);
}

/* Returns the kind in PLACE. If PLACE is empty and MAKE is set, makes *OWN and puts it there. */
static struct cp_span_kind *at_place(struct kinds *k, uint32_t *place, const struct name *n,
				     bool make, struct cp_span_kind **own)
{
	uint32_t there = cp_load_acquire(place);

	if (there || !make)
		return there ? &k->all[there - 1] : NULL;
	if (!*own)
		*own = make_kind(k, n);
	if (!*own)
		return NULL;
	/* Release: publishes the name. Pairs with the loads of the place. */
	if (cp_cas_acqrel(place, &there, (uint32_t)(*own - k->all) + 1))
		return *own;
	return &k->all[there - 1];
}

static struct cp_span_kind *look_up(const char *name, bool make)
{
	struct kinds *k = make ? get_kinds() : cp_load_acquire(&kinds);
	const struct name n = name_of(name);
	struct cp_span_kind *own = NULL;

	for (unsigned i = 0; k && i < CP_SPANS_MAX; i++) {
		uint32_t *place = &k->places[(n.hash + i) % CP_SPANS_MAX];
		struct cp_span_kind *at = at_place(k, place, &n, make, &own);

		if (!at)
			return NULL;
		if (is_named(at, &n)) {
			if (at != own)
				give_back(own);
			return at;
		}
	}
	give_back(own);
	return NULL;
}

struct cp_span_kind *cp_spans_get(const char *name)
{
	struct cp_span_kind *k = look_up(name, true);

	if (!k)
		cp_count(CP_COUNT_LOST_SPANS, 1);
	return k;
}

struct cp_span_kind *cp_spans_find(const char *name)
{
	return look_up(name, false);
}

uint32_t cp_spans_number(const struct cp_span_kind *k)
{
	return (uint32_t)(k - cp_load_acquire(&kinds)->all);
}

const char *cp_spans_name(uint32_t number)
{
	return cp_load_acquire(&kinds)->all[number].name;
}

bool cp_spans_is(const struct cp_span_kind *k, const char *name)
{
	return cp_load_relaxed(&k->taken) && !strncmp(k->name, name, CP_SPAN_NAME - 1);
}

/* Spans this long, on average, are all measured, and so are the first ones of a kind. One in SHORT
 * of the others is measured. */
#define LONG_NS 64000u
#define FIRST 64u
#define SHORT 16u

/* A random number for each process. With the same one, a thousand workers would measure the same
 * spans, and their errors would add up. */
static uint32_t salt;

static void draw_salt(void)
{
	uint64_t x = cp_sys_clock_ns(CLOCK_MONOTONIC) ^ (uint64_t)cp_sys_getpid() << 32;

	x = (x ^ x >> 31) * UINT64_C(0x9e3779b97f4a7c15);
	cp_store_relaxed(&salt, (uint32_t)(x >> 32) | 1);
}

unsigned cp_spans_weight(const struct cp_span_kind *k)
{
	uint64_t n = k ? cp_load_relaxed(&k->latency.count) : 0;
	uint32_t x;

	if (n < FIRST || cp_load_relaxed(&k->latency.sum) / n >= LONG_NS)
		return 1;
	/* A hash of the span's number has no period that a program could be in step with. */
	if (!cp_load_relaxed(&salt))
		draw_salt();
	x = ((uint32_t)n + cp_load_relaxed(&salt)) * UINT32_C(0x9e3779b1);
	x = (x ^ x >> 15) * UINT32_C(0x85ebca6b);
	x = (x ^ x >> 13) * UINT32_C(0xc2b2ae35);
	return x >> 16 & (SHORT - 1) ? 0 : SHORT;
}

struct cp_span_kind *cp_spans_at(unsigned i)
{
	struct kinds *k = cp_load_acquire(&kinds);
	uint32_t there = k && i < CP_SPANS_MAX ? cp_load_acquire(&k->places[i]) : 0;

	return there ? &k->all[there - 1] : NULL;
}

/* ---- what was counted at a moment: for each kind these words, and its buckets that aren't empty
 * as pairs of number and count ---- */

enum { PLACE, PAIRS, COUNT, MAX, SUM, CPU, WAIT, ALLOCATED, WORDS };

static bool put_word(struct cp_vec *to, uint64_t word)
{
	uint64_t *w = cp_vec_add(to);

	if (w)
		*w = word;
	return w != NULL;
}

static bool put_buckets(struct cp_vec *to, const struct cp_histogram *h)
{
	bool ok = true;

	for (unsigned b = 0; b < CP_HISTOGRAM_BUCKETS && ok; b++) {
		uint64_t n = cp_load_relaxed(&h->bucket[b]);

		if (n)
			ok = put_word(to, b) && put_word(to, n);
	}
	return ok;
}

static bool put_kind(struct cp_vec *to, unsigned place, const struct cp_span_kind *k)
{
	const struct cp_histogram *h = &k->latency;
	size_t at = to->count;
	uint64_t *w;

	if (!cp_vec_extend(to, at + WORDS))
		return false;
	w = CP_VEC_AT(to, uint64_t, at);
	w[PLACE] = place;
	w[COUNT] = cp_load_relaxed(&h->count);
	w[MAX] = cp_load_relaxed(&h->max);
	w[SUM] = cp_load_relaxed(&h->sum);
	w[CPU] = cp_load_relaxed(&k->cpu_ns);
	w[WAIT] = cp_load_relaxed(&k->wait_ns);
	w[ALLOCATED] = cp_load_relaxed(&k->allocated);
	if (!put_buckets(to, h)) {
		to->count = at;
		return false;
	}
	CP_VEC_AT(to, uint64_t, at)[PAIRS] = (to->count - at - WORDS) / 2;
	return true;
}

void cp_spans_count(struct cp_vec *to)
{
	const struct cp_span_kind *k;
	bool ok = true;

	to->size = sizeof(uint64_t);
	for (unsigned i = 0; ok && cp_load_acquire(&kinds) && i < CP_SPANS_MAX; i++)
		if ((k = cp_spans_at(i)))
			ok = put_kind(to, i, k);
}

static const uint64_t *counts_of(const struct cp_vec *v, unsigned place)
{
	const uint64_t *w;

	for (size_t at = 0; at < v->count; at += WORDS + 2 * w[PAIRS]) {
		w = CP_VEC_AT(v, const uint64_t, at);
		if (w[PLACE] == place)
			return w;
	}
	return NULL;
}

/* Adds W, SIGN times. */
static void add_words(struct cp_span_kind *k, const uint64_t *w, uint64_t sign)
{
	const uint64_t *pair = w + WORDS;

	k->latency.count += sign * w[COUNT];
	k->latency.sum += sign * w[SUM];
	k->cpu_ns += sign * w[CPU];
	k->wait_ns += sign * w[WAIT];
	k->allocated += sign * w[ALLOCATED];
	for (uint64_t i = 0; i < w[PAIRS]; i++, pair += 2)
		k->latency.bucket[pair[0]] += sign * pair[1];
}

bool cp_spans_between(const struct cp_vec *now, const struct cp_vec *before, unsigned i,
		      struct cp_span_kind *k)
{
	const struct cp_span_kind *named = cp_spans_at(i);
	const uint64_t *is = counts_of(now, i), *was = counts_of(before, i);

	if (!named || !is || (was && was[COUNT] == is[COUNT]))
		return false;
	memset(k, 0, sizeof(*k));
	memcpy(k->name, named->name, sizeof(k->name));
	add_words(k, is, 1);
	if (was)
		add_words(k, was, (uint64_t)-1);
	k->latency.max = is[MAX];
	if (was && was[MAX] == is[MAX])
		k->latency.max = cp_histogram_quantile(&k->latency, 1000);
	return true;
}

void cp_spans_fork_child(void)
{
	cp_store_relaxed(&salt, 0);
	if (!kinds)
		return;
	/* Emptied, not unmapped: the handler that forked may return into the end of a span. */
	cp_sys3(SYS_madvise, (void *)kinds, sizeof(*kinds), 4 /* MADV_DONTNEED */);
}
