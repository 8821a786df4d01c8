/* SPDX-License-Identifier: BSD-3-Clause */
/* Kinds of spans; see spans.h. */
#include "labels/spans.h"

#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "base/atomic.h"
#include "sample/counters.h"
#include "base/sys.h"

/* Only its maker names a kind. The kind enters the table by one compare-and-swap. If two callers
 * name the same kind, even a handler and the thread that it interrupted, one finds the other's
 * kind. */
struct kinds {
	uint32_t places[CP_SPANS_MAX]; /* by hash, linear probing: 1 + index into ALL; 0 = empty */
	/* 64 more, for kinds that are being named, or were superfluous and are given back. A
	 * kind's pages are touched only with its first span; of its histogram, only the pages that
	 * durations fall into. */
	struct cp_span_kind all[CP_SPANS_MAX + 64];
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

bool cp_spans_is(const struct cp_span_kind *k, const char *name)
{
	return cp_load_relaxed(&k->taken) && !strncmp(k->name, name, CP_SPAN_NAME - 1);
}

/* Spans this long, on average, are all measured, and so are the first ones of a kind. Of the
 * others, one in SHORT is. */
#define LONG_NS 64000u
#define FIRST 64u
#define SHORT 16u

/* Drawn for each process: else the same numbers would be measured in each of a thousand workers,
 * and their errors would add up. */
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

void cp_spans_fork_child(void)
{
	cp_store_relaxed(&salt, 0);
	if (!kinds)
		return;
	/* Emptied, not unmapped: the handler that forked may return into the end of a span. */
	cp_sys3(SYS_madvise, (void *)kinds, sizeof(*kinds), 4 /* MADV_DONTNEED */);
}
