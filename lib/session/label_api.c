/* SPDX-License-Identifier: BSD-3-Clause */
/* Label and span functions of cprof.h for the calling thread. Ordinary context. */
#include <errno.h>
#include <string.h>

#include "collect/collect.h"
#include "labels/spans.h"
#include "modes/heap/signal/heap_hot.h"
#include "profile/profile.h"
#include "sample/diary.h"
#include "session/session.h"

#define API __attribute__((visibility("default")))
/* The size of the struct before CPU_NS was added. */
#define STATS_MIN offsetof(struct cprof_span_stats, cpu_ns)

API uint64_t cprof_now(void)
{
	struct timespec t;

	/* The vdso's clock would read the forbidden counter. */
	if (cp_load_relaxed(&cp_ticks_forbidden))
		return cp_sys_clock_ns(CLOCK_MONOTONIC);
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- what a span costs its thread ---- */

#define UNKNOWN UINT64_MAX

/* If the program sets a filter of system calls later, that ends the profile first. */
static bool may_ask_kernel(void)
{
	static uint8_t answer; /* 0: not asked yet */

	if (!cp_runs_any())
		return false;
	if (!cp_load_relaxed(&answer))
		cp_store_relaxed(&answer, cp_sys_is_filtered() ? 1 : 2);
	return cp_load_relaxed(&answer) == 2;
}

static uint64_t cpu_now(void)
{
	return cp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Returns the CPU time of an empty span, which each measured span contains: two readings of the
 * time within two of the CPU time. */
static uint64_t empty_ns(void)
{
	static uint64_t least; /* 0: not measured yet; else the least time + 1 */

	if (!cp_load_relaxed(&least)) {
		uint64_t found = 10000;

		for (unsigned i = 0; i < 8; i++) {
			uint64_t began = cpu_now(), took;

			cprof_now();
			cprof_now();
			took = cpu_now() - began;
			found = took < found ? took : found;
		}
		cp_store_relaxed(&least, found + 1);
	}
	return cp_load_relaxed(&least) - 1;
}

/* Returns a count of the bytes that the calling thread, whose data SELF is, has allocated, or
 * UNKNOWN. */
static uint64_t allocated_by(const struct cp_self *self)
{
	return cp_heap_hot.state == CP_HEAP_ON ? cp_heap_hot_allocated(&self->heap) : UNKNOWN;
}

static void begin_costs(struct cprof_span *s)
{
	struct cp_span_kind *kind = cp_spans_find(s->name);

	s->kind = kind;
	s->thread = &cp_self;
	s->allocated = allocated_by(s->thread);
	s->weight = cp_spans_weight(kind);
	if (s->weight && !may_ask_kernel())
		s->weight = 0;
	if (!s->weight)
		return;
	empty_ns();
	s->cpu_ns = cpu_now();
}

/* Call after the span's own time is known, because the clock of CPU time is slow. */
static void end_costs(const struct cprof_span *s, struct cp_span_kind *kind, uint64_t lasted)
{
	const struct cp_self *self = &cp_self;
	uint64_t now, cpu, bytes;

	/* Another thread than the one that began the span ends it. */
	if (s->thread != self)
		return;
	bytes = allocated_by(self);
	if (s->allocated != UNKNOWN && bytes != UNKNOWN && bytes > s->allocated)
		cp_add_relaxed(&kind->allocated, bytes - s->allocated);
	if (!s->weight || !may_ask_kernel())
		return;
	now = cpu_now() - empty_ns();
	/* A fork child's clock begins anew. */
	cpu = now > s->cpu_ns && now - s->cpu_ns < UINT64_MAX / 2 ? now - s->cpu_ns : 0;
	cpu = cpu < lasted ? cpu : lasted;
	cp_add_relaxed(&kind->cpu_ns, cpu * s->weight);
	cp_add_relaxed(&kind->wait_ns, (lasted - cpu) * s->weight);
}

static struct cp_span_kind *kind_of(const struct cprof_span *s)
{
	struct cp_span_kind *kind = s->kind;

	return kind && cp_spans_is(kind, s->name) ? kind : cp_spans_get(s->name);
}

/* ---- spans ---- */

/* A hash of the time is random: no program is in step with it. */
static uint64_t random_of(uint64_t now)
{
	uint64_t h = (now ^ (uintptr_t)&cp_self) * UINT64_C(0x9e3779b97f4a7c15);

	return (h ^ h >> 32) * UINT64_C(0xd6e8feb86659fd93);
}

/* Adds the span to the time indexes, or not: see shared_times.c. */
static void note_span(const struct cprof_span *s, const struct cp_span_kind *kind, uint64_t now,
		      uint64_t lasted)
{
	uint64_t all_from = cp_load_relaxed(&cp_shared_times_span_long), random, weight = 1;

	if (lasted < all_from) {
		random = random_of(now);
		if ((unsigned __int128)random * all_from >> 64 >= lasted)
			return;
		/* Rounded at random, so that the mean is right. */
		weight = (all_from + random_of(random) % lasted) / lasted;
	}
	if (!all_from)
		return;
	cp_diary_add(&(struct cp_diary_entry){ .kind = CP_DIARY_SPAN,
					       .begin_ns = s->start_ns,
					       .end_ns = now,
					       .size = weight,
					       .what = cp_spans_number(kind) });
}

static void begin_span(struct cprof_span *s)
{
	s->label = cprof_label_scope_begin("span", s->name);
}

API struct cprof_span cprof_span_begin_at(const char *name, uint64_t start_ns)
{
	struct cprof_span s = { .start_ns = start_ns, .name = name };

	begin_span(&s);
	begin_costs(&s);
	return s;
}

/* The time comes last, so that the work of the begin is not in the span. */
API struct cprof_span cprof_span_begin(const char *name)
{
	struct cprof_span s = { .name = name };

	begin_span(&s);
	begin_costs(&s);
	s.start_ns = cprof_now();
	return s;
}

API uint64_t cprof_span_end(struct cprof_span *span)
{
	struct cp_span_kind *kind;
	uint64_t now = cprof_now(), lasted;

	if (!span->name)
		return 0;
	lasted = now > span->start_ns ? now - span->start_ns : 0;
	kind = kind_of(span);
	if (kind) {
		end_costs(span, kind, lasted);
		cp_histogram_add(&kind->latency, lasted);
		note_span(span, kind, now, lasted);
		if (cp_unlikely(lasted > cp_load_relaxed(&cp_dump_on_span_most)))
			cp_dump_on_span(kind->name, lasted);
	}
	cprof_label_scope_end(&span->label);
	span->name = NULL;
	return lasted;
}

API int cprof_get_span_stats(const char *name, struct cprof_span_stats *stats)
{
	const struct cp_span_kind *kind;
	const struct cp_histogram *h;
	struct cprof_span_stats all;

	size_t size = stats ? stats->size : 0;

	if (!name || (size != sizeof(*stats) && size != STATS_MIN))
		return -EINVAL;
	kind = cp_spans_find(name);
	if (!kind)
		return -ENOENT;
	h = &kind->latency;
	all = (struct cprof_span_stats){
		.size = size,
		.count = h->count,
		.sum_ns = h->sum,
		.max_ns = h->max,
		.p50_ns = cp_histogram_quantile(h, 500),
		.p90_ns = cp_histogram_quantile(h, 900),
		.p99_ns = cp_histogram_quantile(h, 990),
		.p999_ns = cp_histogram_quantile(h, 999),
		.cpu_ns = cp_load_relaxed(&kind->cpu_ns),
		.wait_ns = cp_load_relaxed(&kind->wait_ns),
		.allocated_bytes = cp_load_relaxed(&kind->allocated),
	};
	memcpy(stats, &all, size);
	return 0;
}

/* Labels. */

#define API __attribute__((visibility("default")))

_Static_assert(sizeof(((struct cprof_label_scope *)0)->before) > CP_LABEL_VALUE_MAX,
	       "a scope can keep any value");

/* Returns whether KEY is reserved: a key of the profile's own labels, or one that pprof reserves.
 * The labels of single modes (op, kind, size, wait, age) are not: programs use such words, and a
 * sample may have two labels of one key. */
static bool is_reserved(const char *key, size_t size)
{
	static const char *const reserved[] = { "thread", "tid", "bytes", "lock", "state" };

	if (size > 6)
		return !memcmp(key, "pprof::", 7);
	for (size_t i = 0; i < sizeof(reserved) / sizeof(*reserved); i++)
		if (*key == *reserved[i] && !strcmp(key, reserved[i]))
			return true;
	return false;
}

/* Returns the length of KEY, or -EINVAL. */
static int check_key(const char *key)
{
	size_t n = key ? strnlen(key, CP_LABEL_KEY_MAX + 1) : 0;

	return n == 0 || n > CP_LABEL_KEY_MAX || is_reserved(key, n) ? -EINVAL : (int)n;
}

/* Returns the calling thread's labels. With MAKE, creates them if needed. NULL: there are no
 * labels, or, with MAKE, no memory. */
static struct cp_labels *mine(bool make)
{
	struct cp_thread *t;

	if (make)
		cp_threads_register();
	t = cp_self.thread;
	if (!t)
		return NULL;
	if (!t->labels && make) {
		/* Release: the collector, which reads the pointer for wall samples, sees an
		 * initialized, empty struct. */
		cp_store_release(&t->labels, cp_labels_new());
		cp_mode_ops_thread_changed();
	}
	return t->labels;
}

/* Returns the length of the part of VALUE that fits, without a partial character at the end. */
static size_t cut_value(const char *value)
{
	size_t n = strnlen(value, CP_LABEL_VALUE_MAX + 1);

	if (n <= CP_LABEL_VALUE_MAX)
		return n;
	n = CP_LABEL_VALUE_MAX;
	while (n > 0 && ((unsigned char)value[n] & 0xc0) == 0x80)
		n--;
	return n;
}

static int set_label(const char *key, size_t key_size, const char *value)
{
	size_t n = cut_value(value);
	struct cp_labels *l;
	int err;

	if (!cp_session_keeps_label(key))
		return 0;
	l = mine(true);
	if (!l)
		return -ENOMEM;
	err = cp_labels_set(l, key, key_size, value, n);
	return err ? err : value[n] ? -ENAMETOOLONG : 0;
}

API int cprof_label_set(const char *key, const char *value)
{
	int n = check_key(key), err;

	if (n < 0)
		return n;
	if (!value || !*value) {
		err = cprof_label_clear(key);
		return err == -ENOENT ? 0 : err;
	}
	err = set_label(key, (size_t)n, value);
	if (err)
		cp_count(CP_COUNT_LABELS_REFUSED, 1);
	return err;
}

API int cprof_label_clear(const char *key)
{
	int n = check_key(key);
	struct cp_labels *l = mine(false);

	if (n < 0)
		return n;
	return l ? cp_labels_clear(l, key, (size_t)n) : -ENOENT;
}

API void cprof_labels_clear(void)
{
	struct cp_labels *l = mine(false);

	if (l)
		cp_labels_clear_all(l);
}

API int cprof_label_get(const char *key, char *value, size_t size)
{
	int n = check_key(key);
	struct cp_labels *l = mine(false);
	const struct cp_label *label;

	if (n < 0)
		return n;
	label = l ? cp_labels_find(l, key, (size_t)n) : NULL;
	if (!label)
		return -ENOENT;
	if (label->value_size >= size)
		return -ENOSPC;
	memcpy(value, label->value, label->value_size);
	value[label->value_size] = '\0';
	return label->value_size;
}

API int cprof_labels_inherit(int on)
{
	struct cp_labels *l = mine(on != 0);

	if (!l)
		return on ? -ENOMEM : 0;
	l->inherit = on != 0;
	return 0;
}

API struct cprof_label_scope cprof_label_scope_begin(const char *key, const char *value)
{
	struct cprof_label_scope s = { .key = key };

	s.had = cprof_label_get(key, s.before, sizeof(s.before)) >= 0;
	cprof_label_set(key, value);
	return s;
}

API void cprof_label_scope_end(struct cprof_label_scope *scope)
{
	cprof_label_set(scope->key, scope->had ? scope->before : NULL);
}
