/* SPDX-License-Identifier: BSD-3-Clause */
/* Span functions of cprof.h for the calling thread. Ordinary context. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "cprof.h"
#include "session/label_api.h"
#include "labels/signal/slow_spans.h"
#include "base/sys.h"
#include "sample/ticks.h"
#include "labels/spans.h"

#define API __attribute__((visibility("default")))
#define STATS_MIN sizeof(struct cprof_span_stats)

API uint64_t cprof_now(void)
{
	struct timespec t;

	/* The vdso's clock would read the forbidden counter. */
	if (cp_load_relaxed(&cp_ticks_forbidden))
		return cp_sys_clock_ns(CLOCK_MONOTONIC);
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

API struct cprof_span cprof_span_begin_at(const char *name, uint64_t start_ns)
{
	struct cprof_span s = { .start_ns = start_ns, .name = name };

	s.label = cprof_label_scope_begin("span", name);
	s.serial = cp_slow_spans_begin();
	s.outer = cp_label_api_span(s.serial);
	return s;
}

API struct cprof_span cprof_span_begin(const char *name)
{
	return cprof_span_begin_at(name, cprof_now());
}

API uint64_t cprof_span_end(struct cprof_span *span)
{
	struct cp_span_kind *kind;
	uint64_t now = cprof_now(), lasted;

	if (!span->name)
		return 0;
	lasted = now > span->start_ns ? now - span->start_ns : 0;
	kind = cp_spans_get(span->name);
	if (kind)
		cp_histogram_add(&kind->latency, lasted);
	cp_slow_spans_end(span->serial, lasted);
	cp_label_api_span(span->outer);
	cprof_label_scope_end(&span->label);
	span->name = NULL;
	return lasted;
}

API int cprof_get_span_stats(const char *name, struct cprof_span_stats *stats)
{
	const struct cp_span_kind *kind;
	const struct cp_histogram *h;

	if (!name || !stats || stats->size != STATS_MIN)
		return -EINVAL;
	kind = cp_spans_find(name);
	if (!kind)
		return -ENOENT;
	h = &kind->latency;
	*stats = (struct cprof_span_stats){
		.size = STATS_MIN,
		.count = h->count,
		.sum_ns = h->sum,
		.max_ns = h->max,
		.p50_ns = cp_histogram_quantile(h, 500),
		.p90_ns = cp_histogram_quantile(h, 900),
		.p99_ns = cp_histogram_quantile(h, 990),
		.p999_ns = cp_histogram_quantile(h, 999),
	};
	return 0;
}
