/* SPDX-License-Identifier: BSD-3-Clause */
/* Latencies and costs of the program's spans, by span name. Lock-free; any context. */
#ifndef CP_SPANS_H
#define CP_SPANS_H

#include "base/base.h"
#include "labels/signal/labels_signal.h"

#define CP_SPAN_NAME 64
#define CP_SPANS_MAX 256
/* Numbers of kinds are below. */
#define CP_SPANS_NUMBERS (CP_SPANS_MAX + 64)

struct cp_span_kind {
	uint32_t taken; /* 1 once a thread is writing its name */
	uint32_t hash;
	char name[CP_SPAN_NAME];
	struct cp_histogram latency;
	/* Estimates of the sums over all of them: struct cprof_span_stats. */
	uint64_t cpu_ns, wait_ns, allocated;
};

/* Returns the kind called NAME (cut at CP_SPAN_NAME - 1 bytes), and makes it if it is new. Returns
 * NULL without memory, or if there are CP_SPANS_MAX other kinds; CP_COUNT_LOST_SPANS counts these
 * cases. */
struct cp_span_kind *cp_spans_get(const char *name);
/* Returns the kind called NAME, or NULL. Never makes one. */
struct cp_span_kind *cp_spans_find(const char *name);
/* Returns a number for K, a kind that is in the table, and its name by that number. */
uint32_t cp_spans_number(const struct cp_span_kind *k);
const char *cp_spans_name(uint32_t number);
/* Is K still the kind called NAME? A fork child removes all kinds. */
bool cp_spans_is(const struct cp_span_kind *k, const char *name);
/* Returns how many spans the measured one stands for if the CPU time of a span of kind K that
 * begins now is to be measured, else 0. K may be NULL: its first. Few short spans are measured,
 * because two readings of the thread's clock may take longer than the span. The choice depends only
 * on earlier spans and on chance, so that sums are unbiased. */
unsigned cp_spans_weight(const struct cp_span_kind *k);
/* Returns the kind at place I, or NULL. For iterating over all kinds. */
struct cp_span_kind *cp_spans_at(unsigned i);
/* Adds all that was counted of spans so far to TO, a vector of uint64_t. Without memory, spans are
 * left out. Ordinary context. */
void cp_spans_count(struct cp_vec *to);
/* Sets *K to what NOW has more than BEFORE of the kind at place I; both are of cp_spans_count, and
 * BEFORE may be empty. The longest of these spans is known within 0.4 %. Returns whether there were
 * any. */
bool cp_spans_between(const struct cp_vec *now, const struct cp_vec *before, unsigned i,
		      struct cp_span_kind *k);
/* In a fork child: removes all kinds. */
void cp_spans_fork_child(void);

#endif
